import type { PaymentOutcome, PaymentRecord, PaymentState } from '../payment-record.ts';
import type { RowCounts } from './driver.ts';

/** A search for records. A record must meet all given conditions. */
export interface PaymentQuery {
  /** The states that match (default: all). */
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
  /** The time at which the payment began, in milliseconds since 1970: from `since` on, and before `until`. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Newest first (default: oldest first). */
  readonly newestFirst?: boolean | undefined;
  /** The results begin after this record, in the order of the search. */
  readonly after?: { readonly created_at: number; readonly id: string } | undefined;
  /** The maximum number of records (default: all, in pages). */
  readonly limit?: number | undefined;
}

/** Called with each page of a search, before its records are used: the number of records, and of characters of their JSON. */
export type OnPage = (records: number, characters: number) => void;

/** The outcome of an attempt to pay. */
export interface AttemptOutcome {
  readonly id: string;
  /** Identifies the attempt: no other may write its outcome. */
  readonly trackId: string;
  /** The outcome; null if the attempt executed nothing. */
  readonly outcome: PaymentOutcome | null;
}

/** A store of payment records. Each method is atomic, even between processes that share the store. */
export interface PaymentStore {
  /** The secret under which callers are hashed, in hexadecimal. Created with the store. */
  readonly secret: string;
  /**
   * Why payments are refused although the store answers: it may have lost records. Null otherwise. While it is not null, `begin`
   * fails with StoreUnavailable.
   */
  readonly loss: string | null;
  /**
   * Records a payment that only a log names, as UNKNOWN, so that its key is not free. This works even while `loss` is not
   * null. `recoveredBy`: the operator who read the log.
   * Shape: false if there is a record with its id.
   */
  recover(record: PaymentRecord, recoveredBy: string): Promise<boolean>;
  /** Records an operator's decision to continue without the lost records; `loss` is null from then on. */
  acceptLoss(acceptedBy: string): Promise<void>;
  /** Counts unfinished payments, for the start and the metrics. Does not wait behind searches. */
  count(): Promise<RowCounts>;
  /**
   * Stores the record, durably, unless there is one with its id. The database sets the record's times; its lease ends `leaseMs`
   * later.
   * Shape: null if it was stored; otherwise the record with this id that was stored before. If that one is PENDING and its lease
   *        has ended, it becomes UNKNOWN first. If it is DONE or REJECTED and its last change is older than the store's retention,
   *        it counts as absent, but not in the first hour of the process, nor in the hour after a step of the database's clock.
   * Errors: StoreUnavailable: the attempt must not be sent. If its record may have been stored, it is deleted as soon as the store
   *         answers. The methods below may also fail with StoreUnavailable.
   */
  begin(record: PaymentRecord, leaseMs: number): Promise<PaymentRecord | null>;
  /**
   * Writes how an attempt ended. Only the attempt that began the payment (`trackId`) can write it. The record has to be
   * PENDING, or UNKNOWN because its lease ended before the answer came; a record that an operator settled is not changed. A
   * null outcome means that this attempt executed nothing. A PENDING record is then deleted, so that its key is free. An
   * UNKNOWN one becomes REJECTED, because a client may have been told already that the payment may have been sent.
   * Shape: whether the record changed.
   * Errors: StoreUnavailable. If this process began the attempt, the outcome is then kept in memory: the methods here answer
   * from there, and it is written when the store is back.
   */
  end(attempt: AttemptOutcome): Promise<boolean>;
  /** The number of outcomes of stored payments that are not in the database yet. */
  readonly unwritten: number;
  /** The outcomes that are not in the database yet, including those of attempts that executed nothing. `close` loses them. */
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
  /** The newest record is this far in the future. */
  | { readonly kind: 'records-ahead'; readonly byMs: number }
  /** A notice about the database that matters to payments. */
  | { readonly kind: 'notice'; readonly text: string }
  /** The stored record of this payment is damaged, and not settled. No other payment is concerned. */
  | { readonly kind: 'record-unreadable'; readonly id: string };

export type OnStoreEvent = (event: StoreEvent) => void;

/** The value of a JSON text; undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
