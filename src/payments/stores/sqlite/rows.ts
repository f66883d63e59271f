import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { StoreDriver } from '../../driver.ts';
import {
  changingColumns,
  columnsOf,
  finished,
  pendingAt,
  rowColumns,
  searchSql,
  storedColumns,
  unfinished,
  unknownAt,
} from '../payment-columns.ts';

/** What a store does with the rows of a SQLite database: the driver's methods, but synchronously. */
export type RowMethods = {
  readonly [Name in Exclude<keyof StoreDriver, 'settleWrites' | 'close'>]: (
    ...args: Parameters<StoreDriver[Name]>
  ) => unknown;
};

/** How long a payment may wait for a purge's deletions, not counting the commit. */
const purgeStepMs = 10;

const counts = 'began, newest_at AS newestAt, version AS metadataVersion, NULL AS serverTime';

/** How many rows there are that have not expired, and in which state; see RowCounts. */
const countSql = `SELECT (SELECT count(*) FROM payment) - old.n AS records, old.n AS expired,
  (SELECT count(*) FROM payment WHERE ${unfinished} AND (${pendingAt('$leaseUntil')})) AS pending,
  (SELECT count(*) FROM payment WHERE ${unfinished} AND (${unknownAt('$leaseUntil')})) AS unknown,
  (SELECT created_at FROM payment WHERE NOT (${finished} AND updated_at < $before) ORDER BY created_at DESC LIMIT 1) AS newestAt
  FROM (SELECT count(*) AS n FROM payment WHERE ${finished} AND updated_at < $before) AS old`;

/** The methods on a database of this version. Errors: any of SQLite's. */
export function rowMethods(database: DatabaseSync): RowMethods {
  const values = rowColumns.map((name) => `$${name}`).join(', ');
  // SQLite rewrites each index with a column that is set, also if it is set to what it was.
  const changes = changingColumns.map((name) => `${name} = $${name}`).join(', ');
  const insert = database.prepare(
    `INSERT INTO payment (${rowColumns.join(', ')}) VALUES (${values}) ON CONFLICT DO NOTHING`,
  );
  const countBegin = database.prepare(
    `UPDATE meta SET began = began + 1, newest_at = max(ifnull(newest_at, $created_at), $created_at) RETURNING ${counts}`,
  );
  const readCounts = database.prepare(`SELECT ${counts} FROM meta`);
  const find = database.prepare(`SELECT ${storedColumns} FROM payment WHERE id = $id`);
  const replace = database.prepare(`UPDATE payment SET ${changes} WHERE id = $id AND version = $expected`);
  const remove = database.prepare('DELETE FROM payment WHERE id = $id AND version = $expected');
  const findAttempt = database.prepare('SELECT 1 FROM payment WHERE id = $id AND track_id = $trackId');
  const purge = database.prepare(
    `DELETE FROM payment WHERE id IN (SELECT id FROM payment WHERE ${finished} AND updated_at < $before LIMIT 100)`,
  );
  const metadata = database.prepare(`SELECT ${counts}, text, NULL AS server FROM meta`);
  const writeMetadata = database.prepare(
    'UPDATE meta SET version = $version, text = $text WHERE version IS $expected',
  );
  return {
    insertIfAbsent(row) {
      if (Number(insert.run(columnsOf(row)).changes) === 1)
        return { existing: null, ...countBegin.get({ created_at: row.created_at }) };
      return { existing: find.get({ id: row.id }), ...readCounts.get() };
    },
    compareAndSet(id, expected, row) {
      if (row === null) return Number(remove.run({ id, expected }).changes) === 1;
      const { version, state, updated_at, json } = columnsOf(row);
      return Number(replace.run({ id, expected, version, state, updated_at, json }).changes) === 1;
    },
    find: (id) => find.get({ id }) ?? null,
    search(query) {
      const { text, values } = searchSql(query, '?', 'payment');
      return database.prepare(text).all(...(values as SQLInputValue[]));
    },
    findMissing: (attempts) =>
      // SQLite refuses a parameter that the statement does not name.
      attempts.filter(({ id, trackId }) => findAttempt.get({ id, trackId }) === undefined),
    purge(before) {
      const until = performance.now() + purgeStepMs;
      for (let deleted = 0; ; ) {
        const step = Number(purge.run({ before }).changes);
        deleted += step;
        if (step === 0 || performance.now() >= until) return deleted;
      }
    },
    count: (before, leaseUntil) => database.prepare(countSql).get({ before, leaseUntil }),
    readMetadata: () => metadata.get(),
    writeMetadata: (expected, next) => Number(writeMetadata.run({ ...next, expected }).changes) === 1,
  };
}
