import type { IncomingMessage, ServerResponse } from 'node:http';
import { ReadableStream } from 'node:stream/web';
import { RequestHolder } from '../graphql/request-holder.ts';
import type { Capacity } from '../load/capacity.ts';
import { bodyWasRead, readChunks } from './body.ts';
import { peerOf } from './connection.ts';
import {
  type Answer,
  type Body,
  type Exchange,
  NodeExchange,
  type StreamedAnswer,
  type WholeAnswer,
  withCommon,
} from './exchange.ts';
import type { Handle } from './handle.ts';
import { type Head, headerPairs } from './head.ts';

/** bankql without its own server, for mounting in another server. */
export function createMount(handle: Handle, capacity: Capacity) {
  return {
    /** Answers a request of Fetch: of Next.js, Hono, Deno, a service worker. It never rejects. */
    async fetch(request: Request): Promise<Response> {
      const exchange = new FetchExchange(request, capacity);
      void handle(exchange).then(() => exchange.end());
      return exchange.response;
    },

    /** Answers a request of node:http, even if a parser of the host has put the body into `req.body`. It never rejects. */
    async node(request: IncomingMessage & { readonly body?: unknown }, response: ServerResponse) {
      const holder = new RequestHolder(capacity, peerOf(request.socket.remoteAddress), request);
      // The client may have left before the host called bankql.
      if (response.destroyed) holder.end(true);
      response.once('close', () => holder.end(!response.writableFinished));
      await handle(new NodeExchange(request, response, holder));
    },
  };
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** An exchange over Fetch. The request need not be of Node's own class. */
class FetchExchange implements Exchange {
  readonly request: Head;
  readonly holder: RequestHolder;
  readonly response: Promise<Response>;
  state: Exchange['state'] = 'waiting';
  readonly #request: Request;
  readonly #resolve: (response: Response) => void;

  constructor(request: Request, capacity: Capacity) {
    const { pathname, search } = new URL(request.url);
    this.request = {
      method: request.method,
      url: pathname + search,
      headers: Object.fromEntries(request.headers),
      rawHeaders: [...request.headers].flat(),
    };
    this.holder = new RequestHolder(capacity, '', this.request);
    ({ promise: this.response, resolve: this.#resolve } = Promise.withResolvers<Response>());
    this.#request = request;
    const leave = () => {
      if (this.state === 'waiting') this.state = 'left';
      this.holder.end(true);
    };
    if (request.signal.aborted) leave();
    request.signal.addEventListener('abort', leave, { once: true });
  }

  async readBody(maxBytes: number): Promise<Uint8Array> {
    if (this.#request.bodyUsed) throw bodyWasRead;
    return readChunks(this.#request.body ?? nothing(), maxBytes, this.holder);
  }

  send(answer: Answer, common: readonly string[]): void | Promise<void> {
    const { status } = answer;
    const headers = new Headers(headerPairs(withCommon(answer.headers, common)));
    const hasBody = this.#request.method !== 'HEAD' && status !== 204;
    if ('chunks' in answer) return this.#stream(answer.chunks, { status, headers });
    // Fetch's Response throws at some statuses, which a plugin may have chosen. If it throws, the request has no answer
    // yet, and can still be refused.
    const response = new Response(hasBody ? answer.body : null, { status, headers });
    this.state = 'answered';
    this.#resolve(response);
  }

  /** Sends a stream. Resolves when the client has read all of it, or has left. */
  async #stream(chunks: StreamedAnswer['chunks'], init: ResponseInit): Promise<void> {
    this.state = 'begun';
    const body = ReadableStream.from(encoded(chunks));
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    this.#resolve(new Response(readable, init));
    try {
      await body.pipeTo(writable, { signal: this.#request.signal });
      this.state = 'answered';
    } catch (error) {
      // The body is cancelled if the client leaves, and fails only if bankql ends it. A DOMException means that bankql cut the
      // answer off on purpose.
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

  /** Called when all work for the request has ended. A client that has left gets no answer. */
  end(): void {
    this.holder.end(this.state === 'left');
    this.#resolve(new Response(null, { status: 499 }));
  }
}

async function* encoded(chunks: AsyncIterable<Body>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
}
