import { z } from 'zod';
import type { HeldPayment } from './protocol.ts';
import {
  type PaymentQuery,
  type PaymentRecord,
  parseJson,
  paymentRecord,
  StoreUnavailable,
  UnreadableRecord,
} from './store.ts';

/**
 * The operations on rows that a database provides for the payment store: each is atomic and durable. The protocol is
 * above it (protocol-store.ts), the same for every database.
 */
export interface StoreDriver {
  /**
   * Inserts a row, and counts it, unless there is one with its id.
   * Errors: StoreUnavailable if nothing is stored; WriteUncertain. The same applies to every write below.
   */
  insertIfAbsent(row: Row): Promise<InsertResult>;
  /**
   * Replaces the row, or deletes it (null), if it has this version.
   * Shape: whether the row is now as given.
   */
  compareAndSet(id: string, version: string, row: Row | null): Promise<boolean>;
  find(id: string): Promise<StoredRow | null>;
  /** One page of rows in the order of the query, by an index. */
  search(query: RowQuery): Promise<readonly StoredRow[]>;
  /** Which of these attempts (`id` and `trackId`) have no row. */
  findMissing(attempts: readonly Attempt[]): Promise<readonly Attempt[]>;
  /** Deletes some of the DONE and REJECTED rows that were last changed before this time. Shape: how many; 0 if none is left. */
  purge(before: number): Promise<number>;
  /** Counts rows: `expired` are those that a purge would delete; PENDING ones whose lease ends at `leaseUntil` or before are unknown. */
  count(before: number, leaseUntil: number): Promise<RowCounts>;
  readMetadata(): Promise<MetadataSnapshot>;
  /** Replaces the metadata if it has this version; `version` null: if there is no metadata. Shape: whether it did. */
  writeMetadata(
    version: string | null,
    next: { readonly version: string; readonly text: string },
  ): Promise<boolean>;
  /**
   * Resolves when every write that this process has given up on has either been stored or cannot be any more.
   * Errors: StoreUnavailable if that is not known yet.
   */
  settleWrites(): Promise<void>;
  close(): Promise<void>;
}

/** It is not known whether a write was stored. */
export class WriteUncertain extends StoreUnavailable {}

export type Attempt = Pick<PaymentRecord, 'id' | 'trackId'>;

/** A record as a driver is given it. */
export interface Row {
  readonly id: string;
  /** Unique to each write, so that two writes of one row are never taken for each other. */
  readonly version: string;
  readonly created_at: number;
  readonly held: HeldPayment;
}

/** Servers give large numbers as texts. */
const number = z.coerce.number();

export const storedRow = z.object({
  id: z.string(),
  version: z.string(),
  created_at: number,
  json: z.string(),
});
/** A record as a driver gives it back. */
export type StoredRow = Readonly<z.infer<typeof storedRow>>;

const storedRecord = paymentRecord.extend({ awaited: z.boolean() });

/** A row with its payment. Errors: UnreadableRecord. */
export function rowIn({ json, ...row }: StoredRow): Row {
  const stored = storedRecord.safeParse(parseJson(json)).data;
  if (stored?.id !== row.id) throw new UnreadableRecord(`The stored record of payment ${row.id} is damaged.`);
  const { awaited, ...record } = stored;
  return { ...row, held: { record, awaited } };
}

/** What was counted in a store, as part of a write or by itself. */
export const storeCounts = z.object({
  /** How many rows were ever inserted. */
  began: number,
  /** The newest `created_at` of a row that was ever inserted; null if there was none. */
  newestAt: number.nullable(),
  /** Changes with every change of the metadata; null if there is no metadata. */
  metadataVersion: z.string().nullable(),
  /** The clock of the store's server, in milliseconds since 1970; null if it was not asked. */
  serverTime: number.nullable(),
});
export type StoreCounts = Readonly<z.infer<typeof storeCounts>>;

export interface InsertResult extends StoreCounts {
  /** The row that was there; null if the given one was inserted. */
  readonly existing: StoredRow | null;
}

export interface MetadataSnapshot extends StoreCounts {
  readonly text: string | null;
  /** What identifies the server and its history, such as PostgreSQL's system identifier and timeline; null if unknown. */
  readonly server: string | null;
}

export const rowCounts = z.object({
  records: number,
  expired: number,
  pending: number,
  unknown: number,
  newestAt: number.nullable(),
});
type RowCounts = Readonly<z.infer<typeof rowCounts>>;

export interface RowQuery extends Omit<PaymentQuery, 'limit' | 'payer'> {
  /** Null: rows without one. */
  readonly payer?: string | null | undefined;
  readonly limit: number;
}
