import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Identity } from '../bank/credentials.ts';
import { type Capacity, type Counted, type Holder, nobody, type ShedReason } from '../capacity.ts';
import { overloaded, peerOf } from './connection.ts';
import type { Door, Refused } from './door.ts';
import type { Admission, AnswerRequest, BodyReader, Head } from './handlers.ts';
import { ClientDisconnected, readChunks } from './request.ts';
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

/** The part of the process that a request through another server holds. */
class MountedRequest implements Holder, Admission {
  caller = nobody;
  requests = 0;
  arriving = 0;
  values = 0;
  unread = 0;
  isMutation = false;
  readonly peer: string;
  readonly signal: AbortSignal;
  readonly #capacity: Capacity;

  constructor(capacity: Capacity, peer: string, signal: AbortSignal) {
    this.#capacity = capacity;
    this.peer = peer;
    this.signal = signal;
  }

  get isAbandoned(): boolean {
    return this.signal.aborted;
  }

  identify(identity: Identity | null): void {
    this.#capacity.assign(this, identity?.name ?? this.peer, identity?.group ?? this.peer);
  }

  awaitMore(bytes: number): void {
    if (this.caller === nobody) this.identify(null);
    check(this.#capacity.take(this, 'arriving', bytes));
  }

  admit(): void {
    check(this.#capacity.admit(this));
  }

  takeValues(count: number): boolean {
    return !this.isAbandoned && this.#take('values', count);
  }

  /** The server that bankql is mounted in writes the answer: until it is handed over, it is held here. */
  reserveRoom(bytes: number): boolean {
    this.#capacity.add(this, 'unread', -this.unread);
    return this.#take('unread', bytes);
  }

  #take(resource: Counted, amount: number): boolean {
    return this.#capacity.take(this, resource, amount) === null;
  }

  end(): void {
    this.#capacity.leave(this);
  }
}

function check(why: ShedReason | null): void {
  if (why !== null) throw overloaded(why);
}

export function createMount({ door, answer, capacity, observer, ...options }: MountOptions) {
  const underWay = new Set<Promise<unknown>>();

  /** Never rejects: what fails unexpectedly is logged. `whenSent` resolves when the answer is sent or the client has left. */
  function respond(head: Head, read: BodyReader, peer: string, signal: AbortSignal, whenSent: Promise<void>) {
    const { headers, requestId, refused } = door.check(head);
    if (refused !== null) return Promise.resolve({ answer: refused, headers: [] });
    const activity = door.isOperation(head) ? (observer?.begin(requestId, head) ?? null) : null;
    const mounted = new MountedRequest(capacity, peer, signal);
    let isOver = false;
    const end = () => {
      isOver = true;
      mounted.end();
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
        async () => resolve({ answer: await answer(head, read, mounted, activity), headers }),
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
      const read: BodyReader = (admission) =>
        readChunks(request.body ?? nothing(), options.maxRequestBytes, admission);
      const { answer: given, headers: common } = await respond(head, read, '', request.signal, sent.promise);
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
      const leaving = new AbortController();
      const sent = Promise.withResolvers<void>();
      response.once('close', () => {
        if (!response.writableFinished) leaving.abort();
        sent.resolve();
      });
      const read: BodyReader = (admission) =>
        // A stream that was read already would never end.
        request.body === undefined
          ? readChunks(request.iterator({ destroyOnReturn: false }), options.maxRequestBytes, admission)
          : Buffer.from(typeof request.body === 'string' ? request.body : bytesOf(request.body));
      const peer = peerOf(request.socket.remoteAddress);
      const { answer: given, headers } = await respond(request, read, peer, leaving.signal, sent.promise);
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
