import type { SecureContext } from 'node:tls';
import { BankConnection } from './connection.ts';
import { createConnector, type NetworkOptions } from './connector.ts';
import { type ConnectionPool, type DispatchOptions, RequestDispatchHandler } from './dispatch-handler.ts';
import { FairPool, type OperationUsage } from './fair-pool.ts';
import type { HttpRequest, HttpResult } from './http-message.ts';
import { TimerQueue } from './timer-queue.ts';

export interface TransportOptions {
  readonly origin: string;
  /** Connections that are open at the same time, for reads and for writes each. */
  readonly connections: number;
  /** How long a call waits for one of them, in milliseconds. */
  readonly connectionWaitMs: number;
  /** The share of the connections that one REST operation may hold while others wait, above 0; 1 for all. */
  readonly operationShare: number;
  /** From when on a call is slow whatever others take, in milliseconds: see Bulkhead. */
  readonly slowCallMs: number;
  /** Whether a kept connection bears requests of one caller's identity only. */
  readonly connectionPerCaller: boolean;
  readonly connectTimeoutMs: number;
  /** The longest answer, in bytes. */
  readonly maxBodyBytes: number;
  /** Straight to the bank, with Node's certificates, where it is left out. */
  readonly network?: NetworkOptions | undefined;
}

/** What one operation holds and waits for of one kind of connections: kept ones (reads), or those for one call alone. */
export interface PoolUsage extends OperationUsage {
  readonly pool: 'kept' | 'alone';
}

/** Sends one request, once. */
export type Send = (request: HttpRequest, options: DispatchOptions) => Promise<HttpResult>;

export interface Transport {
  /** Over connections that are kept. */
  readonly send: Send;
  /** Each over a connection of its own, closed after the answer: see createTransport. */
  readonly sendAlone: Send;
  usage(): readonly PoolUsage[];
  /** From now on connections are opened with these certificates, and none is used again that was opened before. */
  useTls(secureContext: SecureContext): void;
  close(): Promise<void>;
}

/** A call is quick, whatever others take, up to this part of the time from which on it is slow. */
const quickDivisor = 8;

/**
 * HTTP/1.1 to one origin. It follows no redirect, tries nothing again and decodes no encoding.
 *
 * undici's own deadlines are off: its header deadline ticks in seconds and never fires under 1xx answers, and its
 * body deadline never fires while bytes drip. HTTP/2 is off since a request on a refused stream would be sent
 * again. Writes take a connection of their own: on a kept one that the bank has just closed, nobody could say
 * whether the bank saw the request. `dispatch` rather than `request`, because its handler learns when the request
 * starts to be written: until then, nothing was sent. undici's `Client`, which is one connection, rather than its
 * `Pool`: callers take turns for connections, and who comes next is known here.
 */
export function createTransport(options: TransportOptions): Transport {
  const { origin, connections, connectionWaitMs, operationShare, connectTimeoutMs, maxBodyBytes } = options;
  const bulkheads = {
    share: operationShare,
    quickMs: options.slowCallMs / quickDivisor,
    slowMs: options.slowCallMs,
  };
  const acquireTimers = new TimerQueue();
  const requestTimers = new TimerQueue();
  const opened: BankConnection[] = [];
  const { network = {} } = options;
  const { connectionMaxAgeMs: maxAgeMs = 0 } = network;
  const connector = createConnector(network, connectTimeoutMs);
  let isClosed = false;

  function createPool(isKept: boolean): ConnectionPool {
    const isPerIdentity = isKept && options.connectionPerCaller;
    const connect = () => {
      const connection = new BankConnection({ origin, connector, isKept, isPerIdentity, maxAgeMs });
      opened.push(connection);
      // It is opened by whoever uses it first, which may be after the end.
      if (isClosed) void connection.destroy();
      return connection;
    };
    return {
      pool: new FairPool(connections, connect, bulkheads),
      acquireTimeoutMs: connectionWaitMs,
      acquireTimers,
      requestTimers,
      maxBodyBytes,
    };
  }

  const sendOver =
    (connections: ConnectionPool): Send =>
    (request, exchangeOptions) =>
      new Promise((resolve) => {
        new RequestDispatchHandler(connections, request, exchangeOptions, resolve).start();
      });

  const kept = createPool(true);
  const alone = createPool(false);
  return {
    send: sendOver(kept),
    sendAlone: sendOver(alone),
    usage: () => [
      ...kept.pool.usage.map((usage) => ({ ...usage, pool: 'kept' as const })),
      ...alone.pool.usage.map((usage) => ({ ...usage, pool: 'alone' as const })),
    ],
    useTls: connector.useTls,
    async close() {
      isClosed = true;
      await Promise.all(opened.map((connection) => connection.destroy()));
    },
  };
}
