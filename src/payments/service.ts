import type { z } from 'zod';
import type { BankClient } from '../bank/client.ts';
import { type Caller, type Credentials, secretsOf } from '../bank/credentials.ts';
import { bankText, mapErrorResponse, mapTransportFailure } from '../bank/errors.ts';
import { TransportFailure } from '../bank/http-message.ts';
import type { CallInput, PreparedCall } from '../bank/request.ts';
import type { Answer, Operation } from '../contract/operation.ts';
import { BankqlError } from '../errors.ts';
import { classifyPaymentResponse, type StrangeAnswer } from './classify.ts';
import {
  keyReused,
  neverSent,
  notLogged,
  outcomeUnknown,
  recordNotRead,
  recordsNotKept,
  recordsNotRead,
  rejectionOf,
  statedFailure,
  unknownBecause,
  validateIdempotencyKey,
  withStoreErrors,
} from './payment-errors.ts';
import { type BankWords, noBankWords } from './payment-words.ts';
import { maySend } from './protocol.ts';
import {
  type AuditEntry,
  auditEntry,
  belongsTo,
  hashCaller,
  hashPayer,
  idempotencyKeyOf,
  isSameRequest,
  openReference,
  type Payer,
  type PaymentInput,
  type PaymentReference,
  payerOf,
  paymentDetails,
  pendingRecord,
  recordId,
} from './record.ts';
import {
  type InTurns,
  type PaymentOutcome,
  type PaymentQuery,
  type PaymentRecord,
  type PaymentStore,
  StoreUnavailable,
} from './store.ts';
import { readStoredResponse } from './stored-response.ts';
import { unwrittenEndEntry } from './unwritten-ends.ts';

/** An operation that moves money or requests a transfer. */
export type PaymentOperation = Operation & { readonly kind: 'payment'; readonly body: z.ZodObject };

/** One intended payment. */
export interface PaymentIntent<T extends PaymentOperation> {
  readonly input: CallInput<T> & PaymentInput;
  /** Chosen by the client, one for each intended payment. */
  readonly idempotencyKey: string;
}

/** A payment that the bank accepted. */
interface PaymentResult<T extends PaymentOperation> {
  readonly trackId: string;
  /** True if this is the stored answer to an earlier call. */
  readonly replayed: boolean;
  /** The readable part of the bank's answer; null if no part is readable. */
  readonly answer: Answer<T> | null;
}

/** A search for a caller's own payments. */
export interface OwnPaymentsQuery
  extends Pick<PaymentQuery, 'states' | 'accountId' | 'since' | 'newestFirst' | 'after'> {
  readonly limit: number;
  readonly inTurns?: InTurns | undefined;
}

export interface OwnPayment {
  readonly record: PaymentRecord;
  /** Null if the record is older than stored keys. It is decrypted each time that it is read, which takes longer than all else. */
  readonly idempotencyKey: string | null;
}

const ownPayment = (payer: Payer, record: PaymentRecord): OwnPayment => ({
  record,
  get idempotencyKey() {
    return idempotencyKeyOf(payer, record);
  },
});

export interface PaymentServiceOptions {
  readonly bank: BankClient;
  readonly store: PaymentStore;
  /** How long a PENDING payment is assumed to be in progress (default: `leaseMarginMs` longer than `sendTimeoutMs`). */
  readonly leaseMs?: number;
  /**
   * How long the sending of a payment may take: it begins only while that fits into the lease, so that no client learns
   * of an unknown outcome before it is over (default: 0).
   */
  readonly sendTimeoutMs?: number;
  /**
   * Asked before a payment with a new key begins: once begun, it is not limited, and to replay it costs nothing.
   * Errors: those that `pay` then has; the key stays free.
   */
  readonly admit?: ((credentials: Credentials, operationId: string) => Promise<void>) | undefined;
  readonly now?: () => number;
  /** Called at every change of a payment's state. If it throws before the payment is sent, the payment is not sent. */
  readonly audit?: (entry: AuditEntry) => void;
  /** The X-Request-Id of the request under way, if there is one. */
  readonly requestId?: () => string | null | undefined;
  /** The name of this process in records, such as its host and process id. */
  readonly replica?: string | null;
  /** The bank's own words for a payment's outcome, and their paths; see payment-words.ts. */
  readonly bankWords?: BankWords | undefined;
  /** Called with each answer whose shape or texts are not known. Must not throw. `text`: the bank's, without credentials. */
  readonly onUnknownAnswer?: (answer: StrangeAnswer) => void;
}

export interface PaymentService {
  /**
   * Sends a payment, at most once for the caller and the key, and completes it even if the client disconnects.
   * Errors: BAD_USER_INPUT (an id, the key, a text that is too long), MISSING_CREDENTIALS; IDEMPOTENCY_KEY_REUSED where
   *         the key was for something else; IDEMPOTENCY_IN_PROGRESS; STATE_UNAVAILABLE and OVERLOADED, where this
   *         request sent nothing but an earlier one may have, with `idempotencyKey` and `retryAfter`; what the bank
   *         refused it with, also when it is asked for again (UNAUTHENTICATED is not kept); BANK_UNAVAILABLE or
   *         BANK_TIMEOUT only where nothing was sent under this key, so that it may be tried again; OUTCOME_UNKNOWN
   *         otherwise, with `trackId` and `idempotencyKey`; those of `admit`.
   */
  pay<T extends PaymentOperation>(operation: T, intent: PaymentIntent<T>): Promise<PaymentResult<T>>;
  /**
   * The record of a caller's payment; null if there is no record. Sends nothing.
   * Errors: BAD_USER_INPUT (the key), MISSING_CREDENTIALS; IDEMPOTENCY_KEY_REUSED if the payment was made with another
   *         subscription key, and the caller's identity is not proven; STATE_UNAVAILABLE, also if no record is found in a store
   *         that lost records.
   */
  find(credentials: Caller, idempotencyKey: string): Promise<PaymentRecord | null>;
  /**
   * A caller's payments; only those with the same subscription key, unless its identity is proven. Sends nothing.
   * Errors: MISSING_CREDENTIALS; STATE_UNAVAILABLE, also if no payment is found in a store that lost records.
   */
  search(credentials: Caller, query: OwnPaymentsQuery): Promise<readonly OwnPayment[]>;
  /**
   * The payment that a reference names; null if the payment is gone, or if somebody else made the reference. Sends
   * nothing.
   * Errors: MISSING_CREDENTIALS; STATE_UNAVAILABLE, also if no payment is found in a store that lost records.
   */
  findReferred(credentials: Caller, reference: PaymentReference): Promise<OwnPayment | null>;
  /** How many payments' outcomes only this process knows, because they could not be written to the store. */
  unwrittenEnds(): number;
  /** Logs each of them synchronously, for use when the process is about to exit. Never throws. */
  logUnwrittenEnds(): void;
  /**
   * Resolves when no payment is in progress, and the outcomes that the store could not record are in the log: until
   * then the process must not exit.
   */
  idle(): Promise<void>;
}

/** How much longer than its sending may take a payment's record is believed to be under way. */
export const leaseMarginMs = 10_000;

/** How long the process's exit waits for an unavailable store. */
const drainMs = 2000;

export function createPaymentService(options: PaymentServiceOptions): PaymentService {
  const {
    bank,
    store,
    sendTimeoutMs = 0,
    leaseMs = sendTimeoutMs + leaseMarginMs,
    admit,
    now = Date.now,
    audit,
    requestId = () => undefined,
    replica = null,
  } = options;
  const { bankWords = noBankWords, onUnknownAnswer } = options;
  const underWay = new Set<Promise<unknown>>();

  const track = <T>(work: Promise<T>): Promise<T> => {
    const tracked = work.finally(() => underWay.delete(tracked));
    underWay.add(tracked);
    return tracked;
  };

  /** For a payment that was sent: an error of the log does not keep it from being recorded. */
  function auditQuietly(entry: AuditEntry): void {
    try {
      audit?.(entry);
    } catch {
      // A full disk must not turn a known outcome into an unknown one.
    }
  }

  function logUnwrittenEnds(): void {
    for (const { record, end } of store.unwritten()) auditQuietly(unwrittenEndEntry(record, end));
  }

  /** Logs and stores how an attempt ended. `said`: what the log says of it. What the store cannot write it keeps. */
  function end(
    record: PaymentRecord,
    state: AuditEntry['state'],
    said: Partial<PaymentOutcome>,
    outcome: PaymentOutcome | null,
  ): Promise<unknown> {
    const { id, trackId } = record;
    const at = now();
    auditQuietly(auditEntry({ ...record, ...said, updatedAt: at }, state));
    return store.end({ id, trackId, outcome, at }).catch(() => {});
  }
  const finish = (record: PaymentRecord, outcome: PaymentOutcome) =>
    end(record, outcome.state, outcome, outcome);
  /** Makes the key free again: the attempt executed nothing. */
  const release = (
    record: PaymentRecord,
    state: 'NOT_SENT' | 'RELEASED',
    said: Partial<PaymentOutcome> = {},
  ) => end(record, state, said, null);

  /**
   * Without an audit line there is no payment, and a payment is sent only if that fits into its lease: this process may have
   * been suspended, and others take it for dead. A client that asks learns that the payment may have been sent, and may pay in
   * another way. Shape: null, or why it is not sent.
   */
  function mayNotSend(record: PaymentRecord, idempotencyKey: string, takenMs: number): BankqlError | null {
    const { trackId, operation } = record;
    try {
      audit?.(auditEntry(record, 'PENDING'));
    } catch (cause) {
      return notLogged(idempotencyKey)(cause);
    }
    const latest = Math.max(now(), record.createdAt + takenMs);
    if (maySend(record, latest + sendTimeoutMs)) return null;
    return new BankqlError('BANK_TIMEOUT', 'The payment took too long to begin; nothing was sent.', {
      operation,
      trackId,
      idempotencyKey,
    });
  }

  /** Records that it is not known whether the payment was executed. Shape: the error that says so. */
  async function finishUnknown(
    record: PaymentRecord,
    idempotencyKey: string,
    because: string,
    known: Pick<PaymentOutcome, 'status' | 'answer' | 'bankText'> = nothingKnown,
  ): Promise<BankqlError> {
    const error = outcomeUnknown({ ...record, status: known.status }, idempotencyKey, because);
    await finish(record, { ...known, state: 'UNKNOWN', code: error.code, message: error.message });
    return error;
  }

  /** No answer came to a payment that was begun. Errors: the one that it ended with. */
  async function failWithoutAnswer(
    error: unknown,
    call: PreparedCall,
    record: PaymentRecord,
    key: string,
  ): Promise<never> {
    if (!(error instanceof TransportFailure)) throw error;
    if (error.sent) throw await finishUnknown(record, key, unknownBecause.noAnswer);
    await release(record, 'NOT_SENT');
    throw neverSent(mapTransportFailure(call, error), key);
  }

  async function pay<T extends PaymentOperation>(
    operation: T,
    intent: PaymentIntent<T>,
  ): Promise<PaymentResult<T>> {
    const { idempotencyKey, input } = intent;
    validateIdempotencyKey(idempotencyKey);
    const call = bank.prepare(operation, input);
    const payer = payerOf(input.credentials);
    const details = paymentDetails(input);
    const inStore = <Value>(asked: Promise<Value>) => withStoreErrors(asked, recordsNotKept(idempotencyKey));
    if (admit !== undefined && (await inStore(store.find(recordId(payer, idempotencyKey), now()))) === null)
      await admit(input.credentials, operation.id);
    const createdAt = now();
    const beganAt = performance.now();
    const record = pendingRecord(call, payer, idempotencyKey, details, {
      ...{ secret: store.secret, requestId: requestId() ?? null, replica },
      ...{ createdAt, leaseUntil: createdAt + leaseMs },
    });
    const earlier = await inStore(store.begin(record, now()));
    if (earlier !== null) return replay(operation, earlier, { payer, record }, idempotencyKey);
    const refused = mayNotSend(record, idempotencyKey, performance.now() - beganAt);
    if (refused !== null) {
      // In case the first line of the log is written after all, another one follows it.
      await release(record, 'NOT_SENT');
      throw refused;
    }

    const response = await bank
      .send(call)
      .catch((error) => failWithoutAnswer(error, call, record, idempotencyKey));
    const { status } = response;
    const { subscriptionKey } = input.credentials;
    const secrets = secretsOf({ subscriptionKey, authProviderName: null, authId: null });
    const { state, answer, isAccepted, drifts, unknown } = classifyPaymentResponse(response, {
      operation,
      bankWords,
      sent: details,
      secrets,
    });
    for (const field of drifts) bank.noteDrift({ operation: operation.id, field });
    if (state === 'DONE') {
      await finish(record, { state, answer, code: null, status, message: null, bankText: null });
      const read = readStoredResponse(operation, answer, bank.noteDrift);
      return { trackId: record.trackId, replayed: false, answer: read };
    }
    const said = bankText(response, secretsOf(input.credentials)) || null;
    if (state === 'UNKNOWN') {
      const text = status < 300 ? null : said;
      if (unknown !== undefined) onUnknownAnswer?.({ operation: operation.id, status, text, ...unknown });
      const because = unknownBecause.answer(status, isAccepted);
      throw await finishUnknown(record, idempotencyKey, because, { status, answer, bankText: said });
    }
    const refusal =
      status < 300 ? statedFailure(record, idempotencyKey, status, said) : mapErrorResponse(call, response);
    const { code, message } = refusal;
    if (state === 'RELEASED') await release(record, state, { code, status, bankText: said });
    else await finish(record, { state, answer, code, status, message, bankText: said });
    throw refusal;
  }

  /**
   * The caller's own payment; null if there is no such payment. A payment that is not found may be among the records that the
   * store lost, so that "never paid" cannot be answered. Errors: StoreUnavailable.
   */
  function own(payer: Payer, record: PaymentRecord | null): OwnPayment | null {
    // A caller without a proven identity learns nothing of payments under another subscription key.
    if (record !== null && belongsTo(payer, record)) return ownPayment(payer, record);
    if (store.loss !== null) throw new StoreUnavailable(store.loss);
    return null;
  }

  return {
    pay: (operation, intent) => track(pay(operation, intent)),

    async find(credentials, idempotencyKey) {
      validateIdempotencyKey(idempotencyKey);
      const payer = payerOf(credentials);
      const id = recordId(payer, idempotencyKey);
      const asked = store.find(id, now()).then((record) => {
        const found = own(payer, record);
        // Null would say that nothing was paid under this key.
        if (found === null && record !== null) throw keyReused(idempotencyKey, { belongs: false });
        return found;
      });
      return (await withStoreErrors(asked, recordNotRead(idempotencyKey)))?.record ?? null;
    },

    async findReferred(credentials, reference) {
      const payer = payerOf(credentials);
      const { trackId } = reference;
      const id = openReference(credentials, reference);
      if (id === null && !payer.isProven) return null;
      const asked =
        id === null
          ? // It may have been made with another subscription key.
            store
              .search({ caller: hashCaller(store.secret, ...payer.caller), trackId, limit: 1 }, now())
              .then(([record = null]) => record)
          : store.find(id, now());
      // The key may have been released since, and used for another payment.
      const found = asked.then((record) => own(payer, record?.trackId === trackId ? record : null));
      return withStoreErrors(found, recordsNotRead);
    },

    async search(credentials, { inTurns, ...query }) {
      const payer = payerOf(credentials);
      const caller = hashCaller(store.secret, ...payer.caller);
      const seen = payer.isProven ? { caller } : { caller, payer: hashPayer(store.secret, payer) };
      const asked = store.search({ ...query, ...seen }, now(), undefined, inTurns).then((found) => {
        const records = found.filter((record) => belongsTo(payer, record));
        if (records.length === 0) own(payer, null);
        return records.map((record) => ownPayment(payer, record));
      });
      return withStoreErrors(asked, recordsNotRead);
    },

    unwrittenEnds: () => store.unwritten().length,

    logUnwrittenEnds,

    async idle() {
      while (underWay.size > 0) await Promise.allSettled(underWay);
      await store.drain(drainMs);
      logUnwrittenEnds();
    },
  };
}

const nothingKnown = { status: null, answer: null, bankText: null };

/** Gives the earlier payment's outcome as if it were this one's. Errors: the error that it ended with. */
function replay<T extends PaymentOperation>(
  operation: T,
  earlier: PaymentRecord,
  { payer, record }: { readonly payer: Payer; readonly record: PaymentRecord },
  idempotencyKey: string,
): PaymentResult<T> {
  const { state, trackId, answer, status, message } = earlier;
  const belongs = belongsTo(payer, earlier);
  if (!belongs || !isSameRequest(earlier, record))
    throw keyReused(idempotencyKey, { belongs, operation: operation.id });
  const details = { operation: earlier.operation, trackId, idempotencyKey };
  if (state === 'DONE') return { trackId, replayed: true, answer: readStoredResponse(operation, answer) };
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
