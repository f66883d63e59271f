import { z } from 'zod';
import type { RowCounts } from './driver.ts';

/**
 * PENDING: stored before the request leaves, and meaning "may have been sent". UNKNOWN: the bank may have
 * executed it; it is never sent again.
 */
export const paymentStates = ['PENDING', 'DONE', 'REJECTED', 'UNKNOWN'] as const;
const paymentState = z.enum(paymentStates);
export type PaymentState = z.infer<typeof paymentState>;

/** Whether nothing but the end of the retention follows this state. */
export const isFinished = (state: string): boolean => state === 'DONE' || state === 'REJECTED';

/** One change of a payment's state, for its history. Unknown fields are absent. */
const paymentEvent = z.object({
  state: paymentState,
  /** Milliseconds since 1970. */
  at: z.number(),
  /** The process that made the change; absent if a lease ended, because any process may be the first to notice this. */
  replica: z.string().optional(),
  /** The X-Request-Id of the request that made the change. */
  requestId: z.string().optional(),
  status: z.number().optional(),
  code: z.string().optional(),
  bankText: z.string().optional(),
  settledBy: z.string().optional(),
  /** The operator who recovered the payment from a log. */
  recoveredBy: z.string().optional(),
});
export type PaymentEvent = Readonly<z.infer<typeof paymentEvent>>;

/**
 * The stored record of one payment. It contains no credential. Every text is bounded. Times are milliseconds since 1970 by the
 * database's clock.
 */
export const paymentRecord = z.object({
  /** SHA-256, in hex, of the caller (Auth-Provider-Name, Auth-ID) and the idempotency key. */
  id: z.string(),
  /** The caller, hashed under the store's secret (hashCaller), so that an operator can find and group payments. */
  caller: z.string(),
  /**
   * The caller with this subscription key, hashed under the store's secret (hashPayer): the caller's own payments are listed by
   * it.
   */
  payer: z.string(),
  /** SHA-256, in hex, of the subscription key (salted), and, behind a dot, of the request without the prefix of the bank's address. */
  fingerprint: z.string(),
  state: paymentState,
  /** The REST operation's id. */
  operation: z.string(),
  /** The paying account, which is in the path. */
  bankId: z.string(),
  accountId: z.string(),
  /** The payee's account, as far as the request names it. */
  toBankId: z.string().nullable(),
  toAccountId: z.string().nullable(),
  currency: z.string().nullable(),
  /** An exact decimal. */
  amount: z.string().nullable(),
  /** The purpose of the payment, as the client describes it. */
  description: z.string().nullable(),
  /** Chosen by the client, as it was sent. */
  idempotencyKey: z.string(),
  /** The Track-ID of the one request; it also identifies the attempt that may write the outcome. */
  trackId: z.string(),
  createdAt: z.number(),
  updatedAt: z.number(),
  /** When a record that is still PENDING becomes UNKNOWN: the process that wrote it is assumed dead. */
  leaseUntil: z.number(),
  /** The bank's answer as JSON text with exact amounts; null if there was no answer. */
  answer: z.string().nullable(),
  /** The error code that the mutation answered with; null if it succeeded. */
  code: z.string().nullable(),
  /** The bank's HTTP status; null if none arrived. */
  status: z.number().nullable(),
  /** The error's message, which holds no secret; null if it succeeded. */
  message: z.string().nullable(),
  /** The bank's text for the operator, shortened and without credentials; null if the bank gave none. */
  bankText: z.string().nullable(),
  /** The person who settled an UNKNOWN record, and the reason; null if nobody did. */
  settledBy: z.string().nullable(),
  /** The X-Request-Id of the request that sent the payment; null if it had no such id. */
  requestId: z.string().nullable(),
  /** The process that sent it: its host and process id; null if not known. */
  replica: z.string().nullable(),
  /** Every change of its state, oldest first. The store appends to it. */
  history: z.array(paymentEvent).readonly(),
  /** Whether the record was found damaged, so that only the values of the store's columns are known; absent if not. */
  damaged: z.literal(true).optional(),
});
export type PaymentRecord = Readonly<z.infer<typeof paymentRecord>>;

/** Whether it is not known what a payment was, nor how it ended: its record is damaged, and no operator has settled it yet. */
export const isUnreadable = ({ damaged, state }: Pick<PaymentRecord, 'damaged' | 'state'>): boolean =>
  damaged === true && !isFinished(state);

/** How a payment ended, as far as bankql knows. */
export interface PaymentOutcome
  extends Pick<PaymentRecord, 'answer' | 'code' | 'status' | 'message' | 'bankText'> {
  readonly state: Exclude<PaymentState, 'PENDING'>;
}

/** A search for records. All given conditions have to hold. */
export interface PaymentQuery {
  /** One of these states (default: any). */
  readonly states?: readonly PaymentState[] | undefined;
  /** A prefix of the record's id. */
  readonly idPrefix?: string | undefined;
  readonly caller?: string | undefined;
  /** See PaymentRecord.payer. */
  readonly payer?: string | undefined;
  readonly trackId?: string | undefined;
  readonly requestId?: string | undefined;
  /** The account that pays or is paid. */
  readonly accountId?: string | undefined;
  /** When it began, in milliseconds since 1970: from `since` on, and before `until`. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Newest first (default: oldest first). */
  readonly newestFirst?: boolean | undefined;
  /** The results begin after this record, in the order of the search. */
  readonly after?: { readonly created_at: number; readonly id: string } | undefined;
  /** The maximum number of records (default: all, in pages). */
  readonly limit?: number | undefined;
}

/** Called with each page of a search before it is read: how many records it has, and how many characters of JSON. */
export type OnPage = (records: number, characters: number) => void;

/** How an attempt to pay ended. */
export interface AttemptOutcome {
  readonly id: string;
  /** Identifies the attempt: no other may write its outcome. */
  readonly trackId: string;
  /** The outcome; null if the attempt executed nothing. */
  readonly outcome: PaymentOutcome | null;
}

/** Where payment records are kept. Each method is atomic, also between the processes that share the store. */
export interface PaymentStore {
  /** The secret under which callers are hashed, in hexadecimal. Created with the store. */
  readonly secret: string;
  /**
   * Why payments are refused although the store answers: it may have lost records. Null otherwise. While it is not null, `begin`
   * fails with StoreUnavailable.
   */
  readonly loss: string | null;
  /**
   * Records a payment that only a log names, as UNKNOWN, so that its key is not free. Also works while `loss` is not null.
   * `recoveredBy`: the operator who read the log.
   * Shape: false if there is a record with its id.
   */
  recover(record: PaymentRecord, recoveredBy: string): Promise<boolean>;
  /** Records an operator's decision to continue without the lost records; `loss` is null from then on. */
  acceptLoss(acceptedBy: string): Promise<void>;
  /** Counts unfinished payments, for the start and the metrics. Does not wait behind searches. */
  count(): Promise<RowCounts>;
  /**
   * Stores the record, durably, unless there is one with its id. Its times become those of the database; its lease ends `leaseMs`
   * later.
   * Shape: null if it was stored; else the record that was there. A PENDING one whose lease has ended becomes UNKNOWN first;
   *        a DONE or REJECTED one whose last change is older than the store's retention counts as absent, but not in the first
   *        hour of the process, nor in the hour after a step of the database's clock.
   * Errors: StoreUnavailable: the attempt must not be sent, and if it may have been stored, it is taken back as soon as the store
   *         answers. The same applies to the methods below.
   */
  begin(record: PaymentRecord, leaseMs: number): Promise<PaymentRecord | null>;
  /**
   * Writes how an attempt ended. Only the attempt that began the payment can (`trackId`), and only while the record is PENDING,
   * or UNKNOWN because its lease ended before its answer came (not once an operator settled it). An outcome of null says that
   * this attempt executed nothing: a PENDING record is deleted, so that its key is free; one that is UNKNOWN because its lease
   * ended becomes REJECTED, since a client may know already that it may have been sent.
   * Shape: whether the record changed. If that fails, and this process began the attempt, the outcome is kept in memory: the
   *        methods here answer from there, and it is written when the store is back.
   */
  end(attempt: AttemptOutcome): Promise<boolean>;
  /** How many outcomes only this process knows. */
  readonly unwritten: number;
  /** The ends of attempts that only this process knows, also of those that executed nothing. After `close`, they are lost. */
  unconfirmed(): readonly AttemptOutcome[];
  /** Tries to write the unwritten outcomes, for at most `timeoutMs`. */
  drain(timeoutMs: number): Promise<void>;
  /** The record with this id, treated as `begin` treats it; null if there is no record. */
  find(id: string): Promise<PaymentRecord | null>;
  /** The records that match a query; a damaged one matches by its columns. Errors: those of `onPage`. */
  search(query: PaymentQuery, onPage?: OnPage): Promise<PaymentRecord[]>;
  /**
   * Settles an UNKNOWN record as an operator decides: DONE or REJECTED. Its code and message, which no longer apply,
   * are removed.
   * Shape: whether it was UNKNOWN and unsettled.
   */
  settle(id: string, state: 'DONE' | 'REJECTED', settledBy: string): Promise<boolean>;
  close(): Promise<void>;
}

/** The store cannot be reached, or did not answer in time. The message says which store and why. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** Events of a payment store that an operator should see; each becomes a line in the log. Times are in milliseconds. */
export type StoreEvent =
  /** `begin` is refused from now on: see PaymentStore.loss. */
  | { readonly kind: 'loss'; readonly loss: string }
  /** An operator accepted the loss: `begin` works again. */
  | { readonly kind: 'loss-accepted' }
  /** The database's clock was set, or differs from that of this process: no record expires for an hour. */
  | { readonly kind: 'clock-step'; readonly byMs: number }
  /** The newest record is from the future, by so much. */
  | { readonly kind: 'records-ahead'; readonly byMs: number }
  /** A notice about the database that matters to payments. */
  | { readonly kind: 'notice'; readonly text: string }
  /** The stored record of this payment is damaged, and not settled. No other payment is concerned. */
  | { readonly kind: 'record-unreadable'; readonly id: string };

export type OnStoreEvent = (event: StoreEvent) => void;

/** Undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
