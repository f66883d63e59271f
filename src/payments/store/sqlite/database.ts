import { randomBytes } from 'node:crypto';
import { hrtime } from 'node:process';
import type { DatabaseSync } from 'node:sqlite';
import type { NewRow, RowChange, RowQuery } from '../driver.ts';
import { madeByOther, storeFormat } from '../missing-store.ts';
import {
  columnDefinitions,
  countSql,
  type Dialect,
  insertedValues,
  insertSql,
  purgeSql,
  recoverSql,
  removeSql,
  replacedValues,
  replaceSql,
  rowIndexes,
  searchSql,
  selectSql,
  sqliteNow,
} from '../payment-table.ts';

/** The tables of a SQLite payment store, and the statements on them. */

/** meta: one row, with the secret of the store. */
const tables = `
  CREATE TABLE payment (${columnDefinitions.join(', ')}) STRICT;
  ${Object.entries(rowIndexes)
    .map(([name, on]) => `CREATE INDEX ${name} ON payment ${on};`)
    .join('\n')}
  CREATE TABLE meta (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), secret TEXT NOT NULL) STRICT;
  PRAGMA user_version = ${storeFormat};`;

/** Creates the tables in an empty database, in the caller's transaction. */
export function createTables(database: DatabaseSync): void {
  database.exec(tables);
  database.prepare('INSERT INTO meta VALUES (1, ?)').run(randomBytes(32).toString('hex'));
}

/**
 * Reads the secret of a store.
 * Shape:  null if the database is empty.
 * Errors: an Error with the reason if it is not a store of this format.
 */
export function readSecret(database: DatabaseSync): string | null {
  const format = Number(database.prepare('PRAGMA user_version').get()?.user_version);
  if (format === storeFormat) {
    const secret = database.prepare('SELECT secret FROM meta').get()?.secret;
    if (typeof secret === 'string') return secret;
    throw new Error('its secret is gone: put a backup back');
  }
  if (format !== 0) throw new Error(madeByOther(format));
  if (database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined) return null;
  throw new Error('it belongs to another program');
}

/** Milliseconds of a clock that cannot be set, the same in all threads. */
export const steadyMs = (): number => Number(hrtime.bigint() / 1_000_000n);

/** The longest wait of a payment for the deletions of a purge, without their commit, in milliseconds. */
const purgeStepMs = 10;

/** The values of numbered parameters, by name, because Node 22 binds such parameters only by name. */
const numbered = <Value>(...values: Value[]) =>
  Object.fromEntries(values.map((value, at) => [`?${at + 1}`, value]));

/** The driver's statements on an open database. Errors: any of SQLite's. */
export type RowMethods = ReturnType<typeof rowMethods>;

/** `now`: an expression for the time, if it is not SQLite's. */
export function rowMethods(database: DatabaseSync, now = sqliteNow) {
  const dialect: Dialect = { table: 'payment', mark: '?', now };
  const insert = database.prepare(insertSql(dialect));
  const recover = database.prepare(recoverSql(dialect));
  const find = database.prepare(selectSql(dialect));
  const replace = database.prepare(replaceSql(dialect));
  const remove = database.prepare(removeSql(dialect));
  const purge = database.prepare(purgeSql(dialect, 100));
  const count = database.prepare(countSql(dialect));
  return {
    insert: (row: NewRow): unknown =>
      insert.get(numbered(...insertedValues(row))) ?? find.get(numbered(row.id)),
    recover: (row: NewRow, createdAt: number): boolean =>
      recover.get(numbered(...insertedValues(row), createdAt)) !== undefined,
    compareAndSet(id: string, version: string, change: RowChange | null): boolean {
      const { changes } =
        change === null
          ? remove.run(numbered(id, version))
          : replace.run(numbered(...replacedValues(id, version, change)));
      return Number(changes) === 1;
    },
    find: (id: string): unknown => find.get(numbered(id)) ?? null,
    count: (): unknown => count.get(),
    purge(before: number): number {
      const until = performance.now() + purgeStepMs;
      for (let deleted = 0; ; ) {
        const step = Number(purge.run(numbered(before)).changes);
        deleted += step;
        if (step === 0 || performance.now() >= until) return deleted;
      }
    },
    search(query: RowQuery): unknown[] {
      const { text, values } = searchSql(query, dialect);
      return database.prepare(text).all(numbered(...values));
    },
  };
}
