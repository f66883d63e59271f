import { randomBytes } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { madeByOther } from '../missing-store.ts';
import { columnDefinitions, rowIndexes } from '../payment-columns.ts';

/** The tables of a SQLite payment store. Versions 1 to 3 are those of bankql 0.1 to 0.3. */
const schemaVersion = 4;

/** meta: one row, with the secret of the store. */
const tables = `
  CREATE TABLE payment (${columnDefinitions.join(', ')}) STRICT;
  ${Object.entries(rowIndexes)
    .map(([name, on]) => `CREATE INDEX ${name} ON payment ${on};`)
    .join('\n')}
  CREATE TABLE meta (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), secret TEXT NOT NULL) STRICT;
  PRAGMA user_version = ${schemaVersion};`;

/** Creates the tables in an empty database, in the caller's transaction. */
export function createTables(database: DatabaseSync): void {
  database.exec(tables);
  database.prepare('INSERT INTO meta VALUES (1, ?)').run(randomBytes(32).toString('hex'));
}

/**
 * Reads the secret of a store.
 * Shape:  null if the database is empty.
 * Errors: an Error with the reason if it is not a store of this version.
 */
export function readSecret(database: DatabaseSync): string | null {
  const version = Number(database.prepare('PRAGMA user_version').get()?.user_version);
  if (version === schemaVersion) {
    const secret = database.prepare('SELECT secret FROM meta').get()?.secret;
    if (typeof secret === 'string') return secret;
    throw new Error('its secret is gone: put a backup back');
  }
  if (version !== 0) throw new Error(madeByOther(version));
  if (database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined) return null;
  throw new Error('it belongs to another program');
}

/** Whether a lock is the reason. */
export function isBusy(error: unknown): boolean {
  // The low byte is SQLite's primary result code; 5 is SQLITE_BUSY.
  return (
    error instanceof Error &&
    'errcode' in error &&
    typeof error.errcode === 'number' &&
    (error.errcode & 0xff) === 5
  );
}
