import type { IncomingMessage, ServerResponse } from 'node:http';
import { RequestHolder } from '../graphql/request-holder.ts';
import type { Capacity } from '../load/capacity.ts';
import { readBody, readChunks } from './body.ts';
import { peerOf } from './connection.ts';
import type { Client, Door } from './handle.ts';
import type { Head } from './head.ts';
import { headerPairs } from './head.ts';
import { type Answer, NodeClient, type WholeAnswer } from './respond.ts';

/** bankql without its own server, for a server that listens already. */
export function createMount(enter: Door, capacity: Capacity, maxRequestBytes: number) {
  const underWay = new Set<Promise<void>>();

  function follow(work: Promise<void>): void {
    underWay.add(work);
    void work.then(() => underWay.delete(work));
  }

  return {
    /** Answers a request of Fetch: of Next.js, Hono, Deno, a service worker. It never rejects. */
    async fetch(request: Request): Promise<Response> {
      const { pathname, search } = new URL(request.url);
      const head: Head = {
        method: request.method,
        url: pathname + search,
        headers: Object.fromEntries(request.headers),
        rawHeaders: [...request.headers].flat(),
      };
      const holder = new RequestHolder(capacity, '', head);
      if (request.signal.aborted) holder.end(true);
      request.signal.addEventListener('abort', () => holder.end(true), { once: true });
      const client = new FetchClient(request);
      const read = () => readChunks(request.body ?? nothing(), maxRequestBytes, holder);
      const work = enter(head, read, holder, client).then(() => {
        holder.end(client.state === 'left');
        // A client that has left is not answered.
        client.response.resolve(new Response(null, { status: 499 }));
      });
      follow(work);
      return client.response.promise;
    },

    /** Answers a request of node:http, also if a parser of its server has read the body into `req.body`. It never rejects. */
    async node(request: IncomingMessage & { readonly body?: unknown }, response: ServerResponse) {
      const holder = new RequestHolder(capacity, peerOf(request.socket.remoteAddress), request);
      response.once('close', () => holder.end(!response.writableFinished));
      const read = () => readBody(request, maxRequestBytes, holder);
      const work = enter(request, read, holder, new NodeClient(response));
      follow(work);
      await work;
    },

    /** Resolves when no request is in progress. */
    async idle(): Promise<void> {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

class FetchClient implements Client {
  readonly response = Promise.withResolvers<Response>();
  state: Client['state'] = 'waiting';
  readonly #request: Request;

  constructor(request: Request) {
    this.#request = request;
    request.signal.addEventListener('abort', () => {
      if (this.state === 'waiting') this.state = 'left';
    });
  }

  send(answer: Answer, common: readonly string[]): void | Promise<void> {
    const headers = new Headers(headerPairs(common));
    const isStream = answer instanceof Response;
    for (const [name, value] of isStream ? answer.headers : headerPairs(answer.headers))
      if (name.toLowerCase() === 'vary') headers.append(name, value);
      else headers.set(name, value);
    const { status } = answer;
    const body = this.#request.method === 'HEAD' || status === 204 ? null : answer.body;
    if (body instanceof ReadableStream) return this.#stream(body, { status, headers });
    this.state = 'answered';
    this.response.resolve(new Response(body, { status, headers }));
  }

  /** Resolves when the client has read all, or has left. */
  async #stream(body: ReadableStream<Uint8Array>, init: ResponseInit): Promise<void> {
    this.state = 'begun';
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    this.response.resolve(new Response(readable, init));
    try {
      await body.pipeTo(writable, { signal: this.#request.signal });
      this.state = 'answered';
    } catch (error) {
      // A client that leaves cancels the body; only bankql makes it fail. A DOMException is an answer that bankql cut off on purpose.
      const hasFailed = await body.getReader().closed.then(
        () => false,
        () => true,
      );
      if (hasFailed && !(error instanceof DOMException)) throw error;
      this.state = 'left';
    }
  }

  refuse(answer: WholeAnswer): void {
    if (this.state === 'waiting') this.send(answer, []);
  }
}
