import type { SecureContext } from 'node:tls';
import { type Dispatcher, Pool, ProxyAgent } from 'undici';
import { Gate, type OperationUsage } from './gate.ts';
import { createConnector, tlsOptions } from './tls.ts';

/** The TLS settings of the connections to the bank, and the proxy to it. */
interface NetworkOptions {
  /** The client certificate, and the authorities for the bank's certificate. Node's authorities by default. */
  readonly secureContext?: SecureContext | undefined;
  /** The proxy to the bank; null for none. */
  readonly proxyUrl?: string | null | undefined;
}

export interface PoolOptions {
  readonly origin: string;
  /** The maximum number of calls in progress, for reads and for writes each. */
  readonly connections: number;
  /** The maximum number of waiting calls, for reads and for writes each; unlimited if omitted. */
  readonly waitingCalls?: number | undefined;
  /** The deadline for connecting, in milliseconds. */
  readonly connectTimeoutMs?: number | undefined;
  /** The maximum age of kept connections, in milliseconds: afterwards, the bank's name may resolve to another address. */
  readonly connectionMaxAgeMs?: number | undefined;
  /** Whether a connection for reads is kept for the next read; true by default. Connections for writes are never kept. */
  readonly keepAlive?: boolean | undefined;
  /** The maximum length of an answer, in bytes. */
  readonly maxBodyBytes: number;
  /** If omitted, connections go directly to the bank, and Node's certificates apply. */
  readonly network?: NetworkOptions | undefined;
}

const defaults = { connectTimeoutMs: 1000, connectionMaxAgeMs: 60_000 };

/** The calls of one bank operation: over kept connections (reads), or over one connection for each call (writes and payments). */
export interface PoolUsage extends OperationUsage {
  readonly pool: 'kept' | 'alone';
}

/** The connections of one kind, and the calls that use them. */
export interface Lane {
  readonly gate: Gate;
  /** The pool for a call that starts at this time. */
  dispatcherAt(now: number): Dispatcher;
  /** The message if there is no connection. */
  readonly noConnection: string;
}

/** The connections to the bank. */
export interface Lanes {
  readonly reads: Lane;
  /** The connections for writes and payments. */
  readonly writes: Lane;
  usage(): readonly PoolUsage[];
  /** The number of calls in progress: the reads or the writes, whichever number is greater. */
  held(): number;
  /** Opens new connections with these certificates from now on. Earlier connections get no further calls. */
  useTls(secureContext: SecureContext): void;
  /** Ends all calls in progress. Nothing is sent any more. */
  close(): Promise<void>;
}

/**
 * Creates the HTTP/1.1 connections to one origin. They follow no redirect, retry nothing and decode no encoding. Reads share
 * kept connections. Each write and payment has its own connection, which is closed after the answer: if the bank had just
 * closed a kept connection, nobody would know whether it saw the request. undici's own deadlines are off: its header deadline
 * counts in seconds and never fires during 1xx answers, and its body deadline never fires while bytes trickle in. `dispatch` is
 * used instead of `request`, because its handler is called before the request is written: until that call, nothing was sent.
 */
export function createLanes(options: PoolOptions): Lanes {
  const {
    origin,
    connections,
    waitingCalls = Number.POSITIVE_INFINITY,
    network = {},
    keepAlive = true,
  } = options;
  const { proxyUrl = null } = network;
  const { connectTimeoutMs = defaults.connectTimeoutMs, connectionMaxAgeMs = defaults.connectionMaxAgeMs } =
    options;
  /** The dispatchers that were opened and may still have calls. */
  const opened = new Set<Dispatcher>();

  function openPools(secureContext: SecureContext | undefined) {
    const connector = createConnector(connectTimeoutMs, secureContext);
    return (isKept: boolean): Dispatcher => {
      const poolOptions = {
        connections,
        pipelining: isKept && keepAlive ? 1 : 0,
        maxResponseSize: options.maxBodyBytes,
        allowH2: false,
        headersTimeout: 0,
        bodyTimeout: 0,
      };
      const dispatcher =
        proxyUrl === null
          ? new Pool(origin, { ...poolOptions, connect: connector })
          : new ProxyAgent({ ...poolOptions, ...proxyOptions(proxyUrl, connectTimeoutMs, secureContext) });
      opened.add(dispatcher);
      return dispatcher;
    };
  }

  let open = openPools(network.secureContext);
  let isClosed = false;
  function createLane(isKept: boolean) {
    let dispatcher = open(isKept);
    let openedAt = performance.now();
    /** Opens a new pool. Calls of the old pool continue to their end. */
    const renew = () => {
      if (isClosed) return;
      const old = dispatcher;
      dispatcher = open(isKept);
      openedAt = performance.now();
      old.close().then(
        () => opened.delete(old),
        () => {},
      );
    };
    return {
      gate: new Gate({ max: connections, maxWaiting: waitingCalls }),
      dispatcherAt(now: number) {
        // Used instead of undici's `clientTtl`, which reads the clock at each call for each connection in use.
        if (now - openedAt >= connectionMaxAgeMs) renew();
        return dispatcher;
      },
      renew,
      noConnection: proxyUrl === null ? 'no connection' : 'no way through the proxy',
    };
  }
  const [reads, writes] = [createLane(true), createLane(false)];

  const usageOf = ({ gate }: Lane, pool: PoolUsage['pool']) =>
    gate.usage.map((usage) => ({ ...usage, pool }));
  return {
    reads,
    writes,
    usage: () => [...usageOf(reads, 'kept'), ...usageOf(writes, 'alone')],
    held: () => Math.max(reads.gate.held, writes.gate.held),
    useTls(secureContext) {
      open = openPools(secureContext);
      reads.renew();
      writes.renew();
    },
    async close() {
      isClosed = true;
      await Promise.all([...opened].map((dispatcher) => dispatcher.destroy()));
    },
  };
}

/**
 * `proxyTunnel` is set, because without it undici sends each plain-http request to the proxy, and drops the pool's options. A
 * proxy that does not answer CONNECT is given up after the deadline for connecting, which undici rounds to seconds.
 */
const proxyOptions = (
  proxyUrl: string,
  connectTimeoutMs: number,
  secureContext: SecureContext | undefined,
) => {
  const { username, password, origin } = new URL(proxyUrl);
  const [user, secret] = [decodeURIComponent(username), decodeURIComponent(password)];
  const token = `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`;
  return {
    uri: origin,
    ...(user === '' && secret === '' ? {} : { token }),
    proxyTunnel: true,
    connectTimeout: connectTimeoutMs,
    requestTls: tlsOptions(secureContext),
    proxyTls: { ...tlsOptions(undefined), autoSelectFamily: true },
    clientFactory: (url: URL, more: object) => new Pool(url, { ...more, headersTimeout: connectTimeoutMs }),
    factory: (url: URL, more: object) => new Pool(url, more),
  };
};
