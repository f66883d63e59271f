import { setTimeout as delay } from 'node:timers/promises';
import { checkAnswer, parseAnswer } from '../bank/answer.ts';
import type { CallInput, PreparedCall } from '../bank/call.ts';
import type { BankClient } from '../bank/client.ts';
import type { Credentials } from '../bank/credentials.ts';
import { BankqlError, badUserInput, isErrorCode } from '../bank/error.ts';
import { failureOf, refusalOf } from '../bank/failure.ts';
import { TransportFailure, type WireReply } from '../bank/wire.ts';
import { parseExactJson } from '../contract/exact-json.ts';
import type { Answer, Operation } from '../contract/operation.ts';
import type { AccountRefBody, MoneyBody } from '../contract/shapes.ts';
import { type AuditEntry, auditEntry, isOf, payerOf, pendingRecord, recordId } from './payment-record.ts';
import { type PaymentOutcome, type PaymentRecord, type PaymentStore, StoreUnavailable } from './store.ts';

/** An operation that moves money, or asks for it. */
export type PaymentOperation = Operation & { readonly kind: 'payment' };

/** One intended payment. */
export interface Intent<T extends PaymentOperation> {
  readonly input: CallInput<T>;
  /** Chosen by the client, one for each intended payment. */
  readonly idempotencyKey: string;
  /** What the record says of it: who pays (the path's account), who is paid, and how much. */
  readonly from: { readonly bankId: string; readonly accountId: string };
  readonly to: AccountRefBody;
  readonly value: MoneyBody | undefined;
}

/** A payment that the bank accepted. */
export interface Paid<T extends PaymentOperation> {
  readonly trackId: string;
  /** True where this is the stored answer to an earlier call. */
  readonly replayed: boolean;
  /** The bank's answer; null where it gave none. */
  readonly answer: Answer<T> | null;
}

export interface PaymentsOptions {
  readonly bank: BankClient;
  readonly store: PaymentStore;
  /** How long a PENDING record is believed to be under way; longer than a payment's deadline. */
  readonly leaseMs: number;
  readonly now?: () => number;
  /** Is told of every change of a payment's state. Where it throws before anything is sent, nothing is. */
  readonly audit?: (entry: AuditEntry) => void;
}

export interface Payments {
  /**
   * Sends a payment, at most once for the caller and the key, and runs to its end whatever becomes of the client.
   * Errors: BAD_USER_INPUT (an id, the key), MISSING_CREDENTIALS; IDEMPOTENCY_KEY_REUSED where the key was for
   *         something else; IDEMPOTENCY_IN_PROGRESS; STATE_UNAVAILABLE (nothing was sent); what the bank refused it
   *         with, also when it is asked for again; BANK_UNAVAILABLE or BANK_TIMEOUT only where nothing was sent, so
   *         that the same key may be tried again; OUTCOME_UNKNOWN otherwise, with `trackId` and `idempotencyKey`.
   */
  pay<T extends PaymentOperation>(operation: T, intent: Intent<T>): Promise<Paid<T>>;
  /**
   * What the record of a caller's payment says; null where there is none. Sends nothing.
   * Errors: BAD_USER_INPUT (the key), MISSING_CREDENTIALS, STATE_UNAVAILABLE.
   */
  find(credentials: Credentials, idempotencyKey: string): Promise<PaymentRecord | null>;
  /** Resolves when no payment is under way: until then the process must not end. */
  idle(): Promise<void>;
}

/** Statuses with which the bank says that it did not do it. Any other failure leaves that open. */
const rejected: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 413, 415, 422]);

export function createPayments({ bank, store, leaseMs, now = Date.now, audit }: PaymentsOptions): Payments {
  const underWay = new Set<Promise<unknown>>();

  const track = <T>(work: Promise<T>): Promise<T> => {
    const tracked = work.finally(() => underWay.delete(tracked));
    underWay.add(tracked);
    return tracked;
  };

  /**
   * Writes a payment's end. Where the store cannot, the caller is told what is true all the same, and it is tried
   * again for a while; after that the record stays PENDING, and becomes UNKNOWN when its lease ends.
   */
  async function write(change: () => Promise<boolean>): Promise<void> {
    try {
      await change();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      track(writeLater(change)).catch(() => {});
    }
  }

  /** No line, no payment. Errors: STATE_UNAVAILABLE, where the line cannot be written; the key is free again. */
  async function announce(record: PaymentRecord): Promise<void> {
    try {
      audit?.(auditEntry(record, 'PENDING'));
    } catch (cause) {
      await write(() => store.reopen(record.id, record.trackId));
      throw new BankqlError(
        'STATE_UNAVAILABLE',
        'Payments are refused while they cannot be logged; nothing was sent.',
        {},
        { cause },
      );
    }
  }

  /** What was sent is recorded whatever becomes of the log. */
  function tell(entry: AuditEntry): void {
    try {
      audit?.(entry);
    } catch {
      // A full disk must not turn a payment's end into an unknown one.
    }
  }

  /**
   * This process slept for so long that others may take it for dead. Who asked meanwhile was told that the payment may
   * have been sent, and may have paid in another way: it is not sent any more.
   */
  async function tooLate(record: PaymentRecord, idempotencyKey: string): Promise<BankqlError> {
    const nobodyAsked = await kept(() => store.reopen(record.id, record.trackId));
    if (!nobodyAsked) return outcomeUnknown(record, idempotencyKey, null);
    tell(auditEntry({ ...record, updatedAt: now() }, 'NOT_SENT'));
    return new BankqlError('BANK_TIMEOUT', 'The payment took too long to begin; nothing was sent.', {
      operation: record.operation,
      trackId: record.trackId,
      idempotencyKey,
    });
  }

  async function pay<T extends PaymentOperation>(operation: T, intent: Intent<T>): Promise<Paid<T>> {
    const { idempotencyKey, input } = intent;
    checkKey(idempotencyKey);
    const call = bank.prepare(operation, input);
    const payer = payerOf(input.credentials);
    const record = pendingRecord({ call, payer, ...intent }, now(), leaseMs);
    const earlier = await kept(() => store.begin(record, now()));
    if (earlier !== null) return replay(operation, earlier, record.fingerprint, idempotencyKey);
    await announce(record);
    if (now() >= record.leaseUntil) throw await tooLate(record, idempotencyKey);

    const conclude = (outcome: PaymentOutcome) => {
      const updatedAt = now();
      tell(auditEntry({ ...record, ...outcome, updatedAt }, outcome.state));
      return write(() => store.finish(record.id, record.trackId, outcome, updatedAt));
    };

    let reply: WireReply;
    try {
      reply = await bank.send(call);
    } catch (error) {
      if (!(error instanceof TransportFailure)) throw error;
      if (!error.sent) {
        tell(auditEntry({ ...record, updatedAt: now() }, 'NOT_SENT'));
        await write(() => store.reopen(record.id, record.trackId));
        throw failureOf(call, error);
      }
      const unknown = outcomeUnknown(record, idempotencyKey, null);
      await conclude(failed('UNKNOWN', unknown, null));
      throw unknown;
    }

    const { status } = reply;
    if (status >= 200 && status < 300) {
      const answer = answerText(call, reply);
      if (answer !== undefined) {
        await conclude({ state: 'DONE', answer, code: null, status, message: null, bankText: null });
        return { trackId: record.trackId, replayed: false, answer: readAnswer(operation, answer) };
      }
    } else if (rejected.has(status)) {
      const refusal = refusalOf(call, reply);
      await conclude(failed('REJECTED', refusal, status));
      throw refusal;
    }
    const unknown = outcomeUnknown(record, idempotencyKey, status);
    await conclude(failed('UNKNOWN', unknown, status));
    throw unknown;
  }

  return {
    pay: (operation, intent) => track(pay(operation, intent)),

    async idle() {
      while (underWay.size > 0) await Promise.allSettled(underWay);
    },

    async find(credentials, idempotencyKey) {
      checkKey(idempotencyKey);
      const payer = payerOf(credentials);
      const record = await kept(() => store.find(recordId(payer, idempotencyKey), now()));
      // Whoever has not the same subscription key is told nothing: nobody else has verified who asks.
      return record !== null && isOf(payer, record) ? record : null;
    },
  };
}

/** The earlier payment's end, once more, as if it were this one's. */
function replay<T extends PaymentOperation>(
  operation: T,
  earlier: PaymentRecord,
  fingerprint: string,
  idempotencyKey: string,
): Paid<T> {
  const details = { operation: earlier.operation, trackId: earlier.trackId, idempotencyKey };
  if (earlier.fingerprint !== fingerprint) {
    throw new BankqlError(
      'IDEMPOTENCY_KEY_REUSED',
      'This idempotency key was used for another payment. Nothing was sent: use a new key for each intended payment.',
      { operation: operation.id, idempotencyKey },
    );
  }
  switch (earlier.state) {
    case 'DONE':
      return {
        trackId: earlier.trackId,
        replayed: true,
        answer: earlier.answer === null ? null : readAnswer(operation, earlier.answer),
      };
    case 'PENDING':
      throw new BankqlError(
        'IDEMPOTENCY_IN_PROGRESS',
        'The payment with this idempotency key is under way; ask for its end with the same key.',
        { ...details, retryAfter: 1 },
      );
    case 'REJECTED':
      throw new BankqlError(
        isErrorCode(earlier.code) ? earlier.code : 'BANK_REJECTED',
        earlier.message ?? `The bank rejected ${operation.id}.`,
        earlier.status === null ? details : { ...details, status: earlier.status },
      );
    case 'UNKNOWN':
      throw outcomeUnknown(earlier, idempotencyKey, earlier.status);
  }
}

/** The text of an answer that says "done"; null where it is empty; undefined where it does not say so. */
function answerText(call: PreparedCall<PaymentOperation>, reply: WireReply): string | null | undefined {
  const { operation } = call;
  if (operation.answer === null && reply.body.length === 0) return null;
  try {
    checkAnswer(operation, parseAnswer(reply, { operation: operation.id }), { operation: operation.id });
    return reply.body.toString('utf8');
  } catch {
    return undefined;
  }
}

const readAnswer = <T extends PaymentOperation>(operation: T, text: string | null): Answer<T> | null =>
  text === null ? null : checkAnswer(operation, parseExactJson(text), { operation: operation.id }).answer;

const failed = (
  state: 'REJECTED' | 'UNKNOWN',
  error: BankqlError,
  status: number | null,
): PaymentOutcome => ({
  state,
  answer: null,
  code: error.code,
  status,
  message: error.message,
  bankText: null,
});

const outcomeUnknown = (record: PaymentRecord, idempotencyKey: string, status: number | null) =>
  new BankqlError(
    'OUTCOME_UNKNOWN',
    `${record.operation} was sent and may have been executed, but the bank's answer does not say so. It is never sent again: ask the bank, or its operator, with the Track-ID.`,
    {
      operation: record.operation,
      trackId: record.trackId,
      idempotencyKey,
      ...(status === null ? {} : { status }),
    },
  );

/** Errors: BAD_USER_INPUT for an idempotency key that is none; nothing is sent for it. */
export function checkKey(idempotencyKey: string): void {
  if (!/^[ -~]{1,255}$/.test(idempotencyKey)) {
    throw badUserInput(
      'idempotencyKey has to be 1 to 255 printable ASCII characters, chosen anew for each intended payment.',
    );
  }
}

/** A store's failure before anything was sent. */
async function kept<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof StoreUnavailable)) throw cause;
    throw new BankqlError(
      'STATE_UNAVAILABLE',
      'Payments are refused while their records cannot be kept; nothing was sent. Reads go on.',
      {},
      { cause },
    );
  }
}

/** How long each further attempt to write a payment's end waits, in milliseconds. */
const writeAgainAfter = [250, 1000, 4000];

async function writeLater(change: () => Promise<boolean>): Promise<void> {
  for (const wait of writeAgainAfter) {
    await delay(wait);
    const written = await change().then(
      () => true,
      () => false,
    );
    if (written) return;
  }
}
