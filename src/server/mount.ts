import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Capacity } from '../capacity.ts';
import { RequestHolder } from '../engine/request-holder.ts';
import { peerOf } from './connection.ts';
import type { Client, Door } from './door.ts';
import { type Head, readBody, readChunks } from './request.ts';
import { type Answer, headerPairs, NodeClient, type WholeAnswer } from './response.ts';

/** bankql without a server of its own, for one that listens already. */
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
        holder.end(false);
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

    /** Resolves when nothing that began is under way any more. */
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
    const hasBody = this.#request.method !== 'HEAD' && status !== 204;
    if (hasBody && isStream && answer.body !== null) {
      this.state = 'begun';
      const { promise, resolve } = Promise.withResolvers<void>();
      this.response.resolve(new Response(whenRead(answer.body, resolve), { status, headers }));
      return promise;
    }
    this.state = 'answered';
    const body = hasBody && !isStream ? answer.body : null;
    this.response.resolve(new Response(body, { status, headers }));
  }

  refuse(answer: WholeAnswer): void {
    if (this.state === 'waiting') this.send(answer, []);
  }
}

/** The same stream, and a note of its end. */
function whenRead(body: ReadableStream<Uint8Array>, done: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const next = await reader.read();
        if (!next.done) return controller.enqueue(next.value);
        controller.close();
      } catch (error) {
        controller.error(error);
      }
      done();
    },
    async cancel(reason) {
      done();
      await reader.cancel(reason);
    },
  });
}
