import { AsyncResource } from 'node:async_hooks';
import type { SecureContext } from 'node:tls';
import type { Dispatcher } from 'undici';
import { messageOf } from '../errors.ts';
import { type ShedReason, uses } from '../ledger.ts';
import { BankConnection, shownSwitchingProtocols } from './connection.ts';
import { createConnector, describeConnectionFailure, type NetworkOptions } from './connector.ts';
import type { Identity } from './credentials.ts';
import { type Cancellation, type OperationDeadline, type QueuedTimer, TimerQueue } from './deadline.ts';
import { type HttpResponse, type HttpResult, TransportFailure } from './http-message.ts';
import { type ArrivingBody, type Intake, intake, shortBody } from './intake.ts';
import {
  FairPool,
  type FairPoolOptions,
  type OperationUsage,
  type PoolRequest,
  type WaitingRequest,
} from './pool.ts';
import { type PreparedCall, toHttpRequest } from './request.ts';

export interface TransportOptions {
  readonly origin: string;
  /** Connections that are open at the same time, for reads and for writes each. */
  readonly connections: number;
  /** How long a call waits for one of them, in milliseconds: see FairPool. */
  readonly connectionWaitMs: number;
  /** The share of the connections that one bank operation may hold while others wait, above 0; 1 for all. */
  readonly operationShare: number;
  /** From this time on, a call is slow however long others take, in milliseconds. */
  readonly slowCallMs: number;
  /** Whether a kept connection bears requests of one caller's identity only. */
  readonly connectionPerCaller: boolean;
  readonly connectTimeoutMs: number;
  /** The longest answer, in bytes. */
  readonly maxBodyBytes: number;
  /** Directly to the bank, with Node's certificates, if omitted. */
  readonly network?: NetworkOptions | undefined;
  /** Called when a call or an update is refused because callers hold too much; it must not throw. */
  readonly onShed?: ((why: ShedReason) => void) | undefined;
  /** Called with the callers whose reads wait for a connection, as FairPoolOptions says; it must not throw. */
  readonly onCrowded?: FairPoolOptions['onCrowded'];
}

/** The connections of one kind that a bank operation holds or waits for: kept ones (reads), or those for a single call. */
export interface PoolUsage extends OperationUsage {
  readonly pool: 'kept' | 'alone';
}

/** Does work over so many bytes: at once, or in one of a GraphQL operation's turns if there is much to do. */
type RunInTurn = (bytes: number, work: () => void) => void;

/** What the GraphQL operation may keep of the bank's answers, and when it may work on them. */
export interface ReadBudget {
  /**
   * Counts so many bytes of an answer, which is kept until the operation ends; false if there is no room for them. A negative
   * number gives them back.
   */
  keep(bytes: number): boolean;
  run: RunInTurn;
}

/** When a call is given up. */
export interface CallLimits {
  /** For the wait for a connection, connect, headers and the whole body, in milliseconds of performance.now(). */
  readonly deadline: number;
  /** Cancels the call; null if nobody can. */
  readonly cancellation: Cancellation | null;
  /** The GraphQL operation that it belongs to. */
  readonly operationDeadline: OperationDeadline | null;
  /** Null if nothing is bounded. */
  readonly readBudget: Pick<ReadBudget, 'keep'> | null;
  /** Parses a long answer when there is time for it; never if nobody needs it any more. */
  run: RunInTurn;
  /** Called right before the request is written. If it throws, nothing is sent. */
  readonly beforeStart?: (() => void) | undefined;
}

/** For a call that nobody cancels, and whose answer no operation keeps. */
export const limitedBy = (deadline: number, beforeStart?: () => void): CallLimits => ({
  deadline,
  beforeStart,
  cancellation: null,
  operationDeadline: null,
  readBudget: null,
  run: (_bytes, work) => work(),
});

/** Gets the outcome of a call, once; at once if it cannot be sent. */
type OnResult = (result: HttpResult, sent: PreparedCall) => void;

/** Sends a call, once. */
export type Send = (call: PreparedCall, limits: CallLimits, onResult: OnResult) => void;

export interface Transport {
  readonly send: Send;
  usage(): readonly PoolUsage[];
  /** How many connections calls hold, of the kind that they hold more of. */
  held(): number;
  /** From now on connections are opened with these certificates, and none is used again that was opened before. */
  useTls(secureContext: SecureContext): void;
  close(): Promise<void>;
}

/** A call is quick, whatever others take, up to this part of the time from which on it is slow. */
const quickDivisor = 8;

/**
 * HTTP/1.1 to one origin. It follows no redirect, tries nothing again and decodes no encoding. Reads share connections
 * that are kept; each write and payment has one of its own, closed after the answer.
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
  const poolOptions = {
    share: operationShare,
    reserve: uses.connections.reserve,
    quickMs: options.slowCallMs / quickDivisor,
    slowMs: options.slowCallMs,
    waitMs: connectionWaitMs,
  };
  const opened: BankConnection[] = [];
  const { network = {} } = options;
  const { connectionMaxAgeMs: maxAgeMs = 0 } = network;
  const connector = createConnector(network, connectTimeoutMs);
  let isClosed = false;

  function createConnections(isKept: boolean): Connections {
    const isPerIdentity = isKept && options.connectionPerCaller;
    const connect = () => {
      const connection = new BankConnection({ origin, connector, isKept, isPerIdentity, maxAgeMs });
      opened.push(connection);
      // It is opened by the first request, which may come after the end.
      if (isClosed) void connection.destroy();
      return connection;
    };
    return {
      pool: new FairPool(connections, connect, {
        ...poolOptions,
        onCrowded: isKept ? options.onCrowded : undefined,
      }),
      timers: new TimerQueue(),
      maxBodyBytes,
      intake: isKept ? intake : null,
      isPerIdentity,
      onShed: options.onShed ?? (() => {}),
    };
  }

  const kept = createConnections(true);
  const alone = createConnections(false);
  return {
    send(call, limits, onResult) {
      new Exchange(call.operation.kind === 'read' ? kept : alone, call, limits, onResult).start();
    },
    usage: () => [
      ...kept.pool.usage.map((usage) => ({ ...usage, pool: 'kept' as const })),
      ...alone.pool.usage.map((usage) => ({ ...usage, pool: 'alone' as const })),
    ],
    held: () => Math.max(kept.pool.held, alone.pool.held),
    useTls: connector.useTls,
    async close() {
      isClosed = true;
      await Promise.all(opened.map((connection) => connection.destroy()));
    },
  };
}

/** The connections of one kind. */
interface Connections {
  readonly pool: FairPool<BankConnection>;
  /** The deadlines of the requests. */
  readonly timers: TimerQueue;
  readonly maxBodyBytes: number;
  /** Null for the answers of writes and payments, which wait for nothing. */
  readonly intake: Intake | null;
  readonly isPerIdentity: boolean;
  readonly onShed: (why: ShedReason) => void;
}

/** How much of an answer may arrive before it is counted, in bytes: most are shorter, and counted once. */
const uncountedBytes = 64 * 1024;
/** Values of Content-Encoding that name no encoding. */
const noEncoding = /^(identity)?$/i;
const noRoom = 'there is no room for the answer';

/** How many interim (1xx) responses may come before the final one; how long each may be is bounded by undici. */
const maxInterimResponses = 1000;

/** One request and its answer, from the wait for a connection to the last byte: undici's handler for it. */
class Exchange implements Dispatcher.DispatchHandler, PoolRequest<BankConnection>, ArrivingBody {
  readonly caller: Identity;
  readonly operation: string;
  readonly suits: ((connection: BankConnection) => boolean) | null;
  readonly session: OperationDeadline | null;
  readonly #connections: Connections;
  readonly #call: PreparedCall;
  readonly #deadline: number;
  readonly #cancellation: Cancellation | null;
  readonly #readBudget: Pick<ReadBudget, 'keep'> | null;
  readonly #onResult: OnResult;
  readonly #beforeStart: CallLimits['beforeStart'];
  /** undici reports the end in the context of whoever opened the socket: the steps above run in the caller's. */
  readonly #context = new AsyncResource('BankCall', contextOptions);
  #timer: QueuedTimer | null = null;
  #waiting: WaitingRequest<BankConnection> | null = null;
  #connection: BankConnection | null = null;
  #timeoutMs = 0;
  #startedAt = 0;
  /** Set when the request starts to be written: until then, nothing was sent. */
  #controller: Dispatcher.DispatchController | null = null;
  #isSettled = false;
  #interimResponses = 0;
  #status = 0;
  #headers: HttpResponse['headers'] = {};
  /** The body so far: one chunk, as nearly always, or several. */
  #body: Buffer | null = null;
  #chunks: Buffer[] | null = null;
  #size = 0;
  /** The whole length, if the bank states it. */
  #length = Number.POSITIVE_INFINITY;
  /** How much of it the operation's budget has counted. */
  #counted = 0;
  /** Since when its body is paused, and for how long it was, in milliseconds: that is not the bank's time. */
  #pausedAt: number | null = null;
  #pausedMs = 0;

  constructor(connections: Connections, call: PreparedCall, limits: CallLimits, onResult: OnResult) {
    this.caller = call.caller;
    this.operation = call.operation.id;
    this.session = limits.operationDeadline;
    this.suits = connections.isPerIdentity
      ? (connection) => connection.suits(call.caller.identityFor(call.operation))
      : null;
    this.#connections = connections;
    this.#call = call;
    this.#deadline = limits.deadline;
    this.#cancellation = limits.cancellation;
    this.#readBudget = limits.readBudget;
    this.#onResult = onResult;
    this.#beforeStart = limits.beforeStart;
  }

  start(): void {
    const { pool, timers } = this.#connections;
    const now = performance.now();
    if (this.#deadline <= now) this.#fail('timeout', 'no time was left to send it');
    else if (this.#cancellation?.isCancelled) this.onCancel();
    if (this.#isSettled) return;
    if (this.#cancellation !== null) this.#cancellation.pending = this;
    this.#timeoutMs = this.#deadline - now;
    this.#timer = timers.set(this.#deadline, this, now);
    this.#waiting = pool.acquire(this, now);
  }

  onAcquired(connection: BankConnection, now: number): void {
    this.#connection = connection;
    this.#waiting = null;
    this.#startedAt = now;
    const { caller, operation } = this.#call;
    const identity = this.suits === null ? '' : caller.identityFor(operation);
    try {
      connection.dispatch(toHttpRequest(this.#call), this, identity, now);
    } catch (error) {
      this.onResponseError(null, error instanceof Error ? error : new Error(String(error)));
    }
  }

  onOverloaded(): void {
    this.#waiting = null;
    this.#connections.onShed('connections');
    this.#fail('overloaded', uses.connections.refusal);
  }

  onTimeout(): void {
    this.#timer = null;
    if (this.#connection === null) this.onOverloaded();
    else if (this.#pausedAt !== null) this.#fail('no room', 'there was no time to read the answer');
    else this.#fail('timeout', `no whole answer within ${Math.round(this.#timeoutMs)} ms`);
  }

  onCancel(): void {
    this.#fail('cancelled', 'the caller left');
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // undici cannot cancel a request that waits for its connection. Whichever comes first wins, the deadline or the start.
    if (!this.#isSettled) this.#refuseLateStart();
    if (!this.#isSettled) {
      this.#controller = controller;
      this.#connection?.expectResponse();
    } else {
      controller.abort(new Error('given up before it was sent'));
      this.#releaseLater();
    }
  }

  /** Timers may be late: the deadline counts also if its timer has not fired yet. */
  #refuseLateStart(): void {
    if (performance.now() >= this.#deadline) this.#fail('timeout', 'the connection was opened too late');
    if (this.#isSettled) return;
    try {
      this.#beforeStart?.();
    } catch (error) {
      const failure =
        error instanceof TransportFailure ? error : this.#failure('cancelled', messageOf(error), error);
      this.#settle(failure);
    }
  }

  onResponseStart(_: unknown, status: number, headers: HttpResponse['headers']): void {
    if (status < 200) {
      this.#passOver(status, headers);
      return;
    }
    this.#status = status;
    this.#headers = headers;
    const { 'content-encoding': encoding, 'content-length': length } = headers;
    if (length !== undefined) this.#length = Number(length);
    if (encoding !== undefined && !noEncoding.test(String(encoding)))
      this.#stopReading('the answer is encoded although none was asked for');
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    const { maxBodyBytes, intake } = this.#connections;
    this.#size += chunk.length;
    // A paused body still gets the rest of what its connection has read.
    const isLong = this.#size > shortBody && this.#size < this.#length;
    if (isLong && this.#pausedAt === null) intake?.take(this, chunk.length);
    if (this.#size > maxBodyBytes) this.#stopReading(`the answer is longer than ${maxBodyBytes} bytes`);
    else if (this.#isSettled) return;
    else if (this.#size - this.#counted > uncountedBytes && !this.#count()) this.#fail('no room', noRoom);
    else if (this.#body === null) this.#body = chunk;
    else if (this.#chunks === null) this.#chunks = [this.#body, chunk];
    else this.#chunks.push(chunk);
  }

  pause(): void {
    this.#pausedAt = performance.now();
    this.#connection?.pause();
  }

  resume(): void {
    if (this.#isSettled || this.#pausedAt === null) return;
    this.#pausedMs += performance.now() - this.#pausedAt;
    this.#pausedAt = null;
    this.#connection?.resume();
  }

  onResponseEnd(): void {
    if (this.#isSettled) return;
    this.#releaseLater();
    this.#settle(this.#count() ? this.#response() : this.#failure('no room', noRoom));
  }

  /** Counts what has arrived; false if the operation has no room for it. */
  #count(): boolean {
    const more = this.#size - this.#counted;
    this.#counted = this.#size;
    return this.#readBudget?.keep(more) !== false;
  }

  onResponseError(_: unknown, error: Error): void {
    const cause = this.#connection?.socketError ?? error;
    const message =
      describeConnectionFailure(cause) ??
      (this.#controller === null ? 'no connection' : 'the connection broke');
    this.#releaseLater();
    if (!this.#isSettled) this.#settle(this.#failure('unavailable', message, cause));
  }

  /**
   * Ignores an interim response, but fails the request if the bank switches protocols or sends too many of them. A 101
   * without an Upgrade header switches to no protocol, and is ignored too.
   */
  #passOver(status: number, headers: HttpResponse['headers']): void {
    this.#interimResponses++;
    if (status === shownSwitchingProtocols && headers.upgrade !== undefined)
      this.#fail('unavailable', 'the bank switched protocols');
    else if (this.#interimResponses > maxInterimResponses)
      this.#fail('unavailable', `more than ${maxInterimResponses} interim responses came`);
  }

  /** Stops reading: for an error response, the status is enough. */
  #stopReading(message: string): void {
    if (this.#isSettled) return;
    const isGood = this.#status >= 200 && this.#status < 300;
    const result = isGood ? this.#failure('refused', message) : this.#response();
    this.#abort(new Error(message));
    this.#settle(result);
  }

  #fail(reason: TransportFailure['reason'], message: string): void {
    if (this.#isSettled) return;
    const failure = this.#failure(reason, message);
    if (this.#waiting !== null) this.#connections.pool.cancel(this.#waiting);
    this.#waiting = null;
    // A connection that is still being opened is released once it is open or has failed.
    if (this.#controller !== null) this.#abort(failure);
    this.#settle(failure);
  }

  #failure(reason: TransportFailure['reason'], message: string, cause?: unknown): TransportFailure {
    return new TransportFailure(reason, this.#controller !== null, message, cause);
  }

  #response(): HttpResponse {
    const body = this.#chunks === null ? (this.#body ?? emptyBody) : Buffer.concat(this.#chunks);
    const milliseconds = performance.now() - this.#startedAt - this.#pausedMs;
    return { status: this.#status, headers: this.#headers, body, milliseconds };
  }

  /** An answer that nobody reads would occupy the connection. */
  #abort(error: Error): void {
    this.#isSettled = true;
    this.#controller?.abort(error);
    this.#releaseLater();
  }

  /**
   * Releases the connection in a later turn of the event loop. By then undici treats it as idle, and reads from it
   * before it writes the next request, so that unsolicited bytes end the connection instead of becoming the next
   * caller's answer (GHSA-35p6-xmwp-9g52). If the next request came at once, undici would skip this check.
   */
  #releaseLater(): void {
    const connection = this.#connection;
    if (connection === null) return;
    this.#connection = null;
    setImmediate(() => {
      // Its body may have ended in the read that paused it.
      if (this.#pausedAt !== null) connection.resume();
      this.#connections.pool.release(connection);
    });
  }

  #settle(result: HttpResult): void {
    this.#isSettled = true;
    if (this.#timer !== null) this.#connections.timers.clear(this.#timer);
    if (this.#cancellation !== null) this.#cancellation.pending = null;
    // A settled request drops its references, so that the garbage collector copies less.
    this.#timer = null;
    this.#body = null;
    this.#chunks = null;
    this.#context.runInAsyncScope(this.#onResult, null, result, this.#call);
  }
}

/** AsyncLocalStorage.snapshot would do the same in a hundred times the time. */
export const contextOptions = { requireManualDestroy: true };

const emptyBody = Buffer.alloc(0);
