import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Capacity, type CapacityLimits, type Counted, type ShedReason } from '../load/capacity.ts';
import { readBody } from './body.ts';
import { createDoor } from './handle.ts';
import { createGraphQLHandler, type GraphQLServerOptions } from './handlers.ts';
import { type ListenOptions, listen } from './listen.ts';
import { createMount } from './mount.ts';
import type { OperationObserver } from './request-scope.ts';
import { NodeClient } from './respond.ts';
import { checkRequest, type HttpPolicyOptions, type HttpRefusal } from './rules.ts';

export interface ServerOptions extends GraphQLServerOptions {
  readonly host: string;
  readonly port: number;
  /** Whether another server listens for it (default: false). */
  readonly isMounted?: boolean | undefined;
  readonly capacity: CapacityLimits;
  /** How long an answer may wait to be read, in milliseconds; see connection.ts. */
  readonly writeDeadlineMs?: number | undefined;
  readonly http: Omit<HttpPolicyOptions, 'maxRequestBytes'>;
  /** How long /ready answers 503 before the server stops listening, in milliseconds. */
  readonly drainDelayMs?: number;
  /** Called with the reason when a request, or a part of one, is refused for lack of capacity. Must not throw. */
  readonly onShed?: (why: ShedReason) => void;
  /** Called with the status when a rule of HTTP refuses a request. It must not throw. */
  readonly onHttpRefusal?: (status: HttpRefusal) => void;
  /** Watches every request for GraphQL, also those that are not accepted. */
  readonly observer?: OperationObserver;
}

export type RunningServer = Awaited<ReturnType<typeof serve>>;

export interface ServerCloseOptions {
  /**
   * Another process listens on the same port, so /ready need not answer 503. Kept connections may be used
   * once more, so that none closes while a request is on its way.
   */
  readonly isReplaced?: boolean;
}

/** How long a kept connection may be used once more, in milliseconds. The answer tells the client that the connection ends. */
const lastUseMs = 5000;

/** How often the log names an address that has too many connections, in milliseconds. */
const surplusLineMs = 60_000;

/** Logs that a connection was closed because there are too many. Under an attack each new connection closes one. */
function createSurplusLog(logger: Logger): ListenOptions['onSurplus'] {
  let nextAt = 0;
  return (closed) => {
    const now = performance.now();
    if (now < nextAt) return;
    nextAt = now + surplusLineMs;
    logger.warn(closed, 'a connection was closed: clients have too many');
  };
}

/** Serves the endpoint. Errors: those of `listen`, such as EADDRINUSE. */
export async function serve(options: ServerOptions) {
  let isLeaving = false;
  const capacity = new Capacity(options.capacity, options.onShed);
  const graphqlOptions: GraphQLServerOptions = {
    ...options,
    whyNotReady() {
      if (isLeaving) return 'leaving';
      return options.whyNotReady?.() ?? null;
    },
  };
  let answer = createGraphQLHandler(graphqlOptions);
  const { maxRequestBytes } = options;
  const policy = { ...options.http, maxRequestBytes };
  const enter = createDoor({ ...options, policy }, (head, read, holder, activity) =>
    answer(head, read, holder, activity),
  );
  const mount = createMount(enter, capacity, maxRequestBytes);
  const listening =
    options.isMounted === true
      ? null
      : await listen(
          options.host,
          options.port,
          (request, response, holder) => {
            const read = () => {
              if (response.awaitsContinue) response.writeContinue();
              return readBody(request, maxRequestBytes, holder);
            };
            void enter(request, read, holder, new NodeClient(response));
          },
          {
            capacity,
            writeDeadlineMs: options.writeDeadlineMs,
            onUnreadable({ status, reason, origin }) {
              options.onHttpRefusal?.(status);
              const { headers, requestId } = checkRequest(
                { method: 'GET', url: '', headers: { origin } },
                policy,
              );
              options.logger.info({ requestId, status, reason }, 'a request cannot be read');
              return headers;
            },
            onSurplus: createSurplusLog(options.logger),
          },
        );
  const held: Pick<Capacity, Counted | 'sockets'> = capacity;
  return {
    /** Empty if it is mounted. */
    url: listening?.url ?? '',
    fetch: mount.fetch,
    node: mount.node,
    held,
    /** Replaces the documents that can be requested by id; operations under way are not affected. */
    replaceDocuments(persisted: GraphQLServerOptions['persisted']): void {
      answer = createGraphQLHandler({ ...graphqlOptions, persisted });
    },
    /** Serves no new requests, and waits until those under way have ended. */
    async close({ isReplaced = false }: ServerCloseOptions = {}): Promise<void> {
      isLeaving = !isReplaced;
      // Otherwise, kept connections would still be served.
      listening?.drain();
      if (isLeaving && listening !== null) await delay(options.drainDelayMs ?? 0);
      await listening?.close(isReplaced ? lastUseMs : 0);
      await mount.idle();
    },
  };
}
