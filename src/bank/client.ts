import type { SecureContext } from 'node:tls';
import type { Answer, Operation } from '../contract/operation.ts';
import { createParsedResponseCache } from './cache/parsed-response-cache.ts';
import {
  createSharedReads,
  type ReadResult,
  type SharedReadsOptions,
  type SharedSource,
} from './cache/shared-reads.ts';
import { mapErrorResponse, mapTransportFailure } from './error-mapping.ts';
import type { CancellationToken } from './http/cancellation.ts';
import type { NetworkOptions } from './http/connector.ts';
import { type HttpResponse, type HttpResult, TransportFailure } from './http/http-message.ts';
import type { PoolUsage } from './http/transport.ts';
import { type CallInput, errorDetailsOf, type PreparedCall, prepareCall } from './request.ts';
import type { CallReport } from './resilience/call-report.ts';
import type { TraceCall } from './resilience/call-trace.ts';
import type { BreakerReason } from './resilience/circuit-breaker.ts';
import { OperationDeadline } from './resilience/operation-deadline.ts';
import { createRetryingSender } from './resilience/send-with-retry.ts';
import { createUpdateQueue, type UpdateQueue } from './resilience/update-queue.ts';
import { type Drift, isEmptyResponse, parseResponse, validateResponse } from './response.ts';
import { ErrorInSuccess } from './response-content.ts';

export interface BankOptions extends SharedReadsOptions {
  /** The bank's address, {base_url} of the specification; every path is appended to it. */
  readonly baseUrl: string;
  /** The deadline of a read (its second attempt included) or a write, and that of a payment, in milliseconds. */
  readonly timeoutMs: number;
  readonly paymentTimeoutMs: number;
  readonly connectTimeoutMs: number;
  /** Calls that are under way at the same time, reads and writes each. */
  readonly connections: number;
  /** How long a call waits for its turn among them, in milliseconds. */
  readonly connectionWaitMs: number;
  /** The share of them that one REST operation may hold while others wait, above 0; 1 for all. */
  readonly operationShare: number;
  /** Whether a kept connection bears requests of one caller's identity only. */
  readonly connectionPerCaller: boolean;
  /** The longest answer, in bytes. */
  readonly maxBodyBytes: number;
  /** Straight to the bank, with Node's certificates, where it is left out. */
  readonly network?: NetworkOptions | undefined;
  /** What parsed answers that may come again byte for byte may take in memory, in bytes. */
  readonly parsedCacheBytes: number;
  /** The share of reads that may be tried again; 0 for none. */
  readonly retryShare: number;
  /** The share of failed and slow calls that opens an operation's breaker; 0 for no breaker. */
  readonly breakerThreshold: number;
  /** How long an open breaker waits before one call may try, in milliseconds. */
  readonly breakerOpenMs: number;
  /** From when on an answer to a read or a write is slow; to a payment, after as much of its own deadline. */
  readonly slowCallMs: number;
  /** These are told what happens, for the log and the metrics; they must not throw. */
  readonly onCall?: (call: CallReport) => void;
  readonly traceCall?: TraceCall | undefined;
  readonly onBreaker?: (operation: string, isOpen: boolean, reason: BreakerReason | null) => void;
  readonly onDrift?: (drift: Drift) => void;
}

/** How long a read's caller waits, and whether it may share another's call. */
export interface ReadLimits {
  /** Shared by all reads of an operation; as long as the call itself takes where it is left out. */
  readonly operationDeadline?: OperationDeadline;
  /** Joins nobody's call and takes nothing from the cache: the reads of a mutation see what it wrote. */
  readonly unshared?: boolean;
  /** Is told where the answer comes from, where that is no call of its own; it must not throw. */
  readonly onSource?: ((source: SharedSource) => void) | undefined;
}

/** What was read; it may be shared with others, and must not be changed. */
export interface BankRead<T> extends Pick<ReadResult, 'staleMs' | 'trackId' | 'status' | 'bytes'> {
  readonly answer: T;
}

/** The bank, called as the specification says. Knows nothing of GraphQL. */
export interface BankClient {
  /**
   * Checks a call and makes its request; nothing is sent.
   * Errors: BAD_USER_INPUT (an id), MISSING_CREDENTIALS.
   */
  prepare<T extends Operation>(operation: T, input: CallInput<T>): PreparedCall<T>;
  /** Sends a write or a payment, once, whatever its answer. Errors: TransportFailure. */
  send(call: PreparedCall): Promise<HttpResponse>;
  /**
   * Reads, and checks the answer.
   * Shape:  the answer as contract/ has it.
   * Errors: BankqlError with any code of the bank's and of `prepare`.
   */
  read<T extends Operation & { readonly kind: 'read' }>(
    operation: T,
    input: CallInput<T>,
    limits?: ReadLimits,
  ): Promise<BankRead<Answer<T>>>;
  /**
   * Writes, once, to its end whatever becomes of the caller, and checks the answer.
   * Shape:  the answer as contract/ has it, null where the bank answered with no more than its status; the call's Track-ID.
   * Errors: as `read`; OUTCOME_UNKNOWN where it was sent and the bank's answer is not known.
   */
  write<T extends Operation & { readonly kind: 'write' }>(
    operation: T,
    input: CallInput<T>,
  ): Promise<{ readonly answer: Answer<T> | null; readonly trackId: string | null }>;
  /** Counts what only shows where an answer is used. */
  noteDrift(drift: Drift): void;
  /**
   * Runs an update; the writes of one record take turns (resilience/update-queue.ts).
   * Errors: those of the update; OVERLOADED and BANK_TIMEOUT if its turn did not come and nothing was written.
   */
  readonly update: UpdateQueue;
  /** What each operation holds and waits for of the connections. */
  poolUsage(): readonly PoolUsage[];
  /** From now on the bank is shown these certificates, and its own are held against these. */
  useTls(secureContext: SecureContext): void;
  close(): Promise<void>;
}

export function createBankClient(options: BankOptions): BankClient {
  const { origin, pathname } = new URL(options.baseUrl);
  const prefix = pathname.replace(/\/+$/, '');
  const { breakerThreshold, breakerOpenMs, slowCallMs, onBreaker, onDrift } = options;
  const slowPaymentMs = (slowCallMs * options.paymentTimeoutMs) / options.timeoutMs;
  const sender = createRetryingSender({
    ...options,
    origin,
    breaker: {
      threshold: breakerThreshold,
      openMs: breakerOpenMs,
      slowMs: { read: slowCallMs, write: slowCallMs, payment: slowPaymentMs },
      onChange: onBreaker,
    },
  });

  const update = createUpdateQueue();
  const sharedReads = createSharedReads(options, sendRead);
  const parsedResponses = createParsedResponseCache(options.parsedCacheBytes);

  function sendRead(
    call: PreparedCall,
    deadline: number,
    cancellation: CancellationToken,
  ): Promise<ReadResult> {
    return sender.sendWithRetry(call, deadline, cancellation, toReadResult);
  }

  function toReadResult(call: PreparedCall, result: HttpResult): ReadResult {
    const response = successOf(call, result);
    const kept = call.keepDigits ? null : parsedResponses.find(call.key, response);
    const read = kept ?? parseSuccess(call, response);
    if (kept === null && !call.keepDigits) parsedResponses.note(call.key, response, read);
    const { answer, isValid, drifts } = read;
    for (const drift of drifts) onDrift?.(drift);
    const { status, body } = response;
    return { answer, isValid, trackId: call.trackId, status, bytes: body.length };
  }

  /** Errors: BankqlError, where no whole answer came or it is no success. */
  function successOf(call: PreparedCall, result: HttpResult): HttpResponse {
    if (result instanceof TransportFailure) throw mapTransportFailure(call, result);
    if (result.status < 200 || result.status > 299) throw mapErrorResponse(call, result);
    return result;
  }

  /** Errors: BANK_BAD_RESPONSE, where it is not read; BANK_REJECTED, where it tells of an error. */
  function parseSuccess<T extends Operation>(call: PreparedCall<T>, response: HttpResponse) {
    const details = { ...errorDetailsOf(call), status: response.status };
    const drifts: Drift[] = [];
    const note = (drift: Drift) => void drifts.push(drift);
    const json = parseResponse(response, details, note, call.keepDigits);
    try {
      return { ...validateResponse(call.operation, json, details, note), drifts };
    } catch (error) {
      throw error instanceof ErrorInSuccess ? mapErrorResponse(call, response) : error;
    }
  }

  async function send(call: PreparedCall): Promise<HttpResponse> {
    const isPayment = call.operation.kind === 'payment';
    sharedReads.invalidate(call);
    try {
      return await sender.sendOnce(call, isPayment ? options.paymentTimeoutMs : options.timeoutMs);
    } finally {
      sharedReads.invalidate(call);
    }
  }

  return {
    prepare: (operation, input) => prepareCall(prefix, operation, input),
    send,

    read(operation, input, { operationDeadline = new OperationDeadline(), unshared = false, onSource } = {}) {
      try {
        const call = prepareCall(prefix, operation, input);
        const fetched = sharedReads.read(call, operationDeadline, unshared, onSource);
        // What is shared is keyed by its operation, so that the answer is one of this operation's.
        return fetched as Promise<BankRead<Answer<typeof operation>>>;
      } catch (error) {
        return Promise.reject(error);
      }
    },

    async write(operation, input) {
      const call = prepareCall(prefix, operation, input);
      const response = await send(call).catch((error: unknown) => {
        throw error instanceof TransportFailure ? mapTransportFailure(call, error) : error;
      });
      const { trackId } = call;
      if (isEmptyResponse(successOf(call, response))) {
        onDrift?.({ operation: operation.id, field: 'empty-body' });
        return { answer: null, trackId };
      }
      const { answer, drifts } = parseSuccess(call, response);
      for (const drift of drifts) onDrift?.(drift);
      return { answer, trackId };
    },

    noteDrift: (drift) => onDrift?.(drift),
    update,
    poolUsage: () => sender.usage(),
    useTls: sender.useTls,
    close: () => sender.close(),
  };
}
