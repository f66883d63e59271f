import { z } from 'zod';
import type { Steps } from '../steps.ts';

/**
 * PENDING: stored before the request leaves, and meaning "may have been sent". UNKNOWN: the bank may have
 * executed it; it is never sent again.
 */
export const paymentStates = ['PENDING', 'DONE', 'REJECTED', 'UNKNOWN'] as const;
const paymentState = z.enum(paymentStates);
export type PaymentState = z.infer<typeof paymentState>;

/** One change of a payment's state, for its history. Unknown fields are absent. */
const paymentEvent = z.object({
  state: paymentState,
  /** Milliseconds since 1970. */
  at: z.number(),
  /** Which process wrote it; absent if a lease ended, since any process may be the first to notice. */
  replica: z.string().optional(),
  /** The X-Request-Id of the request that made the change. */
  requestId: z.string().optional(),
  status: z.number().optional(),
  code: z.string().optional(),
  bankText: z.string().optional(),
  settledBy: z.string().optional(),
});
export type PaymentEvent = Readonly<z.infer<typeof paymentEvent>>;

/** bankql 0.2.0 stored a line of JSON for each event. */
const eventLines = z.string().transform((text): PaymentEvent[] => {
  const lines = text.split('\n').filter((line) => line !== '');
  return z.array(paymentEvent).safeParse(lines.map(parseJson)).data ?? [];
});

/**
 * The stored record of one payment. It contains no credential, and no idempotency key in the clear. Every text is
 * bounded.
 */
export const paymentRecord = z.object({
  /** SHA-256, in hex, of the caller (Auth-Provider-Name, Auth-ID) and the idempotency key. */
  id: z.string(),
  /** The caller, hashed under the store's secret (hashCaller), so that an operator can find and group payments. */
  caller: z.string(),
  /**
   * The caller with this subscription key, hashed under the store's secret (hashPayer): the caller's own payments are listed by
   * it. Null in records of bankql 0.2.0 and older.
   */
  payer: z.string().nullable().default(null),
  /** SHA-256, in hex, of the subscription key (salted), and, behind a dot, of all that goes over the wire. */
  fingerprint: z.string(),
  state: paymentState,
  /** The REST operation's id. */
  operation: z.string(),
  /** The account that pays: the path's. */
  bankId: z.string(),
  accountId: z.string(),
  /** The payee's account, as far as the request names it. */
  toBankId: z.string().nullable(),
  toAccountId: z.string().nullable(),
  currency: z.string().nullable(),
  /** An exact decimal. */
  amount: z.string().nullable(),
  /** The purpose of the payment, as the client describes it; null in records of bankql 0.2.0 and older. */
  description: z.string().nullable().default(null),
  /** The Track-ID of the one request; it also identifies the attempt that may write the outcome. */
  trackId: z.string(),
  /** Milliseconds since 1970, as are the two below. */
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
  /** What the bank said, bounded and without credentials, for the operator; null if it said nothing. */
  bankText: z.string().nullable(),
  /** The person who settled an UNKNOWN record, and the reason; null if nobody did. */
  settledBy: z.string().nullable(),
  /** The X-Request-Id of the request that sent the payment; null if it had no such id. */
  requestId: z.string().nullable(),
  /** The process that sent it: its host and process id; null if not known. */
  replica: z.string().nullable(),
  /** The idempotency key, which only the caller with the same subscription key can open (openKey); null in older records. */
  sealedKey: z.string().nullable(),
  /** Every change of its state, oldest first. The store appends to it. */
  history: z.union([z.array(paymentEvent), eventLines]),
});
export interface PaymentRecord extends Readonly<Omit<z.infer<typeof paymentRecord>, 'history'>> {
  readonly history: readonly PaymentEvent[];
}

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
  /** See PaymentRecord.payer. Records of bankql 0.2.0, which have none, match too: compare their fingerprints. */
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
  /** The record that the result follows in that order. */
  readonly after?: { readonly created_at: number; readonly id: string } | undefined;
  /** How many at most (default: all). */
  readonly limit?: number | undefined;
}

/**
 * Does work over so many records, which are so many characters of JSON and are kept, and may wait between its steps.
 * Errors: its own; those of the work.
 */
export type InTurns = <Result>(records: number, characters: number, steps: Steps<Result>) => Promise<Result>;

/** How an attempt to pay ended. */
export interface AttemptOutcome {
  readonly id: string;
  /** Identifies the attempt: no other may write its outcome. */
  readonly trackId: string;
  /** Null if it executed nothing. */
  readonly outcome: PaymentOutcome | null;
  /** When it ended, in milliseconds since 1970. */
  readonly at: number;
}

/** A summary of a store's contents, for the start, the metrics and the operator. */
export interface StoreStatus {
  readonly records: number;
  readonly pending: number;
  readonly unknown: number;
  /** When the newest record began, in milliseconds since 1970; null if there is no record. */
  readonly newestAt: number | null;
}

/** A stored record that this bankql cannot read. It concerns only this payment. */
export class UnreadableRecord extends Error {
  override readonly name = 'UnreadableRecord';
}

/** Where payment records are kept. Each method is atomic, also between the processes that share the store. */
export interface PaymentStore {
  /** The secret under which callers are hashed, in hexadecimal. Created with the store. */
  readonly secret: string;
  /**
   * Why payments are refused although the store answers: records are missing that were written to it. Null if none is
   * missing. While it is not null, `begin` fails with StoreUnavailable.
   */
  readonly loss: string | null;
  /** Records an operator's decision to continue without the lost records; `loss` is null from then on. */
  acceptLoss(acceptedBy: string, now: number): Promise<void>;
  status(now: number): Promise<StoreStatus>;
  /**
   * Stores the record, durably, unless there is one with its id.
   * Shape: null if it was stored; else the record that was there. A PENDING one whose lease has ended becomes UNKNOWN first;
   *        a DONE or REJECTED one whose last change is older than the store's retention counts as absent.
   * Errors: StoreUnavailable: the attempt must not be sent, and what may be stored of it is taken back as soon as the store
   *         answers. UnreadableRecord. The same applies to the methods below.
   */
  begin(record: PaymentRecord, now: number): Promise<PaymentRecord | null>;
  /**
   * Writes how an attempt ended. Only the attempt that began the payment can (`trackId`), and only while the record is PENDING,
   * or UNKNOWN because its lease ended before its answer came (not once an operator settled it). An outcome of null says that
   * this attempt executed nothing: a PENDING record is deleted, so that its key is free; one that is UNKNOWN because its lease
   * ended becomes REJECTED, since a client may know already that it may have been sent.
   * Shape: whether the record changed. If that fails, or the store has lost the record, and this process began the attempt, the
   *        end is kept in memory: the methods here tell it, and it is written when the store is back.
   */
  end(attempt: AttemptOutcome): Promise<boolean>;
  /** The ends that only this process knows, and the records as they will be then. */
  unwritten(): readonly { readonly end: AttemptOutcome; readonly record: PaymentRecord }[];
  /** Tries to write them once more, for `timeoutMs` at most. */
  drain(timeoutMs: number): Promise<void>;
  /** The record with this id, treated as `begin` treats it; null if there is no record. */
  find(id: string, now: number): Promise<PaymentRecord | null>;
  /**
   * The records that match a query. Queries by state, by caller and by id use an index.
   * Errors: UnreadableRecord only if `onUnreadable` is left out; otherwise it gets the error, and the record is skipped.
   *         Those of `inTurns`, which reads each page of records (default: at once).
   */
  search(
    query: PaymentQuery,
    now: number,
    onUnreadable?: (error: UnreadableRecord) => void,
    inTurns?: InTurns,
  ): Promise<PaymentRecord[]>;
  /**
   * Settles an UNKNOWN record as an operator decides: DONE or REJECTED. Its code and message, which no longer apply,
   * are removed.
   * Shape: whether it was UNKNOWN and unsettled.
   */
  settle(id: string, state: 'DONE' | 'REJECTED', settledBy: string, now: number): Promise<boolean>;
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
  /** More than a tenth of all records are older than the retention. `deleted` of these `expired` ones are gone now. */
  | { readonly kind: 'purge'; readonly deleted: number; readonly expired: number; readonly records: number }
  /**
   * The clocks of the store's server and of this process differ, or this process's clock jumped ahead: no record expires until they
   * agree.
   */
  | { readonly kind: 'clocks-differ'; readonly byMs: number }
  | { readonly kind: 'clocks-agree' }
  /**
   * The high-water mark could not be written to this file. Payments continue; a loss would be detected less exactly.
   */
  | { readonly kind: 'mark-failed'; readonly file: string; readonly reason: string }
  | { readonly kind: 'mark-written-again'; readonly file: string }
  /** The stored record of this payment is damaged. Each answer that needs it fails; no other payment is concerned. */
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
