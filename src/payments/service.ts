import type { z } from 'zod';
import type { BankClient } from '../bank/client.ts';
import { type Credentials, secretsOf } from '../bank/credentials.ts';
import { bankText, mapErrorResponse, mapTransportFailure } from '../bank/errors.ts';
import { type HttpResponse, TransportFailure } from '../bank/http-message.ts';
import type { CallInput } from '../bank/request.ts';
import type { Answer, Operation } from '../contract/operation.ts';
import { BankqlError } from '../errors.ts';
import { classifyPaymentResponse, type StrangeAnswer } from './answer/classify.ts';
import { type BankWords, noBankWords } from './answer/payment-words.ts';
import { readStoredResponse } from './answer/stored-response.ts';
import { type AuditEntry, auditEntry } from './audit.ts';
import { hashCaller, hashPayer, type Payer, payerOf, recordId } from './caller.ts';
import {
  type FailedPayment,
  failedPayment,
  keyIsFree,
  keyReused,
  mayNotPay,
  neverSent,
  notLogged,
  outcomeUnknown,
  recordDamaged,
  recordNotRead,
  recordsNotKept,
  recordsNotRead,
  rejectionOf,
  statedFailure,
  unknownBecause,
  validateIdempotencyKey,
  withStoreErrors,
} from './errors.ts';
import {
  belongsTo,
  hashRequest,
  isFromLog,
  isSameRequest,
  isUnreadable,
  type PaymentInput,
  type PaymentOutcome,
  type PaymentRecord,
  paymentDetails,
  pendingRecord,
  textsOf,
} from './payment-record.ts';
import { maySend, recordLost } from './protocol.ts';
import { type OnPage, type PaymentQuery, type PaymentStore, StoreUnavailable } from './store/store.ts';

/** An operation that moves money or requests a transfer. */
export type PaymentOperation = Operation & { readonly kind: 'payment'; readonly body: z.ZodObject };

/** One intended payment. */
export interface PaymentIntent<T extends PaymentOperation> {
  readonly input: CallInput<T> & PaymentInput;
  /** The idempotency key, which the client chooses for each intended payment. */
  readonly idempotencyKey: string;
}

/** A payment that the bank accepted. */
interface PaymentResult<T extends PaymentOperation> {
  readonly trackId: string;
  /** The record in the store; if it cannot be written yet, the record that will be stored. */
  readonly record: PaymentRecord;
  /** True if this is the stored answer to an earlier call. */
  readonly replayed: boolean;
  /** The readable part of the bank's answer; null if no part is readable. */
  readonly answer: Answer<T> | null;
}

/** A search for a caller's own payments. */
export interface OwnPaymentsQuery
  extends Pick<PaymentQuery, 'states' | 'accountId' | 'since' | 'newestFirst' | 'after'> {
  readonly limit: number;
  readonly onPage?: OnPage;
}

/** The payment that would be sent, for a person to confirm. */
export interface PaymentPreview
  extends Pick<
    PaymentRecord,
    'bankId' | 'accountId' | 'toBankId' | 'toAccountId' | 'currency' | 'amount' | 'description'
  > {
  readonly challengeType: string | null;
  /** The type of a request for a transaction, which is a segment of its path; null for a transfer. */
  readonly requestType: string | null;
  /** Identifies the caller (hashPayer), and the request that would be sent (hashRequest). */
  readonly payer: string;
  readonly request: string;
}

interface PaymentServiceOptions {
  readonly bank: BankClient;
  readonly store: PaymentStore;
  /** The time for which a PENDING payment is assumed to be in progress (default: `leaseMarginMs` longer than `sendTimeoutMs`). */
  readonly leaseMs?: number;
  /**
   * The deadline of a payment's call of the bank, in milliseconds (default: 0). The payment is sent only if this time fits into
   * the rest of the lease, so that the request has ended when the end of the lease makes the payment UNKNOWN.
   */
  readonly sendTimeoutMs?: number;
  /** The time for which `idle` waits for an unavailable store, in milliseconds (default: it tries once). */
  readonly storeAwayMs?: number;
  readonly now?: () => number;
  /** Called at every change of a payment's state. If it throws before the payment is sent, the payment is not sent. */
  readonly audit?: (entry: AuditEntry) => void;
  /** The X-Request-Id of the current request, if there is one. */
  readonly requestId?: () => string | null | undefined;
  /** The name of this process in records, such as its host and process id. */
  readonly replica?: string | null;
  /** The bank's own words for a payment's outcome, and their paths; see payment-words.ts. */
  readonly bankWords?: BankWords | undefined;
  /** Called with each answer that bankql does not understand. Must not throw. `text`: the bank's text, without credentials. */
  readonly onUnknownAnswer?: (answer: StrangeAnswer) => void;
  /** Called with each payment that was requested and not accepted. Must not throw. */
  readonly onFailure?: (payment: FailedPayment) => void;
}

export interface PaymentService {
  /**
   * Sends a payment, at most once for the caller and the key, and completes it even if the client disconnects.
   * Errors:
   * - BAD_USER_INPUT (an id, the key, a text that is too long), MISSING_CREDENTIALS.
   * - FORBIDDEN if the caller may not pay; nothing is recorded.
   * - IDEMPOTENCY_KEY_REUSED if the key belongs to another payment; IDEMPOTENCY_IN_PROGRESS.
   * - STATE_UNAVAILABLE and OVERLOADED, with `idempotencyKey` and `retryAfter`: this request sent nothing, but an earlier one may
   *   have.
   * - The error with which the bank refused the payment. A repeated request gets the same error, without `bankCode`.
   * - BANK_UNAVAILABLE, BANK_TIMEOUT, UNAUTHENTICATED or RATE_LIMITED, only if nothing is recorded under this key: the payment may
   *   be tried again with it.
   * - OUTCOME_UNKNOWN otherwise, with `trackId` and `idempotencyKey`.
   */
  pay<T extends PaymentOperation>(operation: T, intent: PaymentIntent<T>): Promise<PaymentResult<T>>;
  /**
   * Returns the payment that `pay` would send. Records and sends nothing. Errors: those of `pay` before it records anything;
   * STATE_UNAVAILABLE if the store lost records.
   */
  preview<T extends PaymentOperation>(operation: T, input: PaymentIntent<T>['input']): PaymentPreview;
  /**
   * The record of a caller's payment; null if there is no record. Sends nothing.
   * Errors: BAD_USER_INPUT (the key), MISSING_CREDENTIALS; IDEMPOTENCY_KEY_REUSED if the payment was made with another
   *         subscription key, and the caller's identity is not proven; OUTCOME_UNKNOWN if only a log names it;
   *         STATE_UNAVAILABLE if the store is unavailable, or has lost records and does not find it.
   */
  find(credentials: Credentials, idempotencyKey: string): Promise<PaymentRecord | null>;
  /**
   * A caller's payments. Unless its identity is proven, only those with the same subscription key. Sends nothing.
   * Errors: MISSING_CREDENTIALS; STATE_UNAVAILABLE if the store is unavailable, or has lost records and finds no
   * payment.
   */
  search(credentials: Credentials, query: OwnPaymentsQuery): Promise<readonly PaymentRecord[]>;
  /**
   * The caller's payment with this Track-ID; null for any other Track-ID. Sends nothing.
   * Errors: MISSING_CREDENTIALS; STATE_UNAVAILABLE if the store is unavailable, or has lost records and finds
   *         no payment.
   */
  findByTrackId(credentials: Credentials, trackId: string): Promise<PaymentRecord | null>;
  /** Waits until no payment is in progress, and then, for at most `storeAwayMs`, until the store has every outcome. */
  idle(): Promise<void>;
}

/** The time after its deadline for which a payment is still assumed to be in progress, in milliseconds. */
export const leaseMarginMs = 60_000;

export function createPaymentService(options: PaymentServiceOptions): PaymentService {
  const { bank, store, sendTimeoutMs = 0, leaseMs = sendTimeoutMs + leaseMarginMs, audit } = options;
  const { now = Date.now, requestId = () => undefined, replica = null, storeAwayMs = 0 } = options;
  const { bankWords = noBankWords, onUnknownAnswer, onFailure } = options;
  const underWay = new Set<Promise<unknown>>();

  /**
   * Logs and stores the outcome of an attempt. The store keeps an outcome in memory if it cannot be written. `outcome`: null
   * makes the key free again, because the attempt executed nothing. `said`: what is known of the outcome, for the log.
   */
  async function end(
    record: PaymentRecord,
    state: AuditEntry['state'],
    outcome: PaymentOutcome | null,
    said: Partial<PaymentOutcome> = outcome ?? {},
  ): Promise<void> {
    try {
      audit?.(auditEntry({ ...record, ...said, updatedAt: now() }, state));
    } catch {
      // The payment was sent, so a full disk must not turn a known outcome into an unknown one.
    }
    await store.end({ id: record.id, trackId: record.trackId, outcome }).catch(() => {});
  }

  async function pay<T extends PaymentOperation>(
    operation: T,
    { input, idempotencyKey }: PaymentIntent<T>,
  ): Promise<PaymentResult<T>> {
    validateIdempotencyKey(idempotencyKey);
    if (input.credentials.mayPay === false) throw mayNotPay(idempotencyKey);
    const call = bank.prepare(operation, input);
    const payer = payerOf(input.credentials);
    const details = paymentDetails(input);
    const inStore = <Value>(asked: Promise<Value>) => withStoreErrors(asked, recordsNotKept(idempotencyKey));
    // The rate limit refuses a payment before it begins, so that its key stays free. A replay costs nothing.
    if (bank.admit !== null && (await inStore(store.find(recordId(payer, idempotencyKey)))) === null)
      await bank.admit(call);
    const [createdAt, steadyStart] = [now(), performance.now()];
    const record = pendingRecord(call, payer, idempotencyKey, details, {
      ...{ secret: store.secret, requestId: requestId() ?? null, replica },
      ...{ createdAt, leaseUntil: createdAt + leaseMs },
    });
    const earlier = await inStore(store.begin(record, leaseMs));
    if (earlier !== null) {
      const belongs = belongsTo(payer, earlier, store.secret);
      return replay(operation, earlier, { belongs, record }, idempotencyKey);
    }
    try {
      audit?.(auditEntry(record, 'PENDING'));
    } catch (cause) {
      // Without an audit line, nothing is sent. A second line says so, in case the first line is written after all.
      await end(record, 'NOT_SENT', null);
      throw notLogged(idempotencyKey)(cause);
    }

    /** Records that the payment may have been executed. Shape: the error that says so. */
    async function endUnknown(because: string, known: Omit<PaymentOutcome, 'state' | 'code' | 'message'>) {
      const error = outcomeUnknown({ ...record, status: known.status }, idempotencyKey, because);
      const outcome = { ...known, state: 'UNKNOWN', code: error.code, message: error.message } as const;
      await end(record, 'UNKNOWN', outcome);
      return error;
    }

    /**
     * Refuses to send a payment too late. While this process was suspended, other processes may have assumed
     * that it is dead, and told the client that the payment may have been sent. The client may then have paid
     * in another way. Errors: BegunTooLate.
     */
    const beforeStart = () => {
      // The longer of the times by two clocks, because one of them may have been set back or stood still.
      const elapsed = Math.max(now() - createdAt, performance.now() - steadyStart);
      if (!maySend(record, createdAt + elapsed + sendTimeoutMs))
        throw new BegunTooLate('timeout', false, 'The payment took too long to begin; nothing was sent.');
    };
    const { subscriptionKey } = input.credentials;
    const secrets = secretsOf({ subscriptionKey, authProviderName: null, authId: null });
    const judge = (response: HttpResponse) => {
      const { status } = response;
      const { gateways } = call;
      const verdict = classifyPaymentResponse(response, {
        ...{ operation, bankWords, gateways, secrets, now: now() },
        sent: { ...details, trackId: record.trackId, createdAt, others: textsOf(input) },
        isRefusalOfReads: bank.isRefusalOfReads,
      });
      const said = bankText(response, secretsOf(input.credentials)) || null;
      const refusal =
        status < 300 ? statedFailure(record, idempotencyKey, status, said) : mapErrorResponse(call, response);
      return { ...verdict, status, bankText: said, refusal };
    };
    // A failure before the answer is classified ends the payment as well.
    const judged = await bank
      .send(call, { beforeStart })
      .then(judge)
      .catch(async (error) => {
        if (error instanceof TransportFailure && !error.sent) {
          await end(record, 'NOT_SENT', null);
          const { trackId } = record;
          const why =
            error instanceof BegunTooLate
              ? new BankqlError('BANK_TIMEOUT', error.message, { operation: operation.id, trackId })
              : mapTransportFailure(call, error);
          throw neverSent(why, idempotencyKey);
        }
        const nothing = { status: null, answer: null, bankText: null };
        const unknown = await endUnknown(unknownBecause.noAnswer, nothing);
        throw error instanceof TransportFailure ? unknown : error;
      });

    const { state, answer, status, bankText: said, refusal } = judged;
    for (const field of judged.drifts) bank.noteDrift({ operation: operation.id, field });
    if (state === 'DONE') {
      const outcome = { state, answer, code: null, status, message: null, bankText: null };
      await end(record, state, outcome);
      const read = readStoredResponse(operation, answer, bank.noteDrift);
      const done = { ...record, ...outcome, updatedAt: now() };
      return { trackId: record.trackId, record: done, replayed: false, answer: read };
    }
    if (state === 'UNKNOWN') {
      const text = status < 300 ? null : said;
      if (judged.unknown !== undefined)
        onUnknownAnswer?.({ operation: operation.id, status, text, ...judged.unknown });
      const because = unknownBecause.answer(status, judged.isAccepted);
      throw await endUnknown(because, { status, answer, bankText: said });
    }
    const { code, message } = refusal;
    if (state === 'RELEASED') {
      await end(record, state, null, { code, status, bankText: said });
      throw keyIsFree(refusal, idempotencyKey);
    }
    await end(record, state, { state, answer, code, status, message, bankText: said });
    throw refusal;
  }

  /**
   * The caller's own payment; null if there is no such payment. Errors: StoreUnavailable if none is found and the store lost
   * records, because the payment may be among them.
   */
  function own(payer: Payer, record: PaymentRecord | null): PaymentRecord | null {
    // A caller without a verified identity gets no information about payments under another subscription key.
    if (record !== null && belongsTo(payer, record, store.secret)) return record;
    if (store.loss !== null) throw new StoreUnavailable(store.loss);
    return null;
  }

  return {
    preview(operation, input) {
      if (store.loss !== null) throw recordsNotRead(new StoreUnavailable(store.loss));
      const call = bank.prepare(operation, input);
      const { ids, body }: PaymentInput = input;
      return {
        ...paymentDetails(input),
        challengeType: body.challenge_type ?? null,
        requestType: ids.TYPE ?? null,
        payer: hashPayer(store.secret, payerOf(input.credentials)),
        request: hashRequest(call),
      };
    },

    pay(operation, intent) {
      const work = pay(operation, intent)
        .catch((error) => {
          onFailure?.(failedPayment(operation, intent, error, store.loss));
          throw error;
        })
        .finally(() => underWay.delete(work));
      underWay.add(work);
      return work;
    },

    async find(credentials, idempotencyKey) {
      validateIdempotencyKey(idempotencyKey);
      const payer = payerOf(credentials);
      const asked = store.find(recordId(payer, idempotencyKey)).then((record) => {
        if (record !== null && isUnreadable(record)) throw recordDamaged(record);
        const found = own(payer, record);
        // An error is thrown, because null would mean that nothing was paid under this key.
        if (found === null && record !== null)
          throw isFromLog(record)
            ? foundInLog(record, idempotencyKey)
            : keyReused(idempotencyKey, { belongs: false });
        return found && { ...found, idempotencyKey };
      });
      return withStoreErrors(asked, recordNotRead(idempotencyKey));
    },

    async findByTrackId(credentials, trackId) {
      const payer = payerOf(credentials);
      const caller = hashCaller(store.secret, ...payer.caller);
      const found = store.search({ caller, trackId, limit: 1 }).then(([record = null]) => own(payer, record));
      return withStoreErrors(found, recordsNotRead);
    },

    async search(credentials, { onPage, ...query }) {
      const payer = payerOf(credentials);
      const caller = hashCaller(store.secret, ...payer.caller);
      const seen = payer.isProven ? { caller } : { caller, payer: hashPayer(store.secret, payer) };
      const asked = store.search({ ...query, ...seen }, onPage).then((records) => {
        if (records.length === 0) own(payer, null);
        return records;
      });
      return withStoreErrors(asked, recordsNotRead);
    },

    async idle() {
      while (underWay.size > 0) await Promise.allSettled(underWay);
      await store.drain(storeAwayMs);
    },
  };
}

/** The lease was nearly over when the request was about to be written. */
class BegunTooLate extends TransportFailure {}

/**
 * The error for a record that was made from a log, because a log does not show whether the payment is this
 * caller's.
 */
const foundInLog = (record: PaymentRecord, idempotencyKey: string) =>
  outcomeUnknown(record, idempotencyKey, recordLost.message);

/** Returns the outcome of the earlier payment. Errors: the error that the earlier payment ended with. */
function replay<T extends PaymentOperation>(
  operation: T,
  stored: PaymentRecord,
  { belongs, record }: { readonly belongs: boolean; readonly record: PaymentRecord },
  idempotencyKey: string,
): PaymentResult<T> {
  if (isUnreadable(stored)) throw recordDamaged(stored);
  // A record that was damaged, or made from a log, lacks these members.
  const earlier = { ...stored, operation: stored.operation || operation.id, idempotencyKey };
  const { state, trackId, answer, status, message } = earlier;
  if (!belongs && isFromLog(earlier)) throw foundInLog(earlier, idempotencyKey);
  if (!belongs || !isSameRequest(earlier, record))
    throw keyReused(idempotencyKey, { belongs, operation: operation.id });
  const details = { operation: earlier.operation, trackId, idempotencyKey };
  if (state === 'DONE')
    return { trackId, record: earlier, replayed: true, answer: readStoredResponse(operation, answer) };
  if (state === 'PENDING')
    throw new BankqlError(
      'IDEMPOTENCY_IN_PROGRESS',
      'The payment with this idempotency key has begun, and how it ended is not recorded yet; ask again with the same key.',
      { ...details, retryAfter: 1 },
    );
  if (state === 'REJECTED') {
    const rejection = rejectionOf(earlier);
    throw new BankqlError(
      rejection.code,
      rejection.message,
      status === null ? details : { ...details, status },
    );
  }
  throw outcomeUnknown(earlier, idempotencyKey, message ?? unknownBecause.noAnswer);
}
