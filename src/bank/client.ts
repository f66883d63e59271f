import type { SecureContext } from 'node:tls';
import type { Answer, Operation } from '../contract/operation.ts';
import { BankqlError } from '../errors.ts';
import { slices } from '../load/slices.ts';
import { type BreakerReason, createBreakers, paused } from './breaker.ts';
import { mapErrorResponse, mapTransportFailure, withMayBeDone } from './errors.ts';
import type { GatewayAnswers } from './gateway-answers.ts';
import { type HttpResponse, type HttpResult, TransportFailure } from './http-message.ts';
import { type Fetch, type ReadLimits, type ReadResult, Reads, type ReadsOptions } from './reads.ts';
import { RefusedReads } from './refused-reads.ts';
import { type CallReport, reportOf, type TraceCall } from './report.ts';
import { type CallInput, errorDetailsOf, type PreparedCall, prepareCall, resend } from './request.ts';
import { type Drift, ErrorInSuccess, isEmptyResponse, parseResponse, validateResponse } from './response.ts';
import { Retries } from './retry.ts';
import { createTransport, limitedBy, type PoolUsage, type Send, type TransportOptions } from './transport.ts';
import { UpdateQueue } from './update-queue.ts';

export interface BankOptions extends ReadsOptions, Omit<TransportOptions, 'origin'> {
  /** The bank's address, {base_url} of the specification; every path is appended to it. */
  readonly baseUrl: string;
  /** The deadline of a read (its second attempt included) or a write, and that of a payment, in milliseconds. */
  readonly timeoutMs: number;
  readonly paymentTimeoutMs: number;
  /** The answers of gateways in front of the bank (default: those that are known without settings). */
  readonly gateways?: GatewayAnswers | undefined;
  /** The share of reads that may be tried again; 0 for none, a tenth by default. */
  readonly retryShare?: number;
  /** The share of failed and slow calls that opens an operation's breaker; 0 for no breaker. */
  readonly breakerThreshold: number;
  /** How long an open breaker waits before one call may try, in milliseconds. */
  readonly breakerOpenMs?: number | undefined;
  /** The following functions report events to the log and the metrics. They must not throw. */
  readonly onCall?: (call: CallReport) => void;
  readonly traceCall?: TraceCall | undefined;
  readonly onBreaker?: (operation: string, isOpen: boolean, reason: BreakerReason | null) => void;
  readonly onDrift?: (drift: Drift) => void;
  readonly onUnreadable?: (answer: UnreadableAnswer) => void;
}

/** A successful answer that cannot be read. Contains no part of the bank's text. */
export interface UnreadableAnswer {
  readonly operation: string;
  readonly trackId: string | null;
  readonly status: number;
  /** Why the answer cannot be read, in a sentence. */
  readonly failure: string;
}

/** The result of a read. It may be shared with others, and must not be changed. */
export interface BankRead<T> extends ReadResult {
  readonly answer: T;
}

/** The answer to a write. */
interface BankWrite<T> extends Pick<ReadResult, 'trackId' | 'bytes' | 'status'> {
  readonly answer: T | null;
}

/** The bank, called as the specification says. Knows nothing of GraphQL. */
export interface BankClient {
  /**
   * Checks a call and makes its request; nothing is sent.
   * Errors: BAD_USER_INPUT (an id), MISSING_CREDENTIALS.
   */
  prepare<T extends Operation>(operation: T, input: CallInput<T>): PreparedCall<T>;
  /**
   * Sends a write or a payment, once, whatever its answer. `beforeStart` is called right before the request is written, and may throw
   * to prevent that.
   * Errors: TransportFailure.
   */
  send(
    call: PreparedCall,
    options?: { readonly beforeStart?: (() => void) | undefined },
  ): Promise<HttpResponse>;
  /**
   * Reads, and checks the answer.
   * Shape:  the answer as in contract/.
   * Errors: BankqlError with any code of the bank's; MISSING_CREDENTIALS.
   */
  read<T extends Operation & { readonly kind: 'read' }>(
    operation: T,
    input: CallInput<T>,
    limits?: ReadLimits,
  ): Promise<BankRead<Answer<T>>>;
  /**
   * Writes once, even if the caller disconnects, and checks the answer.
   * Shape:  the answer as in contract/, null if the bank answered with no more than its status, and the rest as of reads.
   * Errors: as `read`; OUTCOME_UNKNOWN if it was sent and the bank's answer is not known.
   */
  write<T extends Operation & { readonly kind: 'write' }>(
    operation: T,
    input: CallInput<T>,
  ): Promise<BankWrite<Answer<T>>>;
  /** Invalidates the same reads as a write, without sending it (Reads.invalidate). */
  invalidate(call: PreparedCall): void;
  /** Whether a read got the same 401 in this process (refused-reads.ts). */
  isRefusalOfReads(response: Pick<HttpResponse, 'status' | 'headers' | 'body'>): boolean;
  /** Counts a drift that is noticed only when the answer is used. */
  noteDrift(drift: Drift): void;
  /**
   * Runs an update; the writes of one record run one after the other (update-queue.ts).
   * Errors: those of the update; BANK_TIMEOUT if it waited too long, and nothing was written.
   */
  readonly update: UpdateQueue['run'];
  /** The number of calls in progress: reads or writes, whichever are more. */
  held(): number;
  /** The connections in use by each bank operation, and the waiting calls. */
  poolUsage(): readonly PoolUsage[];
  /** Sets the client certificate, and the authorities for the bank's certificate, of new connections. */
  useTls(secureContext: SecureContext): void;
  close(): Promise<void>;
}

/** An answer is slow if it takes this part of its deadline. */
const slowPart = 0.8;
/**
 * Answers up to this length, in bytes, are parsed at once, in less than 0.1 ms. A longer answer waits for a slice of time
 * (slices.ts).
 */
const shortAnswer = 8 * 1024;
const nobodyWaits = new TransportFailure('cancelled', true, 'the caller left');

/** Errors: BankqlError, if no complete answer came, or if the answer is no success. */
function successOf(call: PreparedCall, result: HttpResult): HttpResponse {
  if (result instanceof TransportFailure) throw mapTransportFailure(call, result);
  if (result.status < 200 || result.status > 299) throw mapErrorResponse(call, result);
  return result;
}

const errorOf = (call: PreparedCall, error: unknown) =>
  error instanceof TransportFailure ? mapTransportFailure(call, error) : error;

/**
 * The answer in a successful response. Reports how it drifts, or that it cannot be read.
 * Errors: BANK_BAD_RESPONSE if it cannot be read; BANK_REJECTED if it reports an error.
 */
function parseSuccess<T extends Operation>(
  call: PreparedCall<T>,
  response: HttpResponse,
  { onDrift, onUnreadable }: BankOptions,
) {
  const { operation, trackId, keepDigits } = call;
  const { status } = response;
  const details = { ...errorDetailsOf(call), status };
  const drifts: Drift[] = [];
  const note = (drift: Drift) => void drifts.push(drift);
  try {
    const json = parseResponse(response, details, note, keepDigits);
    const checked = validateResponse(operation, json, details, note);
    for (const drift of drifts) onDrift?.(drift);
    return checked;
  } catch (error) {
    if (error instanceof ErrorInSuccess) throw mapErrorResponse(call, response);
    if (error instanceof BankqlError)
      onUnreadable?.({ operation: operation.id, trackId, status, failure: error.message });
    throw error;
  }
}

/**
 * The steps of a call:
 *
 *     reads → fetch (parse, retry) → attempt (trace, breaker, report) → gate → undici
 *
 * Reads take all steps; writes and payments begin with the attempt.
 */
export function createBankClient(options: BankOptions): BankClient {
  const { origin, pathname } = new URL(options.baseUrl);
  const prefix = pathname.replace(/\/+$/, '');
  const { timeoutMs, paymentTimeoutMs, onCall, traceCall, onDrift } = options;
  const slowMs = slowPart * timeoutMs;
  const breakers = createBreakers({
    threshold: options.breakerThreshold,
    openMs: options.breakerOpenMs,
    slowMs: { read: slowMs, write: slowMs, payment: slowPart * paymentTimeoutMs },
    onChange: options.onBreaker,
  });
  const retries = new Retries(options.retryShare);
  const transport = createTransport({ ...options, origin });
  const updates = new UpdateQueue();
  const refusedReads = new RefusedReads();

  /** Sends a call, unless its breaker is open, and reports the result. It never rejects. */
  const attempt: Send = async (call, limits) => {
    const startedAt = performance.now();
    const trace = traceCall?.(call, call.resendCount) ?? null;
    const breaker = breakers.get(call.operation);
    const generation = breaker === undefined ? 0 : breaker.tryAcquire();
    const result = generation === null ? paused() : await transport.send(call, limits);
    if (generation !== null) breaker?.record(generation, result);
    if (call.operation.kind === 'read' && !(result instanceof TransportFailure)) refusedReads.note(result);
    if (onCall === undefined && trace === null) return result;
    const report = reportOf(call, result, performance.now() - startedAt, trace);
    onCall?.(report);
    trace?.end(report);
    return result;
  };

  const fetch: Fetch = async (call, limits) => {
    let sent = call;
    let result = await attempt(sent, limits);
    if (retries.mayHelp(result) && (await retries.wait(limits))) {
      sent = resend(call);
      result = await attempt(sent, limits);
    }
    const response = successOf(sent, result);
    const bytes = response.body.length;
    if (bytes > shortAnswer && !slices.hasTime) {
      await slices.wait({ caller: call.caller.name });
      if (limits.cancellation?.isCancelled) throw mapTransportFailure(sent, nobodyWaits);
    }
    return {
      ...parseSuccess(sent, response, options),
      trackId: sent.trackId,
      status: response.status,
      bytes,
    };
  };
  const reads = new Reads(options, fetch);

  const send: BankClient['send'] = async (call, { beforeStart } = {}) => {
    const limitMs = call.operation.kind === 'payment' ? paymentTimeoutMs : timeoutMs;
    reads.invalidate(call);
    const result = await attempt(call, limitedBy(performance.now() + limitMs, beforeStart));
    reads.invalidate(call);
    if (result instanceof TransportFailure) throw result;
    return result;
  };

  return {
    prepare: (operation, input) => prepareCall(prefix, operation, input, options.gateways),
    send,

    // Reads are keyed by their request, so the answer has this operation's type.
    read(operation, input, limits) {
      try {
        const call = prepareCall(prefix, operation, input, options.gateways);
        return reads.read(call, limits).catch((error: unknown) => {
          throw errorOf(call, error);
        }) as Promise<BankRead<never>>;
      } catch (error) {
        return Promise.reject(error);
      }
    },

    async write(operation, input) {
      const call = prepareCall(prefix, operation, input, options.gateways);
      const { trackId } = call;
      try {
        const response = await send(call);
        const received = { trackId, status: response.status, bytes: response.body.length };
        if (isEmptyResponse(successOf(call, response))) {
          onDrift?.({ operation: operation.id, field: 'empty-body' });
          return { answer: null, ...received };
        }
        const { answer } = parseSuccess(call, response, options);
        return { answer, ...received };
      } catch (error) {
        const failure = errorOf(call, error);
        throw failure instanceof BankqlError ? withMayBeDone(failure) : failure;
      }
    },

    invalidate: (call) => reads.invalidate(call),
    isRefusalOfReads: (response) => refusedReads.has(response),
    noteDrift: (drift) => onDrift?.(drift),
    update: (record, update) => updates.run(record, update),
    held: transport.held,
    poolUsage: transport.usage,
    useTls: transport.useTls,
    close: transport.close,
  };
}
