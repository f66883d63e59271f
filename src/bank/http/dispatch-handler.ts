import type { Dispatcher } from 'undici';
import type { Cancellable, CancellationToken } from './cancellation.ts';
import type { BankConnection } from './connection.ts';
import { describeConnectionFailure } from './connection-failure.ts';
import type { FairPool, PoolRequest, QueuedRequest } from './fair-pool.ts';
import { type HttpRequest, type HttpResponse, type HttpResult, TransportFailure } from './http-message.ts';
import { shownSwitchingProtocols } from './interim-responses.ts';
import type { QueuedTimer, TimeoutListener, TimerQueue } from './timer-queue.ts';

/** The connections of one kind, and the limits for using them. */
export interface ConnectionPool {
  readonly pool: FairPool<BankConnection>;
  /** How long a request may wait for a connection, in milliseconds, and the timers of those that wait. */
  readonly acquireTimeoutMs: number;
  readonly acquireTimers: TimerQueue;
  /** The deadlines of requests that have a connection. */
  readonly requestTimers: TimerQueue;
  readonly maxBodyBytes: number;
}

export interface DispatchOptions {
  /** The caller's id and the REST operation's: when connections are scarce, each has a queue of its own. */
  readonly caller: string;
  readonly operation: string;
  /** The identity whose credentials the request carries. */
  readonly identity: string;
  /**
   * One deadline over the wait for a connection, connect, headers, and the whole body; `overloaded` if it passes during
   * the wait.
   */
  readonly timeoutMs: number;
  /** Cancels the request. */
  readonly cancellation?: CancellationToken | undefined;
}

/** How many interim (1xx) responses may come before the final one; how long each may be is bounded by undici. */
const maxInterimResponses = 1000;

/** undici's handler for one request and its answer, from the wait for a connection to the last byte. */
export class RequestDispatchHandler
  implements Dispatcher.DispatchHandler, PoolRequest<BankConnection>, TimeoutListener, Cancellable
{
  readonly caller: string;
  readonly operation: string;
  readonly #identity: string;
  readonly #connections: ConnectionPool;
  readonly #request: HttpRequest;
  readonly #timeoutMs: number;
  readonly #cancellation: CancellationToken | undefined;
  readonly #resolve: (result: HttpResult) => void;
  #requestTimer: QueuedTimer | null = null;
  /** Its place in the queue for a connection, and the timer of the wait. */
  #queued: QueuedRequest<BankConnection> | null = null;
  #acquireTimer: QueuedTimer | null = null;
  #connection: BankConnection | null = null;
  #startedAt = 0;
  /** Set when the request starts to be written: until then, nothing was sent. */
  #controller: Dispatcher.DispatchController | null = null;
  #isSettled = false;
  #interimResponses = 0;
  #status = 0;
  #headers: HttpResponse['headers'] = {};
  #chunks: Buffer[] | null = null;
  #size = 0;

  constructor(
    connections: ConnectionPool,
    request: HttpRequest,
    { caller, operation, identity, timeoutMs, cancellation }: DispatchOptions,
    resolve: (result: HttpResult) => void,
  ) {
    this.caller = caller;
    this.operation = operation;
    this.#identity = identity;
    this.#connections = connections;
    this.#request = request;
    this.#timeoutMs = timeoutMs;
    this.#cancellation = cancellation;
    this.#resolve = resolve;
  }

  start(): void {
    const { pool, requestTimers, acquireTimers, acquireTimeoutMs } = this.#connections;
    if (this.#timeoutMs <= 0) this.#fail('timeout', 'no time was left to send it');
    if (this.#cancellation?.isCancelled) this.onCancel();
    if (this.#isSettled) return;
    if (this.#cancellation !== undefined) this.#cancellation.pending = this;
    const now = performance.now();
    this.#requestTimer = requestTimers.set(now + this.#timeoutMs, this);
    this.#queued = pool.acquire(this, now);
    if (this.#queued !== null) this.#acquireTimer = acquireTimers.set(now + acquireTimeoutMs, this);
  }

  suits(connection: BankConnection): boolean {
    return connection.suits(this.#identity);
  }

  onAcquired(connection: BankConnection, now: number): void {
    this.#connection = connection;
    this.#startedAt = now;
    this.#clearAcquireTimer();
    connection.dispatch(this.#request, this, this.#identity, now);
  }

  onTimeout(): void {
    if (this.#connection === null) this.#fail('overloaded', 'no connection became free in time');
    else this.#fail('timeout', `no whole answer within ${this.#timeoutMs} ms`);
  }

  onCancel(): void {
    this.#fail('cancelled', 'the caller left');
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // A request that timed out while its connection was being opened must not be sent any more.
    if (!this.#isSettled) {
      this.#controller = controller;
      this.#connection?.expectResponse();
    } else {
      controller.abort(new Error('given up before it was sent'));
      this.#releaseLater();
    }
  }

  onResponseStart(_: unknown, status: number, headers: HttpResponse['headers']): void {
    if (status < 200) {
      this.#passOver(status, headers);
      return;
    }
    this.#status = status;
    this.#headers = headers;
    const encoding = headers['content-encoding'];
    if (encoding !== undefined && encoding !== 'identity')
      this.#stopReading('the answer is encoded although none was asked for');
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    const { maxBodyBytes } = this.#connections;
    this.#size += chunk.length;
    if (this.#size > maxBodyBytes) this.#stopReading(`the answer is longer than ${maxBodyBytes} bytes`);
    else if (this.#isSettled) return;
    else if (this.#chunks === null) this.#chunks = [chunk];
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (this.#isSettled) return;
    this.#settle(this.#response());
    this.#releaseLater();
  }

  onResponseError(_: unknown, error: Error): void {
    const cause = this.#connection?.socketError ?? error;
    const message =
      describeConnectionFailure(cause) ??
      (this.#controller === null ? 'no connection' : 'the connection broke');
    if (!this.#isSettled) this.#settle(this.#failure('unavailable', message, cause));
    this.#releaseLater();
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
    this.#settle(isGood ? this.#failure('refused', message) : this.#response());
    this.#abort(new Error(message));
  }

  #fail(reason: TransportFailure['reason'], message: string): void {
    if (this.#isSettled) return;
    const failure = this.#failure(reason, message);
    this.#settle(failure);
    // A connection that is still being opened is released once it is open or has failed.
    if (this.#controller !== null) this.#abort(failure);
  }

  #failure(reason: TransportFailure['reason'], message: string, cause?: unknown): TransportFailure {
    return new TransportFailure(reason, this.#controller !== null, message, cause);
  }

  #response(): HttpResponse {
    const chunks = this.#chunks ?? [];
    const [only] = chunks;
    const body = only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks);
    const milliseconds = performance.now() - this.#startedAt;
    return { status: this.#status, headers: this.#headers, body, milliseconds };
  }

  /** An answer that nobody reads would occupy the connection. */
  #abort(error: Error): void {
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
    setImmediate(() => this.#connections.pool.release(connection));
  }

  #clearAcquireTimer(): void {
    if (this.#acquireTimer !== null) this.#connections.acquireTimers.clear(this.#acquireTimer);
    this.#acquireTimer = null;
    this.#queued = null;
  }

  #settle(result: HttpResult): void {
    this.#isSettled = true;
    if (this.#queued !== null) this.#connections.pool.cancel(this.#queued);
    this.#clearAcquireTimer();
    if (this.#requestTimer !== null) this.#connections.requestTimers.clear(this.#requestTimer);
    // A settled request drops its references, so that the garbage collector copies less.
    this.#requestTimer = null;
    this.#chunks = null;
    if (this.#cancellation !== undefined) this.#cancellation.pending = null;
    this.#resolve(result);
  }
}
