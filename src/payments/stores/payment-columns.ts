import type { Row, RowQuery } from '../driver.ts';

/** The table of payments in a database: its columns, its indexes, and how it is searched. */

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

/** The columns that the protocol changes; the others stay as they were inserted. */
export const changingColumns = [
  'version',
  'state',
  'updated_at',
  'json',
] as const satisfies (keyof Columns)[];

/** What is read of a row. */
export const storedColumns = 'id, version, created_at, json';

/** The highest character: every id with a prefix sorts before the prefix followed by it. */
const last = '\u{10FFFF}';

/**
 * A query as SQL, for SQLite (`?1`) and PostgreSQL (`$1`).
 * `table`: its name, and its alias if it has one.
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

const finishedStates: ReadonlySet<string> = new Set(['DONE', 'REJECTED']);

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
