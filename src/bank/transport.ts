import { Pool } from 'undici';
import type { Cancel } from './cancel.ts';
import { Deadlines } from './deadlines.ts';
import { exchange } from './exchange.ts';
import type { WireReply, WireRequest } from './wire.ts';

export interface TransportOptions {
  readonly origin: string;
  /** Connections that are open at the same time, for reads and for writes each. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
  /** The longest answer, in bytes. */
  readonly maxBodyBytes: number;
}

export interface ExchangeOptions {
  /** One deadline over the wait for a connection, connect, headers, and the whole body. */
  readonly timeoutMs: number;
  /** Gives the request up where it is raised. */
  readonly cancel?: Cancel | undefined;
  /** A connection of its own, closed after the answer: see createTransport. */
  readonly ownConnection: boolean;
}

export interface Transport {
  /** Sends one request, once. Errors: TransportFailure. */
  exchange(request: WireRequest, options: ExchangeOptions): Promise<WireReply>;
  close(): Promise<void>;
}

/**
 * HTTP/1.1 to one origin. It follows no redirect, tries nothing again and decodes no encoding.
 *
 * undici's own deadlines are off: its header deadline ticks in seconds and never fires under 1xx answers, and its
 * body deadline never fires while bytes drip. HTTP/2 is off since a request on a refused stream would be sent
 * again. Writes take a connection of their own: on a kept one that the bank has just closed, nobody could say
 * whether the bank saw the request. `Pool.dispatch` rather than `Pool.request`, because its handler learns when
 * the request starts to be written: until then, nothing was sent.
 */
export function createTransport(options: TransportOptions): Transport {
  const common = {
    allowH2: false,
    connections: options.connections,
    connect: { timeout: options.connectTimeoutMs },
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const { maxBodyBytes } = options;
  const deadlines = new Deadlines();
  const kept = new Pool(options.origin, { ...common, pipelining: 1 });
  const own = new Pool(options.origin, { ...common, pipelining: 0 });
  return {
    exchange: (request, { ownConnection, timeoutMs, cancel }) =>
      exchange(ownConnection ? own : kept, request, { deadlines, timeoutMs, maxBodyBytes, cancel }),
    async close() {
      await Promise.all([kept.destroy(), own.destroy()]);
    },
  };
}
