import { randomUUID } from 'node:crypto';
import { maxHeaderSize } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Operation } from '../contract/operation.ts';
import type { Caller } from '../load/callers.ts';
import { refusals } from '../load/capacity.ts';
import { paused } from './breaker.ts';
import { noCredentials, type RequestCredentials, secretsOf } from './credentials.ts';
import { mapErrorResponse, mapTransportFailure, redact } from './errors.ts';
import type { GateEntry } from './gate.ts';
import {
  encodingOf,
  type HttpRequest,
  type HttpResponse,
  type HttpResult,
  IncomingResponse,
  TransportFailure,
} from './http-message.ts';
import type { OperationDeadline } from './operation-deadline.ts';
import { readInSlices } from './read-in-slices.ts';
import { type CallTrace, reportOf } from './report.ts';
import type { PreparedCall } from './request.ts';
import { isTransient, type RetryBudget, retryDelayMs } from './retry.ts';
import type { Reader, ReadResult } from './shared-reads.ts';
import type { Target } from './target.ts';
import { describeTlsFailure } from './tls.ts';

/** How much of an unknown Content-Encoding an error message shows, in characters. */
const maxShownEncoding = 40;
const noReaders: Reader[] = [];
const noTimeLeft = 'the operation has no time left';

/**
 * One REST call, from its request until its last reader is served. The same object is undici's handler, the entry in the gate's
 * queue, and the read that several readers may share. Each attempt ends in `#end`, which updates the breaker and the retry
 * budget and reports the attempt. A read may then be sent once more, by the same object with a new Track-ID. Otherwise its
 * answer is parsed and its readers are served.
 */
export class Call<T extends Operation = Operation>
  implements PreparedCall<T>, Dispatcher.DispatchHandler, GateEntry
{
  readonly target: Target<T>;
  readonly operation: T;
  readonly path: string;
  readonly body: string | null;
  readonly keepDigits: boolean;
  credentials: RequestCredentials;
  trackId: string | null;
  /** The number of earlier attempts. */
  resendCount = 0;
  /** The group of readers that may share the call (see SharedReads). */
  group = '';
  key = '';
  /**
   * The time until which further readers may share the call, by performance.now(). A later reader begins a
   * new call, because this one may hang.
   */
  joinableUntil = 0;
  /** The number of bytes of the answer that have arrived and are not parsed yet. */
  arrived = 0;
  waitsFor: GateEntry['waitsFor'] = [];
  places: GateEntry['places'] = [];
  /** The latest deadline of the readers. */
  deadline = 0;
  readers: Reader[] = noReaders;
  /** The caller to whom the call's place in the gate and its parsing time are charged. */
  countedAs: Caller;
  /** Whether the whole call has ended, not only an attempt. */
  isOver = false;
  /** The GraphQL operation that began the call. The call is reported in its async context. */
  #begunBy: OperationDeadline | null = null;
  #headers: string[];
  #beforeStart: (() => void) | null = null;
  /**
   * True for a read: it may be retried, its answer is parsed, and readers may share it. Otherwise the only reader gets the
   * response itself.
   */
  #isRead = true;
  /** Whether the call waits at the gate. */
  #isWaiting = false;
  #begunAt = 0;
  #attemptBegunAt = 0;
  #enteredAt = 0;
  /** The breaker's generation when the attempt began; null if the breaker refused the attempt. */
  #generation: number | null = 0;
  #trace: CallTrace | null = null;
  /** Set just before the request is written. A callback with another controller belongs to an earlier attempt. */
  #controller: Dispatcher.DispatchController | null = null;
  #isSent = false;
  /** Whether the attempt has ended. */
  #hasEnded = false;
  #response: IncomingResponse | null = null;
  #retryTimer: NodeJS.Timeout | null = null;

  /** Errors: MISSING_CREDENTIALS. */
  constructor(
    target: Target<T>,
    credentials: RequestCredentials,
    path: string,
    body: string | null,
    keepDigits: boolean,
  ) {
    this.#headers = credentials.headersOf(target.operation);
    this.target = target;
    this.operation = target.operation;
    this.credentials = credentials;
    this.countedAs = credentials.caller;
    this.path = path;
    this.body = body;
    this.keepDigits = keepDigits;
    this.trackId = target.operation.tracked ? randomUUID() : null;
  }

  get gateways(): PreparedCall['gateways'] {
    return this.target.services.gateways;
  }

  /** The request in the form that undici takes. */
  get request(): HttpRequest {
    const { operation, services } = this.target;
    return {
      origin: services.origin,
      method: operation.method,
      path: services.prefix + this.path,
      headers: this.trackId === null ? this.#headers : [...this.#headers, 'Track-ID', this.trackId],
      body: this.body,
    };
  }

  /**
   * Begins the call for its first reader. `beforeStart` is called right before the request is written; if it
   * throws, nothing is sent.
   */
  begin(reader: Reader, beforeStart: (() => void) | null = null): void {
    this.readers = [reader];
    this.#isRead = reader.wanted !== 'response';
    this.#beforeStart = beforeStart;
    this.#begunAt = reader.begunAt;
    this.joinableUntil = reader.wholeTime;
    this.deadline = reader.deadline;
    this.#begunBy = reader.operationDeadline;
    reader.operationDeadline.addWaiter(reader);
    this.#attempt(reader.begunAt);
  }

  /** Adds a reader to a call that is not over. */
  join(reader: Reader): void {
    this.readers.push(reader);
    this.deadline = Math.max(this.deadline, reader.deadline);
    reader.operationDeadline.addWaiter(reader);
    if (this.#isWaiting) this.target.lane.gate.join(this, reader.caller);
  }

  /**
   * Called when a reader gives up. When the last reader leaves, the call ends: with a timeout if its whole time has passed,
   * otherwise as cancelled.
   */
  leave(reader: Reader, { reason }: TransportFailure): void {
    const isLate = reason === 'timeout' && (!this.#isRead || performance.now() >= this.joinableUntil);
    const failure = isLate ? this.#late() : this.#failure('cancelled', 'the caller left');
    const own = isLate || reason !== 'timeout' ? failure : this.#failure('timeout', noTimeLeft);
    this.#part(reader, own, failure);
  }

  /**
   * Gives a reader `failure`. If it was the last reader, the call ends with `last`. A reader that waits for the response itself
   * gets `last` instead.
   */
  #part(reader: Reader, failure: TransportFailure, last: TransportFailure): void {
    if (this.#isRead) {
      this.readers = this.readers.filter((each) => each !== reader);
      reader.leave(failure);
      const { caller } = reader;
      if (this.#isWaiting && !this.readers.some((each) => each.caller === caller))
        this.target.lane.gate.part(this, caller);
      if (this.readers.length > 0) return;
    }
    if (!this.isOver) this.#giveUp(last);
  }

  #late(): TransportFailure {
    if (this.#isWaiting) return this.#shed();
    return this.#failure('timeout', `no whole answer within ${Math.round(this.deadline - this.#begunAt)} ms`);
  }

  #shed(): TransportFailure {
    this.target.services.onShed?.('connections');
    return new TransportFailure('overloaded', false, refusals.connections);
  }

  #attempt(now: number): void {
    const { breaker, services, lane } = this.target;
    const { traceCall } = services;
    this.#hasEnded = false;
    this.#controller = null;
    this.#isSent = false;
    this.#response = null;
    this.#attemptBegunAt = now;
    if (traceCall !== undefined)
      this.#trace = this.#begunBy?.runInAsyncScope(traceCall, null, this, this.resendCount) ?? null;
    this.#generation = breaker === null ? 0 : breaker.tryAcquire();
    if (this.#generation === null) {
      this.#end(paused());
      return;
    }
    this.#isWaiting = true;
    // `ask` may let the call through, or refuse one of its readers, during the loop.
    for (const reader of this.readers)
      if (this.#isWaiting && this.readers.includes(reader)) lane.gate.ask(this, reader.caller);
  }

  enter(): void {
    const { lane } = this.target;
    this.#enteredAt = performance.now();
    // `#isWaiting` is still true: if the wait used up the time, the call ends as an overload, not as a slow bank.
    if (this.#isTooLate(this.#enteredAt)) {
      lane.gate.leave(this);
      return;
    }
    this.#isWaiting = false;
    lane.dispatcherAt(this.#enteredAt).dispatch(this.request, this);
  }

  /** Called by the gate if too many calls wait: all readers of this caller give up. */
  refuse(caller: Caller): void {
    const failure = this.#shed();
    for (const reader of this.readers) if (reader.caller === caller) this.#part(reader, failure, failure);
  }

  /**
   * Throws if the call was given up while its request waited for a connection. undici cannot cancel such a
   * request, but if this method throws, undici writes nothing and keeps the connection.
   */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (!this.#hasEnded && !this.#isTooLate(performance.now()) && this.#beforeStart !== null)
      this.#askBeforeStart(this.#beforeStart);
    if (this.#hasEnded) throw new Error('given up before it was sent');
    this.#isSent = true;
  }

  #askBeforeStart(beforeStart: () => void): void {
    try {
      beforeStart();
    } catch (error) {
      const failure =
        error instanceof TransportFailure
          ? error
          : this.#failure('cancelled', 'it must not be sent any more', error);
      this.#end(failure);
    }
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: HttpResponse['headers'],
  ): void {
    // undici itself fails a request at a 100 or 101. Other interim responses (1xx) are ignored.
    if (status < 200 || this.#hasEnded || controller !== this.#controller) return;
    this.#response = new IncomingResponse(status, headers);
    const encoding = headers['content-encoding'] && encodingOf(headers['content-encoding']);
    if (!encoding) return;
    const shown = redact(encoding, secretsOf(this.credentials), maxShownEncoding);
    this.#stopReading(
      `it has the Content-Encoding "${shown}", although bankql asks for an answer without encoding`,
    );
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#hasEnded || controller !== this.#controller) return;
    if (this.#isRead && !this.target.services.reads.arrive(this, chunk.length)) {
      this.#giveUp(this.#failure('no room', 'there is no room for the answer'));
      return;
    }
    this.#response?.add(chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (controller !== this.#controller) return;
    const now = performance.now();
    this.target.lane.gate.leave(this, true);
    // The controller retains undici's request, and shared-reads.ts may retain the call for a while.
    this.#controller = null;
    if (!this.#hasEnded && this.#response !== null) this.#end(this.#response.end(now - this.#enteredAt), now);
  }

  onResponseError(controller: Dispatcher.DispatchController | null | undefined, error: Error): void {
    // The controller is missing if the request was never started.
    if ((controller ?? null) !== this.#controller) return;
    const { lane, services } = this.target;
    lane.gate.leave(this);
    if (this.#hasEnded) return;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') {
      this.#stopReading(`the answer is longer than ${services.maxBodyBytes} bytes`);
    } else if (code === 'UND_ERR_HEADERS_OVERFLOW') {
      // The bank did answer, but undici does not pass on the status.
      this.#end(this.#failure('refused', `its headers are longer than ${maxHeaderSize} bytes`));
    } else {
      const message =
        describeTlsFailure(error) ?? (this.#isSent ? 'the connection broke' : lane.noConnection);
      this.#end(this.#failure('unavailable', message, error));
    }
  }

  /** Ends the attempt without the rest of the body. An error response is passed on as it is; a success becomes a failure. */
  #stopReading(message: string): void {
    const [controller, response] = [this.#controller, this.#response];
    const isError = response !== null && (response.status < 200 || response.status > 299);
    const now = performance.now();
    this.#end(isError ? response.end(now - this.#enteredAt) : this.#failure('refused', message), now);
    controller?.abort(new Error(message));
  }

  /** Gives up the call, whatever state it is in. */
  #giveUp(failure: TransportFailure): void {
    const controller = this.#controller;
    if (this.#isWaiting) {
      this.#isWaiting = false;
      this.target.lane.gate.cancel(this);
    }
    if (this.#hasEnded) {
      // No attempt is in progress: the call waits for its retry, or for time to parse its answer.
      this.#finish(failure);
      return;
    }
    const isSent = this.#isSent;
    this.#end(failure);
    // If the connection is still being opened, `onRequestStart` throws later, and nothing is sent.
    if (isSent) controller?.abort(failure);
  }

  /** Whether no time is left. If so, all readers give up now, because the timer of their deadlines is late. */
  #isTooLate(now: number): boolean {
    if (now < this.deadline) return false;
    for (const reader of this.readers) reader.onEnd(this.#failure('timeout', noTimeLeft));
    return true;
  }

  #failure(reason: TransportFailure['reason'], message: string, cause?: unknown): TransportFailure {
    return new TransportFailure(reason, this.#isSent, message, cause);
  }

  /** Ends an attempt: updates the breaker and the retry budget, reports the attempt, and retries or ends the call. */
  #end(result: HttpResult, now = performance.now()): void {
    this.#hasEnded = true;
    const { breaker, operation } = this.target;
    const { retries, refusedReads } = this.target.services;
    if (operation.kind === 'read' && !(result instanceof TransportFailure) && result.status === 401)
      refusedReads.note(result);
    if (breaker !== null && this.#generation !== null) breaker.record(this.#generation, result, now);
    this.#report(result, now);
    // The functions that receive the report may end the operation, and so this call.
    if (this.isOver) return;
    const isFirst = this.#isRead && this.resendCount === 0;
    if (isFirst) retries.noteFirstAttempt();
    if (!isFirst || !isTransient(result) || !this.#awaitRetry(retries)) this.#finish(result);
  }

  #report(result: HttpResult, now: number): void {
    const { onCall } = this.target.services;
    const trace = this.#trace;
    if (onCall === undefined && trace === null) return;
    const report = reportOf(this, result, now - this.#attemptBegunAt, trace);
    this.#trace = null;
    this.#begunBy?.runInAsyncScope(() => {
      onCall?.(report);
      trace?.end(report);
    });
  }

  /** Schedules the second attempt. Returns false if there is no time for it, or if the retry budget is used up. */
  #awaitRetry(retries: RetryBudget): boolean {
    const delayMs = retryDelayMs();
    if (performance.now() + delayMs >= this.deadline || !retries.take()) return false;
    this.#retryTimer = setTimeout(() => this.#again(), delayMs).unref();
    return true;
  }

  #again(): void {
    this.#retryTimer = null;
    const { reads } = this.target.services;
    reads.release(this);
    const now = performance.now();
    if (this.#isTooLate(now)) return;
    this.resendCount++;
    if (this.trackId !== null) this.trackId = randomUUID();
    this.#attempt(now);
  }

  /** Ends the call with the result of its last attempt. */
  #finish(result: HttpResult): void {
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    this.#retryTimer = null;
    const [reader] = this.readers;
    if (!this.#isRead) {
      this.isOver = true;
      this.readers = noReaders;
      this.#begunBy = null;
      reader?.receive(result);
    } else if (result instanceof TransportFailure) this.settle(null, mapTransportFailure(this, result));
    else if (result.status < 200 || result.status > 299) this.settle(null, mapErrorResponse(this, result));
    else readInSlices(this, result);
  }

  /** Ends the call: all its readers get the result or the error. */
  settle(result: ReadResult | null, error: unknown): void {
    this.isOver = true;
    this.target.services.reads.settle(this, result, error);
  }

  /** Drops the references to the operation and its credentials, because undici may keep a call that has ended. */
  release(): void {
    this.#begunBy = null;
    this.credentials = noCredentials;
    this.group = '';
    this.key = '';
    this.#headers = [];
    this.#response = null;
  }
}
