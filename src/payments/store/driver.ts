import { z } from 'zod';
import type { PaymentState } from '../payment-record.ts';
import { type PaymentQuery, StoreUnavailable } from './store.ts';

/**
 * The statements that a database provides for the payment store. Each method is one atomic, durable step; the protocol is above it,
 * the same for every database. All times are milliseconds since 1970 by the database's clock.
 */
export interface StoreDriver {
  /** The secret under which callers are hashed, in hexadecimal. It was created with the store. */
  readonly secret: string;
  /**
   * Why payments are refused although the database answers: its server is not the store's, or may have lost
   * records. Null if payments are not refused.
   */
  readonly loss: string | null;
  /** The time after a WriteUncertain within which the write may still be committed, in milliseconds. */
  readonly uncertainMs: number;
  /**
   * Inserts a row unless there is one with its id. The database sets `created_at` and `updated_at` to its own time, and
   * `lease_until` to that time plus `lease_ms`.
   * Shape:  the row with this id that is now in the store. If it has the given version, it was inserted.
   * Errors: StoreUnavailable if nothing was stored; WriteUncertain if the row may be stored. Every write below has the same errors.
   */
  insert(row: NewRow): Promise<StoredRow>;
  /**
   * Replaces the row, or deletes it (`change` is null), if it has this version. `updated_at` becomes the database's time. If
   * the change finishes the row, `updated_at` is at least that of every finished row, in case the clock was set back.
   * Shape: whether the row had this version.
   */
  compareAndSet(id: string, version: string, change: RowChange | null): Promise<boolean>;
  /**
   * Inserts the row of a payment that began at `createdAt`, unless there is one with its id. This works even while `loss` is
   * not null. Shape: whether it was inserted.
   */
  recover(row: NewRow, createdAt: number): Promise<boolean>;
  find(id: string): Promise<StoredRow | null>;
  /**
   * One page of rows in the order of the query, by an index. A PENDING row whose lease is over matches as UNKNOWN; expired rows
   * do not match. So each page is full unless it is the last.
   */
  search(query: RowQuery): Promise<readonly StoredRow[]>;
  /** Counts rows of unfinished payments. Does not wait behind searches. */
  count(): Promise<RowCounts>;
  /**
   * Deletes some of the finished rows whose last change was before this time. Shape: the number of deleted rows; 0 if
   * no such row is left.
   */
  purge(before: number): Promise<number>;
  /** Records that an operator continues with this database although it may have lost records; `loss` is null from then on. */
  acceptLoss(acceptedBy: string): Promise<void>;
  close(): Promise<void>;
}

/** A write may or may not have been committed. */
export class WriteUncertain extends StoreUnavailable {}

/** The columns that the protocol changes. */
export interface RowChange {
  /** A different text for each write, so that two writes of one row are never confused. */
  readonly version: string;
  readonly state: PaymentState;
  /** The record, and `awaited` (see HeldPayment), as JSON. The values of the columns for times replace those in the JSON. */
  readonly json: string;
}

/** A row as it is inserted. */
export interface NewRow extends RowChange {
  readonly id: string;
  readonly caller: string;
  readonly payer: string;
  readonly track_id: string;
  readonly request_id: string | null;
  readonly account_id: string;
  readonly to_account_id: string | null;
  readonly lease_ms: number;
}

/** Servers return large numbers as texts. */
const number = z.coerce.number();

export const storedRow = z.object({
  id: z.string(),
  version: z.string(),
  state: z.string(),
  caller: z.string(),
  payer: z.string(),
  track_id: z.string(),
  request_id: z.string().nullable(),
  account_id: z.string(),
  to_account_id: z.string().nullable(),
  json: z.string(),
  created_at: number,
  updated_at: number,
  lease_until: number,
  /** The database's time at which the row was read. */
  now: number,
});
/** A row as it is read. */
export type StoredRow = Readonly<z.infer<typeof storedRow>>;

export const rowCounts = z.object({
  pending: number,
  /** Rows that are UNKNOWN, or PENDING after the end of their lease. */
  unknown: number,
  /** The time at which the newest payment began; null in an empty store. */
  newestAt: number.nullable(),
  /** The time at which the last payment ended; null if no payment has ended. */
  newestEndAt: number.nullable(),
  now: number,
});
export type RowCounts = Readonly<z.infer<typeof rowCounts>>;

export interface RowQuery extends PaymentQuery {
  readonly limit: number;
  /** Finished rows whose last change was before this time have expired (default: no row has). */
  readonly expiredBefore?: number;
}
