import type { Answer, Operation } from '../contract/operation.ts';
import { checkAnswer, type Drift, parseAnswer } from './answer.ts';
import { type CallReport, createAttempts } from './attempts.ts';
import type { BreakerReason } from './breaker.ts';
import { type CallInput, detailsOf, type PreparedCall, prepareCall } from './call.ts';
import type { Cancel } from './cancel.ts';
import { failureOf, refusalOf } from './failure.ts';
import { createKeptAnswers } from './kept-answers.ts';
import { Patience } from './patience.ts';
import { createSharing, type Fetched, type SharingOptions } from './sharing.ts';
import { type Outcome, TransportFailure, type WireReply } from './wire.ts';

export interface BankOptions extends SharingOptions {
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
  readonly onBreaker?: (operation: string, isOpen: boolean, reason: BreakerReason | null) => void;
  readonly onDrift?: (drift: Drift) => void;
}

/** How long a read's caller waits, and whether it may share another's call. */
export interface ReadLimits {
  /** Shared by all reads of an operation; as long as the call itself takes where it is left out. */
  readonly patience?: Patience;
  /** Joins nobody's call and takes nothing from the cache: the reads of a mutation see what it wrote. */
  readonly alone?: boolean;
}

/** What was read; it may be shared with others, and must not be changed. */
export interface Read<T> extends Pick<Fetched, 'staleMs' | 'trackId'> {
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
  send(call: PreparedCall): Promise<WireReply>;
  /**
   * Reads, and checks the answer.
   * Shape:  the answer as contract/ has it.
   * Errors: BankqlError with any code of the bank's and of `prepare`.
   */
  read<T extends Operation & { readonly kind: 'read' }>(
    operation: T,
    input: CallInput<T>,
    limits?: ReadLimits,
  ): Promise<Read<Answer<T>>>;
  /**
   * Writes, once, to its end whatever becomes of the caller, and checks the answer.
   * Shape:  the answer as contract/ has it, and the call's Track-ID.
   * Errors: as `read`; OUTCOME_UNKNOWN where it was sent and the bank's answer is not known.
   */
  write<T extends Operation & { readonly kind: 'write' }>(
    operation: T,
    input: CallInput<T>,
  ): Promise<{ readonly answer: Answer<T>; readonly trackId: string | null }>;
  close(): Promise<void>;
}

/** For answers that may come again. */
const keptBytes = 32 * 1024 * 1024;

export function createBankClient(options: BankOptions): BankClient {
  const { origin, pathname } = new URL(options.baseUrl);
  const prefix = pathname.replace(/\/+$/, '');
  const { breakerThreshold, breakerOpenMs, slowCallMs, onBreaker, onDrift } = options;
  const slowPaymentMs = (slowCallMs * options.paymentTimeoutMs) / options.timeoutMs;
  const attempts = createAttempts({
    ...options,
    origin,
    breaker: {
      threshold: breakerThreshold,
      openMs: breakerOpenMs,
      slowMs: { read: slowCallMs, write: slowCallMs, payment: slowPaymentMs },
      onChange: onBreaker,
    },
  });

  const sharing = createSharing(options, fetch);
  const keptAnswers = createKeptAnswers(keptBytes);

  function fetch(call: PreparedCall, deadline: number, cancel: Cancel): Promise<Fetched> {
    return attempts.twice(call, deadline, cancel, fetchedOf);
  }

  function fetchedOf(call: PreparedCall, outcome: Outcome): Fetched {
    const reply = successOf(call, outcome);
    const kept = keptAnswers.find(call.name, reply);
    const read = kept ?? answerOf(call, reply);
    if (kept === null) keptAnswers.note(call.name, reply, read);
    const { answer, isWhole, drifts } = read;
    for (const drift of drifts) onDrift?.(drift);
    return { answer, isWhole, trackId: call.trackId, bytes: reply.body.length };
  }

  /** Errors: BankqlError, where no whole answer came or it is no success. */
  function successOf(call: PreparedCall, outcome: Outcome): WireReply {
    if (outcome instanceof TransportFailure) throw failureOf(call, outcome);
    if (outcome.status < 200 || outcome.status > 299) throw refusalOf(call, outcome);
    return outcome;
  }

  /** Errors: BANK_BAD_RESPONSE, where it is not read. */
  function answerOf<T extends Operation>(call: PreparedCall<T>, reply: WireReply) {
    const details = { ...detailsOf(call), status: reply.status };
    const drifts: Drift[] = [];
    const note = (drift: Drift) => void drifts.push(drift);
    return {
      ...checkAnswer(call.operation, parseAnswer(reply, details, note), details, note),
      drifts,
    };
  }

  async function send(call: PreparedCall): Promise<WireReply> {
    const isPayment = call.operation.kind === 'payment';
    sharing.changed(call);
    try {
      return await attempts.once(call, isPayment ? options.paymentTimeoutMs : options.timeoutMs);
    } finally {
      sharing.changed(call);
    }
  }

  return {
    prepare: (operation, input) => prepareCall(prefix, operation, input),
    send,

    read(operation, input, { patience = new Patience(), alone = false } = {}) {
      try {
        const fetched = sharing.read(prepareCall(prefix, operation, input), patience, alone);
        // What is shared is keyed by its operation, so that the answer is one of this operation's.
        return fetched as Promise<Read<Answer<typeof operation>>>;
      } catch (error) {
        return Promise.reject(error);
      }
    },

    async write(operation, input) {
      const call = prepareCall(prefix, operation, input);
      const reply = await send(call).catch((error: unknown) => {
        throw error instanceof TransportFailure ? failureOf(call, error) : error;
      });
      const { answer, drifts } = answerOf(call, successOf(call, reply));
      for (const drift of drifts) onDrift?.(drift);
      return { answer, trackId: call.trackId };
    },

    close: () => attempts.close(),
  };
}
