import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Callers } from '../load/callers.ts';
import { Capacity, type CapacityLimits, type Counted, type ShedReason } from '../load/capacity.ts';
import { NodeExchange } from './exchange.ts';
import { createHandle, type Handle, type HandleOptions } from './handle.ts';
import { type ListenOptions, listen } from './listen.ts';
import { createMount } from './mount.ts';
import { checkRequest } from './rules.ts';

export interface ServerOptions extends HandleOptions {
  readonly host: string;
  readonly port: number;
  /** Whether another server listens on behalf of bankql (default: false). */
  readonly isMounted?: boolean | undefined;
  readonly capacity: CapacityLimits;
  /** The callers, shared by this server and the bank's client (default: callers of this server alone). */
  readonly callers?: Callers | undefined;
  /** See ListenOptions. */
  readonly writeDeadlineMs?: number | undefined;
  readonly isBehindProxy?: boolean | undefined;
  /** The time for which /ready answers 503 before the server stops listening, in milliseconds. */
  readonly drainDelayMs?: number;
  /** Called with the reason when a request, or a part of one, is refused for lack of capacity. Must not throw. */
  readonly onShed?: (why: ShedReason) => void;
}

export type RunningServer = Awaited<ReturnType<typeof serve>>;

export interface ServerCloseOptions {
  /**
   * Whether another process listens on the same port. If so, /ready need not answer 503, and each kept connection may be used
   * once more, so that none closes while a request is on its way.
   */
  readonly isReplaced?: boolean;
}

/**
 * The time for which a kept connection may be used once more, in milliseconds. The answer to that request closes it.
 */
const lastUseMs = 5000;

/** The interval at which the log names an address with too many connections, in milliseconds. */
const surplusLineMs = 60_000;

/**
 * Logs that a connection was closed because there are too many. The log is rate-limited, because under an attack each new
 * connection closes one.
 */
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
  const capacity = new Capacity(options.capacity, options.onShed, options.callers);
  const { handle, idle, replaceDocuments } = createHandle({ ...options, isLeaving: () => isLeaving });
  const mount = createMount(handle, capacity);
  const listening = options.isMounted === true ? null : await listenFor(handle, capacity, options);
  const held: Pick<Capacity, Counted | 'sockets'> = capacity;
  return {
    /** Empty if bankql is mounted. */
    url: listening?.url ?? '',
    fetch: mount.fetch,
    node: mount.node,
    held,
    replaceDocuments,
    /**
     * Serves no new requests, and waits until the work for those under way has ended, even if their clients
     * have left.
     */
    async close({ isReplaced = false }: ServerCloseOptions = {}): Promise<void> {
      isLeaving = !isReplaced;
      // From now on, answers end their connections, so that no client sends further requests on them.
      listening?.drain();
      if (isLeaving && listening !== null) await delay(options.drainDelayMs ?? 0);
      await listening?.close(isReplaced ? lastUseMs : 0);
      await idle();
    },
  };
}

const listenFor = (handle: Handle, capacity: Capacity, options: ServerOptions) =>
  listen(
    options.host,
    options.port,
    (request, response, holder) => void handle(new NodeExchange(request, response, holder)),
    {
      capacity,
      writeDeadlineMs: options.writeDeadlineMs,
      isBehindProxy: options.isBehindProxy,
      onUnreadable({ status, reason, origin }) {
        options.onHttpRefusal?.(status);
        const head = { method: 'GET', url: '', headers: { origin } };
        const { headers, requestId } = checkRequest(head, { ...options.http, ...options });
        options.logger.info({ requestId, status, reason }, 'a request cannot be read');
        return headers;
      },
      onSurplus: createSurplusLog(options.logger),
    },
  );
