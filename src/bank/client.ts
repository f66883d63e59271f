import type { SecureContext } from 'node:tls';
import type { Answer, Operation } from '../contract/operation.ts';
import { operations } from '../contract/operations.ts';
import { BankqlError } from '../errors.ts';
import { Callers } from '../load/callers.ts';
import type { ShedReason } from '../load/capacity.ts';
import type { RateLimiter } from '../load/rate-limit.ts';
import { type AnswerReports, type Drift, isEmptyResponse, plainReaderOf, readAnswer } from './answer.ts';
import { type BreakerReason, createBreakers } from './breaker.ts';
import { Call } from './call.ts';
import { requestCredentials } from './credentials.ts';
import { mapErrorResponse, mapTransportFailure, withMayBeDone } from './errors.ts';
import { type GatewayAnswers, knownGatewayAnswers } from './gateway-answers.ts';
import { accepted, type HttpResponse, TransportFailure } from './http-message.ts';
import { OperationDeadline } from './operation-deadline.ts';
import { createLanes, type PoolOptions, type PoolUsage } from './pools.ts';
import { RefusedReads } from './refused-reads.ts';
import type { CallReport, TraceCall } from './report.ts';
import { bodyOf, type CallInput, pathOf } from './request.ts';
import { RetryBudget } from './retry.ts';
import { type Admit, Reader, type ReadResult, SharedReads, type SharedReadsOptions } from './shared-reads.ts';
import type { CallServices, Target } from './target.ts';
import { UpdateQueue } from './update-queue.ts';

export interface BankOptions extends SharedReadsOptions, Omit<PoolOptions, 'origin'>, AnswerReports {
  /** The bank's address, {base_url} of the specification; every path is appended to it. */
  readonly baseUrl: string;
  /** Deadlines in milliseconds: of a read (with its second attempt) or a write, and of a payment. */
  readonly timeoutMs: number;
  readonly paymentTimeoutMs: number;
  /** Recognises the answers of gateways in front of the bank (default: without the operator's texts). */
  readonly gateways?: GatewayAnswers | undefined;
  /** The share of reads that may be tried again; 0 for none, a tenth by default. */
  readonly retryShare?: number;
  /** The share of failed and slow calls that opens an operation's breaker; 0 for no breaker. */
  readonly breakerThreshold: number;
  /** The time for which an open breaker waits before a trial call, in milliseconds. */
  readonly breakerOpenMs?: number | undefined;
  /** Counts what each caller uses. By default, the client has `Callers` of its own. */
  readonly callers?: Callers;
  /** Limits the REST calls of each caller (default: no limit). */
  readonly rateLimiter?: RateLimiter | null;
  /** The following functions report events to the log and the metrics. They must not throw. */
  readonly onCall?: (call: CallReport) => void;
  readonly traceCall?: TraceCall | undefined;
  readonly onBreaker?: (operation: string, isOpen: boolean, reason: BreakerReason | null) => void;
  /** Called when a call or an update is refused for lack of capacity. Must not throw. */
  readonly onShed?: ((why: ShedReason) => void) | undefined;
}

/** The answer to a write. */
interface BankWrite<T> extends Pick<ReadResult, 'trackId' | 'bytes' | 'status'> {
  readonly answer: T | null;
}

/** Calls the bank's REST operations. Knows nothing of GraphQL. */
export interface BankClient {
  /** Checks a call and creates its request, without sending it. Errors: BAD_USER_INPUT (an id), MISSING_CREDENTIALS. */
  prepare<T extends Operation>(operation: T, input: CallInput<T>): Call<T>;
  /**
   * Charges a payment to its caller's rate limit, before it begins. Reads and writes charge themselves, even a read that
   * needs no call.
   */
  readonly admit: Admit;
  /**
   * Sends a write or a payment once, and returns the response whatever its status. `beforeStart` is called
   * right before the request is written; if it throws, nothing is sent.
   * Errors: TransportFailure.
   */
  send(call: Call, options?: { readonly beforeStart?: (() => void) | undefined }): Promise<HttpResponse>;
  /** Makes the reads: `reads.read(call, …)`. */
  readonly reads: Pick<SharedReads, 'read'>;
  /**
   * Writes once, even if the caller disconnects, and checks the answer.
   * Shape:  the answer as in contract/, or null if the bank sent only a status; the other members as in ReadResult.
   * Errors: those of reads and of `prepare`; OUTCOME_UNKNOWN if it was sent and no usable answer came.
   */
  write<T extends Operation & { readonly kind: 'write' }>(
    operation: T,
    input: CallInput<T>,
  ): Promise<BankWrite<Answer<T>>>;
  /** Invalidates reads as this write would, without sending the write (SharedReads.invalidate). */
  invalidate(call: Call): void;
  /** Whether a read in this process got the same 401 as this response (refused-reads.ts). */
  isRefusalOfReads(response: Pick<HttpResponse, 'status' | 'headers' | 'body'>): boolean;
  /** Counts a drift that is noticed only when the answer is used. */
  noteDrift(drift: Drift): void;
  /**
   * Runs an update; the writes of one record run one after the other (update-queue.ts).
   * Errors: those of the update; BANK_TIMEOUT if it waited too long, and nothing was written.
   */
  readonly update: UpdateQueue['run'];
  /** The number of calls in progress: the reads or the writes, whichever number is greater. */
  held(): number;
  /** The connections in use by each bank operation, and the waiting calls. */
  poolUsage(): readonly PoolUsage[];
  /** Sets the client certificate and the trusted authorities of new connections. */
  useTls(secureContext: SecureContext): void;
  close(): Promise<void>;
}

const usedUp = ({ id }: Operation, retryAfter: number) =>
  new BankqlError('RATE_LIMITED', 'Your REST calls are used up for now; this call was not made.', {
    operation: id,
    retryAfter,
  });

/** An answer counts as slow if it takes this share of its deadline. */
const slowPart = 0.8;

/** The statuses with which a bank refuses a write: it changed nothing. */
const refusals: ReadonlySet<number> = new Set([401, 403, 404]);

/** Whether a write may have changed something at the bank. */
const mayHaveWritten = (result: HttpResponse | TransportFailure): boolean =>
  result instanceof TransportFailure ? result.sent : !refusals.has(result.status);

/**
 * Creates the bank's client. It has a `Target` for each bank operation, two kinds of connections, for reads and for writes
 * (pools.ts), and the reads that callers share (shared-reads.ts). Each REST call is one object (call.ts).
 */
export function createBankClient(options: BankOptions): BankClient {
  const { origin, pathname } = new URL(options.baseUrl);
  const { timeoutMs, paymentTimeoutMs, onCall, traceCall, onShed, onDrift, onUnreadable } = options;
  const slowMs = slowPart * timeoutMs;
  const breakers = createBreakers({
    threshold: options.breakerThreshold,
    openMs: options.breakerOpenMs,
    slowMs: { read: slowMs, write: slowMs, payment: slowPart * paymentTimeoutMs },
    onChange: options.onBreaker,
  });
  const lanes = createLanes({ ...options, origin });
  const { callers = new Callers(), rateLimiter = null } = options;
  async function admitCall({ operation, credentials }: Call): Promise<void> {
    const retryAfter = (await rateLimiter?.take(credentials.caller)) ?? 0;
    if (retryAfter > 0) throw usedUp(operation, retryAfter);
  }
  const admit: Admit = rateLimiter === null ? null : admitCall;
  const reads = new SharedReads(options, admit);
  const services: CallServices = {
    origin,
    prefix: pathname.replace(/\/+$/, ''),
    maxBodyBytes: options.maxBodyBytes,
    retries: new RetryBudget(options.retryShare),
    reads,
    gateways: options.gateways ?? knownGatewayAnswers,
    refusedReads: new RefusedReads(),
    ...{ onCall, traceCall, onShed, onDrift, onUnreadable },
  };
  const targets = new Map<Operation, Target>(
    Object.values<Operation>(operations).map((operation) => {
      const lane = operation.kind === 'read' ? lanes.reads : lanes.writes;
      const breaker = breakers.get(operation) ?? null;
      return [operation, { operation, lane, breaker, readPlain: plainReaderOf(operation), services }];
    }),
  );
  const updates = new UpdateQueue();

  function prepare<T extends Operation>(operation: T, input: CallInput<T>): Call<T> {
    const { ids, path = pathOf(operation, ids), body, credentials, keepDigits = false } = input;
    // `targets` maps each operation to a target of the operation's own type.
    const target = targets.get(operation) as Target<T> | undefined;
    if (target === undefined) throw new Error(`${operation.id} is no operation of the contract`);
    return new Call(
      target,
      requestCredentials(credentials, callers),
      path,
      bodyOf(operation, body),
      keepDigits,
    );
  }

  function respond(call: Call, beforeStart: (() => void) | null): Promise<HttpResponse> {
    const limitMs = call.operation.kind === 'payment' ? paymentTimeoutMs : timeoutMs;
    const now = performance.now();
    const operationDeadline = new OperationDeadline({ deadline: now + limitMs });
    return new Promise((resolve, reject) => {
      // A reader that wants the 'response' always receives an HttpResponse.
      const take = resolve as (response: unknown) => void;
      const limits = { operationDeadline };
      call.begin(
        new Reader(call, call.credentials.caller, limits, now, limitMs, 'response', take, reject),
        beforeStart,
      );
    });
  }

  const send: BankClient['send'] = async (call, { beforeStart = null } = {}) => {
    if (call.operation.kind === 'read') return respond(call, beforeStart);
    reads.endJoining(call);
    try {
      const response = await respond(call, beforeStart);
      if (mayHaveWritten(response)) reads.invalidate(call);
      return response;
    } catch (failure) {
      if (!(failure instanceof TransportFailure) || mayHaveWritten(failure)) reads.invalidate(call);
      throw failure;
    }
  };

  return {
    prepare,
    admit,
    send,
    reads,

    async write(operation, input) {
      const call = prepare(operation, input);
      const { trackId } = call;
      if (admit !== null) await admit(call);
      try {
        const response = await send(call);
        const { status, body } = response;
        const received = { trackId, status, bytes: body.length };
        if (status < 200 || status > 299 || status === accepted) throw mapErrorResponse(call, response);
        if (isEmptyResponse(response)) {
          onDrift?.({ operation: operation.id, field: 'empty-body' });
          return { answer: null, ...received };
        }
        return { answer: readAnswer(call, response, services).answer, ...received };
      } catch (error) {
        const failure = error instanceof TransportFailure ? mapTransportFailure(call, error) : error;
        throw failure instanceof BankqlError ? withMayBeDone(failure) : failure;
      }
    },

    invalidate: (call) => reads.invalidate(call),
    isRefusalOfReads: (response) => services.refusedReads.has(response),
    noteDrift: (drift) => onDrift?.(drift),
    update: (record, update) => updates.run(record, update),
    held: lanes.held,
    poolUsage: lanes.usage,
    useTls: lanes.useTls,
    close: lanes.close,
  };
}
