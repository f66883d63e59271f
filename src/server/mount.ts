import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Capacity } from '../capacity.ts';
import { peerOf } from './connection.ts';
import type { Door, Refused } from './door.ts';
import type { AnswerRequest, BodyReader, Head } from './handlers.ts';
import { ClientDisconnected, readChunks } from './request.ts';
import { RequestHolder } from './request-holder.ts';
import { type OperationObserver, runInRequestScope } from './request-scope.ts';
import { type GraphQLHttpResponse, headerPairs, writeAnswer, writeResponse } from './response.ts';

/** bankql without a server of its own, for one that listens already. */
export interface Mount {
  /** Answers a request of Fetch: of Next.js, Hono, Deno, a service worker. It never rejects. */
  fetch(request: Request): Promise<Response>;
  /** Answers a request of node:http, also if a parser of its server has read the body into `req.body`. It never rejects. */
  node(request: IncomingMessage & { readonly body?: unknown }, response: ServerResponse): Promise<void>;
}

interface MountOptions {
  readonly door: Door;
  readonly answer: AnswerRequest;
  readonly capacity: Capacity;
  readonly observer: OperationObserver | undefined;
  readonly maxRequestBytes: number;
  readonly logUnexpected: (error: unknown) => void;
}

type Answer = Response | GraphQLHttpResponse | Refused;

export function createMount({ door, answer, capacity, observer, ...options }: MountOptions) {
  const underWay = new Set<Promise<unknown>>();

  /** Never rejects: what fails unexpectedly is logged. `whenSent` resolves when the answer is sent or the client has left. */
  function respond(head: Head, read: BodyReader, holder: RequestHolder, whenSent: Promise<void>) {
    const { headers, requestId, refused } = door.check(head);
    if (refused !== null) return Promise.resolve({ answer: refused, headers: [] });
    const activity = door.isOperation(head) ? (observer?.begin(requestId, head) ?? null) : null;
    let isOver = false;
    const end = () => {
      isOver = true;
      holder.end(false);
      if (activity !== null && activity.status !== null) observer?.end(activity);
    };
    underWay.add(whenSent);
    void whenSent.finally(() => {
      underWay.delete(whenSent);
      end();
    });
    return new Promise<{ answer: Answer; headers: readonly string[] }>((resolve) => {
      const fail = (error: unknown) => {
        if (!(error instanceof ClientDisconnected)) options.logUnexpected(error);
        activity?.refused(500, 'INTERNAL', 0);
        resolve({ answer: door.failure(headers), headers: [] });
      };
      runInRequestScope(
        { requestId, activity, log: options.logUnexpected, fail, isClosed: () => isOver },
        async () => resolve({ answer: await answer(head, read, holder, activity), headers }),
      );
    });
  }

  return {
    async fetch(request: Request): Promise<Response> {
      const { pathname, search } = new URL(request.url);
      const head: Head = {
        method: request.method,
        url: pathname + search,
        headers: Object.fromEntries(request.headers),
        rawHeaders: [...request.headers].flat(),
      };
      const sent = Promise.withResolvers<void>();
      const read: BodyReader = (holder) =>
        readChunks(request.body ?? nothing(), options.maxRequestBytes, holder);
      const holder = new RequestHolder(capacity, '', head);
      if (request.signal.aborted) holder.end(true);
      request.signal.addEventListener('abort', () => holder.end(true), { once: true });
      const { answer: given, headers: common } = await respond(head, read, holder, sent.promise);
      const isStream = given instanceof Response;
      const headers = new Headers(headerPairs(common));
      for (const [name, value] of isStream ? given.headers : headerPairs(given.headers))
        if (name.toLowerCase() === 'vary') headers.append(name, value);
        else headers.set(name, value);
      const body = isStream && given.body !== null ? whenRead(given.body, sent.resolve) : null;
      if (body === null) sent.resolve();
      const hasNone = request.method === 'HEAD' || given.status === 204;
      return new Response(hasNone ? null : (body ?? (isStream ? null : given.body)), {
        status: given.status,
        headers,
      });
    },

    async node(request: IncomingMessage & { readonly body?: unknown }, response: ServerResponse) {
      const holder = new RequestHolder(capacity, peerOf(request.socket.remoteAddress), request);
      const sent = Promise.withResolvers<void>();
      response.once('close', () => {
        holder.end(!response.writableFinished);
        sent.resolve();
      });
      const read: BodyReader = (holder) =>
        // A stream that was read already would never end.
        request.body === undefined
          ? readChunks(request.iterator({ destroyOnReturn: false }), options.maxRequestBytes, holder)
          : Buffer.from(typeof request.body === 'string' ? request.body : bytesOf(request.body));
      const { answer: given, headers } = await respond(request, read, holder, sent.promise);
      if (given instanceof Response)
        await writeResponse(response, given, headers).catch(options.logUnexpected);
      else writeAnswer(response, given, headers);
    },

    /** Resolves when nothing that began is under way any more. */
    async idle(): Promise<void> {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

const bytesOf = (body: unknown): Uint8Array | string =>
  body instanceof Uint8Array ? body : JSON.stringify(body);

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
