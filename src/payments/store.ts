/**
 * PENDING: stored before the request leaves, and meaning "may have been sent". UNKNOWN: the bank may have
 * executed it; it is never sent again.
 */
export type PaymentState = 'PENDING' | 'DONE' | 'REJECTED' | 'UNKNOWN';

/** How a payment ended, as far as bankql knows. */
export interface PaymentOutcome {
  readonly state: Exclude<PaymentState, 'PENDING'>;
  /** The bank's answer as JSON text with exact amounts, where there was one; null otherwise. */
  readonly answer: string | null;
  /** The error code that the mutation answered with; null where it succeeded. */
  readonly code: string | null;
  /** The bank's HTTP status; null where none arrived. */
  readonly status: number | null;
  /** The error's message, which holds no secret; null where it succeeded. */
  readonly message: string | null;
}

/** What is kept of one payment: no credential, and no idempotency key in the clear. */
export interface PaymentRecord extends Omit<PaymentOutcome, 'state'> {
  /** SHA-256, in hex, of the caller (Auth-Provider-Name, Auth-ID) and the idempotency key. */
  readonly id: string;
  /** SHA-256, in hex, of the caller alone, so that an operator can group payments. */
  readonly caller: string;
  /** SHA-256, in hex, of the subscription key (salted), and, behind a dot, of all that goes over the wire. */
  readonly fingerprint: string;
  readonly state: PaymentState;
  /** The REST operation's id. */
  readonly operation: string;
  /** The account that pays: the path's. */
  readonly bankId: string;
  readonly accountId: string;
  /** The account that is paid, as far as the request names it. */
  readonly toBankId: string | null;
  readonly toAccountId: string | null;
  readonly currency: string | null;
  /** An exact decimal. */
  readonly amount: string | null;
  /** The Track-ID of the one request; it also names the attempt that may write the record's end. */
  readonly trackId: string;
  /** Milliseconds since 1970, as are the two below. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** When a record that is still PENDING becomes UNKNOWN: whoever wrote it is taken for dead. */
  readonly leaseUntil: number;
  /** Who settled an UNKNOWN record, and why; null where nobody did. */
  readonly settledBy: string | null;
}

/** What becomes of a record that is still PENDING when its lease ends; the same words in every store. */
export const leaseEnded = {
  state: 'UNKNOWN',
  code: 'OUTCOME_UNKNOWN',
  message: 'The payment may have been sent, and whoever sent it did not record how it ended.',
} as const;

/** Where payment records are kept. Each method is atomic, also between the processes that share the store. */
export interface PaymentStore {
  /**
   * Stores the record, durably, unless there is one with its id.
   * Shape: null where it was stored; else the record that was there. A PENDING one whose lease has ended is
   *        made UNKNOWN first (see leaseEnded); a DONE or REJECTED one whose last change is older than the
   *        store's retention counts as absent.
   * Errors: StoreUnavailable, as every method below.
   */
  begin(record: PaymentRecord, now: number): Promise<PaymentRecord | null>;
  /**
   * Writes how the payment ended. Only the attempt that began it can (`trackId`), and only while the record is
   * PENDING, or UNKNOWN because its lease ended before its answer came (not once somebody settled it).
   * Shape: true where it was written.
   */
  finish(id: string, trackId: string, outcome: PaymentOutcome, now: number): Promise<boolean>;
  /** Forgets a PENDING record of this attempt: there is proof that nothing was sent. True where it did. */
  reopen(id: string, trackId: string): Promise<boolean>;
  /** The record with this id, treated as `begin` treats it; null where there is none. */
  find(id: string, now: number): Promise<PaymentRecord | null>;
  /** All records in this state, oldest first. */
  list(state: PaymentState, now: number): Promise<PaymentRecord[]>;
  /**
   * An operator's word on an UNKNOWN record: DONE or REJECTED; its code and message go, which held no more.
   * Shape: true where it was UNKNOWN and unsettled.
   */
  settle(id: string, state: 'DONE' | 'REJECTED', settledBy: string, now: number): Promise<boolean>;
  close(): Promise<void>;
}

/** The store cannot be reached, or did not answer in time. The message says which store and why. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}
