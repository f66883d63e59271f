import type { BankClient } from '../bank/client.ts';
import { type Credentials, secretsOf } from '../bank/credentials.ts';
import { bankText, mapErrorResponse, mapTransportFailure } from '../bank/errors.ts';
import { type HttpResponse, TransportFailure } from '../bank/http-message.ts';
import type { PreparedCall } from '../bank/request.ts';
import { BankqlError } from '../errors.ts';
import { classifyPaymentResponse, defaultRejectedStatuses } from './classify-response.ts';
import { type BankWords, noBankWords } from './outcome-words.ts';
import { createOutcomeWriter } from './outcome-writer.ts';
import type { PaymentIntent, PaymentOperation, PaymentResult } from './payment.ts';
import { paymentDetails } from './payment-details.ts';
import {
  neverSent,
  notLogged,
  outcomeUnknown,
  recordsNotKept,
  statedFailure,
  unknownBecause,
  validateIdempotencyKey,
  withStoreErrors,
} from './payment-errors.ts';
import { createPaymentLookups } from './payment-lookups.ts';
import type { PaymentReference } from './payment-reference.ts';
import type { OwnPayment, OwnPaymentsQuery } from './payment-search.ts';
import { advance } from './protocol.ts';
import { type AuditEntry, auditEntry, payerOf, pendingRecord } from './record.ts';
import { replay } from './replay.ts';
import { type PaymentOutcome, type PaymentRecord, type PaymentStore, StoreUnavailable } from './store.ts';
import { readStoredResponse } from './stored-response.ts';
import { unwrittenEndEntry } from './unwritten-outcome.ts';

export { validateIdempotencyKey } from './payment-errors.ts';

export interface PaymentServiceOptions {
  readonly bank: BankClient;
  readonly store: PaymentStore;
  /** How long a PENDING payment is assumed to be in progress; longer than a payment's deadline. */
  readonly leaseMs: number;
  /**
   * How long the sending of a payment may take: it begins only while that fits into the lease, so that nobody is
   * told of an unknown outcome before it is over. 0 if left out.
   */
  readonly sendTimeoutMs?: number;
  readonly now?: () => number;
  /** Called at every change of a payment's state. If it throws before the payment is sent, the payment is not sent. */
  readonly audit?: (entry: AuditEntry) => void;
  /** The X-Request-Id of the request under way; null where there is none. */
  readonly requestId?: () => string | null;
  /** The name of this process in records, such as its host and process id. */
  readonly replica?: string | null;
  /** The statuses with which the bank refuses a payment; see classify-response.ts. */
  readonly rejectedStatuses?: ReadonlySet<number> | undefined;
  /** The bank's own words for how a payment ended; see outcome-words.ts. */
  readonly bankWords?: BankWords | undefined;
}

export interface PaymentService {
  /**
   * Sends a payment, at most once for the caller and the key, and completes it even if the client disconnects.
   * Errors: BAD_USER_INPUT (an id, the key, a text that is too long), MISSING_CREDENTIALS; IDEMPOTENCY_KEY_REUSED where
   *         the key was for something else; IDEMPOTENCY_IN_PROGRESS; STATE_UNAVAILABLE and OVERLOADED, where this
   *         request sent nothing but an earlier one may have, with `idempotencyKey` and `retryAfter`; what the bank
   *         refused it with, also when it is asked for again (UNAUTHENTICATED is not kept); BANK_UNAVAILABLE or
   *         BANK_TIMEOUT only where nothing was sent under this key, so that it may be tried again; OUTCOME_UNKNOWN
   *         otherwise, with `trackId` and `idempotencyKey`.
   */
  pay<T extends PaymentOperation>(operation: T, intent: PaymentIntent<T>): Promise<PaymentResult<T>>;
  /**
   * Whether there is a record of the caller and the key, so that `pay` would send nothing.
   * Errors: those of `pay` before anything is sent.
   */
  isKnown<T extends PaymentOperation>(operation: T, intent: PaymentIntent<T>): Promise<boolean>;
  /**
   * What the record of a caller's payment says; null where there is none. Sends nothing.
   * Errors: BAD_USER_INPUT (the key), MISSING_CREDENTIALS; STATE_UNAVAILABLE, also where none is found in a store that
   *         lost records.
   */
  find(credentials: Credentials, idempotencyKey: string): Promise<PaymentRecord | null>;
  /**
   * A caller's payments with the same subscription key, newest first. Sends nothing.
   * Errors: MISSING_CREDENTIALS; STATE_UNAVAILABLE, also where none is found in a store that lost records.
   */
  search(credentials: Credentials, query: OwnPaymentsQuery): Promise<readonly OwnPayment[]>;
  /**
   * The payment that a reference names; null where there is none any more, or somebody else made the reference. Sends
   * nothing.
   * Errors: MISSING_CREDENTIALS; STATE_UNAVAILABLE, also where none is found in a store that lost records.
   */
  findReferred(credentials: Credentials, reference: PaymentReference): Promise<OwnPayment | null>;
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

/** With this many unwritten outcomes no further payment begins: they are held in memory. */
const maxUnwrittenEnds = 1000;
/** How long the process's exit waits for an unavailable store. */
const drainMs = 2000;

export function createPaymentService(options: PaymentServiceOptions): PaymentService {
  const { bank, store, leaseMs, now = Date.now, audit, requestId = () => null, replica = null } = options;
  const { rejectedStatuses = defaultRejectedStatuses, bankWords = noBankWords, sendTimeoutMs = 0 } = options;
  const underWay = new Set<Promise<unknown>>();
  const ends = createOutcomeWriter(store, now);

  const track = <T>(work: Promise<T>): Promise<T> => {
    const tracked = work.finally(() => underWay.delete(tracked));
    underWay.add(tracked);
    return tracked;
  };

  /** Errors: as `pay`, before anything is sent. */
  function prepare<T extends PaymentOperation>(operation: T, { input, idempotencyKey }: PaymentIntent<T>) {
    validateIdempotencyKey(idempotencyKey);
    const call = bank.prepare(operation, input);
    const record = pendingRecord(
      {
        call,
        payer: payerOf(input.credentials),
        idempotencyKey,
        details: paymentDetails(input),
        secret: store.secret,
        requestId: requestId(),
        replica,
      },
      now(),
      leaseMs,
    );
    return { call, record };
  }

  /** The record with this id; this process may know more than the store. Errors: StoreUnavailable. */
  const lookUp = async (id: string) => (await ends.find(id)) ?? store.find(id, now());

  /** Stores a payment before it is sent; returns the record that already existed, if any. Errors: StoreUnavailable. */
  async function begin(record: PaymentRecord): Promise<PaymentRecord | null> {
    const known = await ends.find(record.id);
    if (known !== null) return known;
    if (ends.unwritten >= maxUnwrittenEnds)
      throw new StoreUnavailable(`The payment store has not taken the ends of ${ends.unwritten} payments.`);
    return store.begin(record, now());
  }

  /** For a payment that was sent: an error of the log does not keep it from being recorded. */
  function auditQuietly(entry: AuditEntry): void {
    try {
      audit?.(entry);
    } catch {
      // A full disk must not turn a known outcome into an unknown one.
    }
  }

  function logUnwrittenEnds(): void {
    for (const { record, end } of ends.all()) auditQuietly(unwrittenEndEntry(record, end));
  }

  const finish = (record: PaymentRecord, outcome: PaymentOutcome): Promise<void> => {
    const at = now();
    auditQuietly(auditEntry({ ...record, ...outcome, updatedAt: at }, outcome.state));
    return ends.write(record, { id: record.id, trackId: record.trackId, outcome, at });
  };

  /** Makes the key free again. */
  const release = (record: PaymentRecord): Promise<void> =>
    ends.write(record, { id: record.id, trackId: record.trackId, outcome: null, at: now() });

  /**
   * Without an audit line there is no payment. Errors: STATE_UNAVAILABLE if the line cannot be written; the key is free
   * again.
   */
  async function auditBeginning(record: PaymentRecord, idempotencyKey: string): Promise<void> {
    try {
      audit?.(auditEntry(record, 'PENDING'));
    } catch (cause) {
      await release(record);
      // In case the first line is written after all, this one follows it.
      auditQuietly(auditEntry({ ...record, updatedAt: now() }, 'NOT_SENT'));
      throw notLogged(idempotencyKey, cause);
    }
  }

  /**
   * This process was suspended for so long that the lease has ended, or may end while the payment is sent. Others may take
   * it for dead: a client that asks is told that the payment may have been sent, and may pay in another way. It must not
   * be sent any more.
   */
  async function leaseTooShort(record: PaymentRecord, idempotencyKey: string): Promise<BankqlError> {
    const { trackId, operation } = record;
    auditQuietly(auditEntry({ ...record, updatedAt: now() }, 'NOT_SENT'));
    await release(record);
    return new BankqlError('BANK_TIMEOUT', 'The payment took too long to begin; nothing was sent.', {
      operation,
      trackId,
      idempotencyKey,
    });
  }

  /** Sends a payment that was begun. Errors: the one that it ended with if no answer came. */
  async function send(
    call: PreparedCall,
    record: PaymentRecord,
    idempotencyKey: string,
  ): Promise<HttpResponse> {
    try {
      return await bank.send(call);
    } catch (error) {
      if (!(error instanceof TransportFailure)) throw error;
      if (!error.sent) {
        auditQuietly(auditEntry({ ...record, updatedAt: now() }, 'NOT_SENT'));
        await release(record);
        throw neverSent(mapTransportFailure(call, error), idempotencyKey);
      }
      const because = unknownBecause.noAnswer;
      const unknown = outcomeUnknown(record, idempotencyKey, because);
      const { code } = unknown;
      await finish(record, {
        state: 'UNKNOWN',
        answer: null,
        code,
        status: null,
        message: unknown.message,
        bankText: null,
      });
      throw unknown;
    }
  }

  async function pay<T extends PaymentOperation>(
    operation: T,
    intent: PaymentIntent<T>,
  ): Promise<PaymentResult<T>> {
    const { idempotencyKey, input } = intent;
    const { call, record } = prepare(operation, intent);
    const { trackId } = record;
    const earlier = await withStoreErrors(recordsNotKept(idempotencyKey), () => begin(record));
    if (earlier !== null) return replay(operation, earlier, record.fingerprint, idempotencyKey);
    await auditBeginning(record, idempotencyKey);
    const { effects } = advance(
      { record, awaited: true },
      { kind: 'sent', trackId, endsBy: now() + sendTimeoutMs },
    );
    if (!effects.includes('send it')) throw await leaseTooShort(record, idempotencyKey);

    const response = await send(call, record, idempotencyKey);
    const { status } = response;
    const { subscriptionKey } = input.credentials;
    const secrets = secretsOf({ subscriptionKey, authProviderName: null, authId: null });
    const { state, answer, isAccepted, drift } = classifyPaymentResponse(response, {
      operation,
      rejectedStatuses,
      bankWords,
      secrets,
    });
    if (state === 'DONE') {
      await finish(record, { state, answer, code: null, status, message: null, bankText: null });
      if (drift !== undefined) bank.noteDrift({ operation: operation.id, field: drift });
      return { trackId, replayed: false, answer: readStoredResponse(operation, answer, bank.noteDrift) };
    }
    const said = bankText(response, secretsOf(input.credentials)) || null;
    if (state === 'RELEASED') {
      const refusal = mapErrorResponse(call, response);
      const told = { code: refusal.code, status, bankText: said, updatedAt: now() };
      auditQuietly(auditEntry({ ...record, ...told }, 'RELEASED'));
      await release(record);
      throw refusal;
    }
    if (state === 'UNKNOWN') {
      const because = unknownBecause.answer(status, isAccepted);
      const unknown = outcomeUnknown({ ...record, status }, idempotencyKey, because);
      await finish(record, {
        state,
        answer,
        code: unknown.code,
        status,
        message: unknown.message,
        bankText: said,
      });
      throw unknown;
    }
    const refusal =
      status < 300 ? statedFailure(record, idempotencyKey, status, said) : mapErrorResponse(call, response);
    const { code, message } = refusal;
    await finish(record, { state, answer, code, status, message, bankText: said });
    throw refusal;
  }

  return {
    pay: (operation, intent) => track(pay(operation, intent)),

    async isKnown(operation, intent) {
      const { record } = prepare(operation, intent);
      const known = await withStoreErrors(recordsNotKept(intent.idempotencyKey), () => lookUp(record.id));
      return known !== null;
    },

    ...createPaymentLookups({ store, ends, now, lookUp }),

    unwrittenEnds: () => ends.unwritten,

    logUnwrittenEnds,

    async idle() {
      while (underWay.size > 0) await Promise.allSettled(underWay);
      await ends.drain(drainMs);
      logUnwrittenEnds();
    },
  };
}
