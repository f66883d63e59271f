import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { columnDefinitions, rowIndexes } from '../payment-columns.ts';

/** The files and tables of a SQLite payment store, and the upgrade of older files. */

const schemaVersion = 3;

/** The files of a SQLite store at a path: the database, with the log and its index as SQLite names them, and the high-water mark. */
export const filesOf = (path: string) => ({
  database: [path, `${path}-wal`, `${path}-shm`],
  mark: `${path}.mark`,
});

/** meta: one row, of what the store knows of itself (lost-records.ts) and how many payments ever began in it. */
const tables = `
  CREATE TABLE payment (${columnDefinitions.join(', ')}) STRICT;
  CREATE TABLE meta (
    only INTEGER PRIMARY KEY CHECK (only = 1), version TEXT, text TEXT, began INTEGER NOT NULL, newest_at INTEGER
  ) STRICT;
  INSERT INTO meta (only, began) VALUES (1, 0);`;

/** Created last: filling a table is faster without indexes. */
const indexes = Object.entries(rowIndexes).map(([name, on]) => `CREATE INDEX ${name} ON payment ${on};`);

/** The fields of a record in bankql 0.2.0, each a column. */
const fieldsOfVersion2 =
  'id caller fingerprint state operation bankId accountId toBankId toAccountId currency amount trackId createdAt updatedAt leaseUntil answer code status message settledBy bankText requestId replica sealedKey history'.split(
    ' ',
  );

/** Creates the tables, or upgrades an older file, in the caller's transaction. Errors: an Error with why not. */
export function upgradeSchema(database: DatabaseSync, create: boolean): void {
  const version = versionOf(database);
  if (version === schemaVersion) return;
  if (version === 1)
    throw new Error('bankql 0.1 wrote it: start bankql 0.2.0 with it once, which upgrades it');
  const isEmpty = Number(database.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.n) === 0;
  if (version === 0 && !isEmpty) throw new Error('it belongs to another program');
  // Only the start may create a new store: later, an empty file means that the records are lost.
  if (version === 0 && !create) throw new Error('it has lost its tables');
  if (version === 0) database.exec(tables);
  else upgradeVersion2(database);
  database.exec(`${indexes.join('\n')} PRAGMA user_version = ${schemaVersion}`);
}

/** Errors: an Error if the file has not the tables of this version, and may not be changed. */
export function checkSchema(database: DatabaseSync): void {
  const version = versionOf(database);
  if (version !== schemaVersion)
    throw new Error(
      `its version is ${version}, and not ${schemaVersion}: start this bankql with it once, which upgrades it`,
    );
}

/** Errors: an Error for the version of a newer bankql. */
function versionOf(database: DatabaseSync): number {
  const version = Number(database.prepare('PRAGMA user_version').get()?.user_version);
  if (version <= schemaVersion) return version;
  throw new Error(
    `its version is ${version}, and this bankql knows up to ${schemaVersion}: run the newer bankql`,
  );
}

/** bankql 0.2.0 had a column for each field of a record. */
function upgradeVersion2(database: DatabaseSync): void {
  const meta = database.prepare('SELECT storeId, secret, began, newestAt FROM meta').get() ?? {};
  const { storeId, secret } = meta;
  const decisions = database.prepare('SELECT at, decidedBy AS "by", what FROM decision').all();
  const json = fieldsOfVersion2.map((name) => `'${name}', ${name}`).join(', ');
  database.exec(`
    ALTER TABLE payment RENAME TO old_payment; DROP TABLE meta; DROP TABLE decision; DROP TABLE IF EXISTS clock;
    DROP TRIGGER IF EXISTS countBegun; ${tables}
    INSERT INTO payment SELECT id, lower(hex(randomblob(16))), caller, NULL, state, trackId, requestId, accountId, toAccountId,
      createdAt, updatedAt, leaseUntil, json_object(${json}, 'awaited', json(iif(awaited, 'true', 'false'))) FROM old_payment;
    DROP TABLE old_payment;`);
  database
    .prepare('UPDATE meta SET version = ?, text = ?, began = ?, newest_at = ?')
    .run(
      randomUUID(),
      JSON.stringify({ storeId, secret, decisions }),
      meta.began ?? 0,
      meta.newestAt ?? null,
    );
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
