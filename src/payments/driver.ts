import { z } from 'zod';
import type { HeldPayment } from './protocol.ts';
import {
  type PaymentQuery,
  type PaymentRecord,
  parseJson,
  paymentRecord,
  type StoreStatus,
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

/** A record as a driver is given it, and as memory gives it back. */
export interface Row {
  readonly id: string;
  /** Unique to each write, so that two writes of one row are never taken for each other. */
  readonly version: string;
  readonly created_at: number;
  readonly held: HeldPayment;
}

/** A record as a database gives it back. */
export interface StoredText extends Omit<Row, 'held'> {
  readonly json: string;
}

export type StoredRow = Row | StoredText;

/** A row as a database stores it: the record's JSON, the version of this change, and the columns that it is searched by. */
export const columnsOf = ({ id, version, held: { record, awaited } }: Row) => ({
  id,
  version,
  caller: record.caller,
  payer: record.payer,
  state: record.state,
  track_id: record.trackId,
  request_id: record.requestId,
  account_id: record.accountId,
  to_account_id: record.toAccountId,
  created_at: record.createdAt,
  updated_at: record.updatedAt,
  lease_until: record.leaseUntil,
  json: JSON.stringify({ ...record, awaited }),
});

const storedRecord = paymentRecord.extend({ awaited: z.boolean() });

/** A row with its payment. Errors: UnreadableRecord. */
export function rowIn(row: StoredRow): Row {
  if ('held' in row) return row;
  const { json, ...rest } = row;
  const stored = storedRecord.safeParse(parseJson(json)).data;
  if (stored?.id !== row.id) throw new UnreadableRecord(`The stored record of payment ${row.id} is damaged.`);
  const { awaited, ...record } = stored;
  return { ...rest, held: { record, awaited } };
}

export type Columns = ReturnType<typeof columnsOf>;

/** The types of the columns, as SQLite names them. */
const columnTypes: Record<keyof Columns, string> = {
  id: 'TEXT PRIMARY KEY',
  version: 'TEXT NOT NULL',
  caller: 'TEXT NOT NULL',
  payer: 'TEXT',
  state: 'TEXT NOT NULL',
  track_id: 'TEXT NOT NULL',
  request_id: 'TEXT',
  account_id: 'TEXT NOT NULL',
  to_account_id: 'TEXT',
  created_at: 'INTEGER NOT NULL',
  updated_at: 'INTEGER NOT NULL',
  lease_until: 'INTEGER NOT NULL',
  json: 'TEXT NOT NULL',
};

/** For CREATE TABLE. */
export const columnDefinitions = Object.entries(columnTypes).map(([name, type]) => `${name} ${type}`);
export const rowColumns = Object.keys(columnTypes) as (keyof Columns)[];

/** What was counted in a store, as part of a write or by itself. */
export interface StoreCounts {
  /** How many rows were ever inserted. */
  readonly began: number;
  /** The newest `created_at` of a row that was ever inserted; null if there was none. */
  readonly newestAt: number | null;
  /** Changes with every change of the metadata; null if there is no metadata. */
  readonly metadataVersion: string | null;
  /** The clock of the store's server, in milliseconds since 1970; null if it was not asked. */
  readonly serverTime: number | null;
}

export interface InsertResult extends StoreCounts {
  /** The row that was there; null if the given one was inserted. */
  readonly existing: StoredRow | null;
}

export interface MetadataSnapshot extends StoreCounts {
  readonly text: string | null;
  /** What identifies the server and its history, such as PostgreSQL's system identifier and timeline; null if unknown. */
  readonly server: string | null;
}

export interface RowCounts extends StoreStatus {
  readonly expired: number;
}

export interface RowQuery extends Omit<PaymentQuery, 'limit' | 'payer'> {
  /** Null: rows without one. */
  readonly payer?: string | null | undefined;
  readonly limit: number;
}

/** Whether a record matches a query: what searchSql says in SQL. */
export const matchesQuery = (record: PaymentRecord, query: RowQuery): boolean =>
  (['caller', 'payer', 'trackId', 'requestId'] as const).every(
    (name) => query[name] === undefined || query[name] === record[name],
  ) &&
  (query.idPrefix === undefined || record.id.startsWith(query.idPrefix)) &&
  (query.states === undefined || query.states.includes(record.state)) &&
  (query.accountId === undefined || [record.accountId, record.toAccountId].includes(query.accountId)) &&
  record.createdAt >= (query.since ?? Number.NEGATIVE_INFINITY) &&
  record.createdAt < (query.until ?? Number.POSITIVE_INFINITY);

/** What is read of a row. */
export const storedColumns = 'id, version, created_at, json';

/** The highest character: every id with a prefix sorts before the prefix followed by it. */
const last = '\u{10FFFF}';

/**
 * A query as SQL, for SQLite (`?1`) and PostgreSQL (`$1`).
 * `from`: the table, and its alias if it has one.
 */
export function searchSql(
  query: RowQuery,
  mark: '?' | '$',
  table: string,
): { text: string; values: unknown[] } {
  const { states, idPrefix, caller, payer, trackId, requestId, accountId, since, until } = query;
  const { newestFirst, after, limit } = query;
  // Few rows have the same beginning of an id, Track-ID or request. The sum keeps a database that does not know that from
  // reading all rows in their order.
  const few = [idPrefix, trackId, requestId].some((given) => given !== undefined);
  const hasFinished = states === undefined || states.some((state) => finishedStates.has(state));
  const values: unknown[] = [];
  const conditions = ['true'];
  // Node 22 takes ?1 for a name. Each value is used once, in the order of the text.
  const value = (given: unknown) => {
    const number = values.push(given);
    return mark === '?' ? mark : `${mark}${number}`;
  };
  const ask = (column: string, operator: string, given: unknown) => {
    if (given !== undefined) conditions.push(`${column} ${operator} ${value(given)}`);
  };
  if (idPrefix !== undefined) conditions.push(`id >= ${value(idPrefix)} AND id < ${value(idPrefix + last)}`);
  ask('track_id', '=', trackId);
  ask('request_id', '=', requestId);
  ask('caller', '=', caller);
  if (payer === null) conditions.push('payer IS NULL');
  else ask('payer', '=', payer);
  if (states !== undefined) {
    // Finished rows are many, which SQLite does not know: the sum keeps it from reading all of a state.
    const column = mark === '?' && (few || caller !== undefined || hasFinished) ? '+state' : 'state';
    conditions.push(`${column} IN (${states.map((state) => value(state)).join(', ') || 'NULL'})`);
    // Indexes of unfinished payments are used only for queries that contain their condition.
    if (!hasFinished && !few) conditions.push(unfinished);
  }
  if (accountId !== undefined)
    conditions.push(`(account_id = ${value(accountId)} OR to_account_id = ${value(accountId)})`);
  ask('created_at', '>=', since);
  ask('created_at', '<', until);
  const [direction, behind] = newestFirst ? ['DESC', '<'] : ['ASC', '>'];
  if (after !== undefined)
    conditions.push(`(created_at, id) ${behind} (${value(after.created_at)}, ${value(after.id)})`);
  const time = few ? 'created_at + 0' : 'created_at';
  const text = `SELECT ${storedColumns} FROM ${table} WHERE ${conditions.join(' AND ')}
    ORDER BY ${time} ${direction}, id ${direction} LIMIT ${value(limit)}`;
  return { text, values };
}

export const finishedStates: ReadonlySet<string> = new Set(['DONE', 'REJECTED']);

/** A payment whose lease is not over at `time`, and one that counts as unknown. */
export const pendingAt = (time: string) => `state = 'PENDING' AND lease_until > ${time}`;
export const unknownAt = (time: string) =>
  `state = 'UNKNOWN' OR state = 'PENDING' AND lease_until <= ${time}`;

/** Payments that may need attention, and those that have ended. */
export const unfinished = "state IN ('PENDING', 'UNKNOWN')";
export const finished = "state IN ('DONE', 'REJECTED')";

/** The indexes of the table of rows, by name. */
export const rowIndexes = {
  payment_by_time: '(created_at, id)',
  payment_by_caller: '(caller, payer, created_at, id)',
  payment_by_track_id: '(track_id)',
  payment_by_request_id: '(request_id) WHERE request_id IS NOT NULL',
  payment_unfinished: `(state, created_at, id) WHERE ${unfinished}`,
  payment_unfinished_by_caller: `(caller, payer, created_at, id) WHERE ${unfinished}`,
  payment_by_end: `(updated_at) WHERE ${finished}`,
};
