import type { PaymentOutcome, PaymentRecord, PaymentState } from './stored-record.ts';

export type { PaymentEvent, PaymentOutcome, PaymentRecord, PaymentState } from './stored-record.ts';

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
   */
  search(
    query: PaymentQuery,
    now: number,
    onUnreadable?: (error: UnreadableRecord) => void,
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
