import type { NewRow, RowChange, RowQuery } from './driver.ts';

/** The table of payments, in SQLite and in PostgreSQL: its columns, its indexes, and the SQL of the payment store. */

/** The types of the columns, as SQLite names them. */
const columnTypes = {
  id: 'TEXT PRIMARY KEY',
  version: 'TEXT NOT NULL',
  caller: 'TEXT NOT NULL',
  payer: 'TEXT NOT NULL',
  state: 'TEXT NOT NULL',
  track_id: 'TEXT NOT NULL',
  request_id: 'TEXT',
  account_id: 'TEXT NOT NULL',
  to_account_id: 'TEXT',
  json: 'TEXT NOT NULL',
  created_at: 'INTEGER NOT NULL',
  updated_at: 'INTEGER NOT NULL',
  lease_until: 'INTEGER NOT NULL',
};

/** The definitions of the columns for CREATE TABLE. */
export const columnDefinitions = Object.entries(columnTypes).map(([name, type]) => `${name} ${type}`);

/** The columns of NewRow. The database sets the others, which are times. */
const givenColumns = [
  'id',
  'version',
  'caller',
  'payer',
  'state',
  'track_id',
  'request_id',
  'account_id',
  'to_account_id',
  'json',
] as const satisfies (keyof NewRow)[];

/** The columns of RowChange. `updated_at` is set as well; the others stay as they were inserted. */
const changedColumns = ['version', 'state', 'json'] as const satisfies (keyof RowChange)[];

/** The conditions for payments without a final outcome, and for those that have ended. */
const unfinished = "state IN ('PENDING', 'UNKNOWN')";
const finished = "state IN ('DONE', 'REJECTED')";

/** The indexes of the table, by name. */
export const rowIndexes = {
  payment_by_time: '(created_at, id)',
  payment_by_caller: '(caller, created_at, id)',
  payment_by_track_id: '(track_id)',
  payment_by_request_id: '(request_id) WHERE request_id IS NOT NULL',
  payment_unfinished: `(created_at, id, state, lease_until) WHERE ${unfinished}`,
  payment_unfinished_by_caller: `(caller, created_at, id, state) WHERE ${unfinished}`,
  payment_by_end: `(updated_at) WHERE ${finished}`,
};

/** The differences between the databases' SQL. */
export interface Dialect {
  /** The table's name. */
  readonly table: string;
  /** The mark before the number of a parameter: SQLite takes `?1`, PostgreSQL `$1`. */
  readonly mark: '?' | '$';
  /** An expression for the database's time, in milliseconds since 1970. It must be constant within a statement. */
  readonly now: string;
}

export const sqliteNow = "CAST(round(unixepoch('subsec') * 1000) AS INTEGER)";
export const postgresNow = '(extract(epoch FROM statement_timestamp()) * 1000)::bigint';

/** The columns of StoredRow: all of them. If the JSON is damaged, the other columns still describe the payment. */
const storedColumns = (now: string) => `${Object.keys(columnTypes).join(', ')}, ${now} AS now`;

/** The number of the first parameter that an INSERT does not use. */
export const afterInsert = givenColumns.length + 2;

/**
 * Inserts a row, with insertedValues, unless there is one with its id. `source`: SQL that follows the values, such as a
 * condition. `createdAt`: an expression for the time at which the payment began.
 */
export function insertSql({ table, mark, now }: Dialect, source = 'WHERE true', createdAt = now): string {
  const given = givenColumns.map((_, n) => `${mark}${n + 1}`);
  const leaseUntil = `${now} + CAST(${mark}${given.length + 1} AS bigint)`;
  return `INSERT INTO ${table} (${givenColumns.join(', ')}, created_at, updated_at, lease_until)
    SELECT ${[...given, createdAt, now, leaseUntil].join(', ')} ${source}
    ON CONFLICT (id) DO NOTHING RETURNING ${storedColumns(now)}`;
}

/** Like insertSql, for a payment that began earlier. The time is a further parameter. */
export const recoverSql = (dialect: Dialect): string =>
  insertSql(dialect, undefined, `CAST(${dialect.mark}${afterInsert} AS bigint)`);

export const insertedValues = (row: NewRow) => [...givenColumns.map((name) => row[name]), row.lease_ms];

/** Reads the row with an id. `further`: additional columns, after a comma. */
export const selectSql = ({ table, mark, now }: Dialect, further = ''): string =>
  `SELECT ${storedColumns(now)}${further} FROM ${table} WHERE id = ${mark}1`;

/** Replaces a row if it has the given version. */
export function replaceSql(dialect: Dialect): string {
  const { table, mark, now } = dialect;
  const changes = changedColumns.map((name, n) => `${name} = ${mark}${n + 3}`).join(', ');
  // A finished row is kept for the retention after `updated_at`. If the clock is behind, `now` is too early, and the row would
  // be deleted too early once the clock is right. So the newest `updated_at` of all finished rows is taken if it is later.
  const changedAt = `CASE WHEN ${mark}${changedColumns.indexOf('state') + 3} IN ('DONE', 'REJECTED') THEN (SELECT max(at) FROM (
    SELECT ${now} AS at UNION ALL SELECT max(updated_at) FROM ${table} WHERE ${finished}) AS times) ELSE ${now} END`;
  return `UPDATE ${table} SET ${changes}, updated_at = ${changedAt} WHERE id = ${mark}1 AND version = ${mark}2`;
}

export const replacedValues = (id: string, version: string, change: RowChange) => [
  id,
  version,
  ...changedColumns.map((name) => change[name]),
];

/** Deletes a row if it has the given version. */
export const removeSql = ({ table, mark }: Dialect): string =>
  `DELETE FROM ${table} WHERE id = ${mark}1 AND version = ${mark}2`;

/** Finished rows whose last change was before a time. `before`: a parameter. */
const expired = (before: string) => `${finished} AND updated_at < ${before}`;

/** Deletes some of the finished rows whose last change was before a time. `lock`: the locking clause of the SELECT. */
export const purgeSql = ({ table, mark }: Dialect, limit: number, lock = ''): string =>
  `DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table} WHERE ${expired(`${mark}1`)} LIMIT ${limit} ${lock})`;

interface Sql {
  readonly text: string;
  readonly values: readonly (string | number)[];
}

/** The highest character: every id that begins with a prefix sorts before the prefix followed by this character. */
const last = '\u{10FFFF}';

/** Whether the query has a condition that only few rows can meet. */
const isNarrow = ({ idPrefix, trackId, requestId }: RowQuery): boolean =>
  [idPrefix, trackId, requestId].some((given) => given !== undefined);

const isUnfinished = ({ states }: RowQuery): boolean =>
  states?.every((state) => state === 'PENDING' || state === 'UNKNOWN') === true;

/** The table to read from. SQLite keeps no statistics of it, so the query names the index. */
function tableOf(query: RowQuery, { table, mark }: Dialect): string {
  if (mark === '$' || isNarrow(query)) return table;
  const { caller } = query;
  if (isUnfinished(query))
    return `${table} INDEXED BY payment_unfinished${caller === undefined ? '' : '_by_caller'}`;
  return `${table} INDEXED BY ${caller === undefined ? 'payment_by_time' : 'payment_by_caller'}`;
}

/**
 * Builds a query as SQL. An index covers the first conditions and the order. The database checks the other conditions for each
 * row that the index finds.
 */
export function searchSql(query: RowQuery, dialect: Dialect): Sql {
  const { mark, now } = dialect;
  const { idPrefix, trackId, requestId, caller, payer, accountId, since, until, newestFirst, after } = query;
  const values: (string | number)[] = [];
  const conditions = ['true'];
  const value = (given: string | number) => `${mark}${values.push(given)}`;
  if (idPrefix !== undefined) conditions.push(`id >= ${value(idPrefix)} AND id < ${value(idPrefix + last)}`);
  if (trackId !== undefined) conditions.push(`track_id = ${value(trackId)}`);
  if (requestId !== undefined) conditions.push(`request_id = ${value(requestId)}`);
  // The `+` prevents SQLite from using another index, which would match more rows.
  const isFew = isNarrow(query);
  if (caller !== undefined) conditions.push(`${isFew && mark === '?' ? '+' : ''}caller = ${value(caller)}`);
  // An index of unfinished payments is used only if the query repeats the index's condition.
  if (isUnfinished(query) && !isFew) conditions.push(unfinished);
  if (since !== undefined) conditions.push(`created_at >= ${value(since)}`);
  if (until !== undefined) conditions.push(`created_at < ${value(until)}`);
  const [direction, behind] = newestFirst ? ['DESC', '<'] : ['ASC', '>'];
  if (after !== undefined)
    conditions.push(`(created_at, id) ${behind} (${value(after.created_at)}, ${value(after.id)})`);
  if (payer !== undefined) conditions.push(`payer = ${value(payer)}`);
  if (accountId !== undefined)
    conditions.push(`(account_id = ${value(accountId)} OR to_account_id = ${value(accountId)})`);
  const { states } = query;
  if (states !== undefined) {
    const matching = {
      PENDING: `state = 'PENDING' AND lease_until > ${now}`,
      UNKNOWN: `state = 'UNKNOWN' OR state = 'PENDING' AND lease_until <= ${now}`,
      DONE: "state = 'DONE'",
      REJECTED: "state = 'REJECTED'",
    };
    const wanted = [...new Set(states)].map((state) => matching[state]);
    conditions.push(`(${wanted.join(' OR ') || 'false'})`);
  }
  const { expiredBefore } = query;
  if (expiredBefore !== undefined && !isUnfinished(query))
    conditions.push(`NOT (${expired(value(expiredBefore))})`);
  // `+ 0` prevents the database from reading all rows in the order of an index, although few of them match.
  const order = `ORDER BY created_at${isFew ? ' + 0' : ''} ${direction}, id ${direction}`;
  const text = `SELECT ${storedColumns(now)} FROM ${tableOf(query, dialect)}
    WHERE ${conditions.join(' AND ')} ${order} LIMIT ${value(query.limit)}`;
  return { text, values };
}

/**
 * RowCounts, in one row. It reads only the unfinished rows and the newest ones, because counting all rows would
 * take long.
 */
export const countSql = ({ table, now }: Dialect): string => {
  const isPending = `state = 'PENDING' AND lease_until > ${now}`;
  return `SELECT count(*) FILTER (WHERE ${isPending}) AS pending, count(*) FILTER (WHERE NOT (${isPending})) AS unknown,
    (SELECT max(created_at) FROM ${table}) AS "newestAt",
    (SELECT max(updated_at) FROM ${table} WHERE ${finished}) AS "newestEndAt", ${now} AS now FROM ${table} WHERE ${unfinished}`;
};
