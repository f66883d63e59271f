import { randomBytes, randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { hashUnderSecret } from '../../caller-hash.ts';
import { historyLine, withoutNulls } from '../../payment-history.ts';
import type { PaymentRecord } from '../../store.ts';

/** The tables of the payment store's SQLite file, and the upgrade of older files. */

export const schemaVersion = 2;

/**
 * PaymentRecord's fields, as columns of their names. A column that an existing file lacks is added when it is opened,
 * so it has to be nullable or have a default.
 */
export const columns = {
  id: 'TEXT PRIMARY KEY',
  caller: 'TEXT NOT NULL',
  fingerprint: 'TEXT NOT NULL',
  state: "TEXT NOT NULL CHECK (state IN ('PENDING', 'DONE', 'REJECTED', 'UNKNOWN'))",
  operation: 'TEXT NOT NULL',
  bankId: 'TEXT NOT NULL',
  accountId: 'TEXT NOT NULL',
  toBankId: 'TEXT',
  toAccountId: 'TEXT',
  currency: 'TEXT',
  amount: 'TEXT',
  trackId: 'TEXT NOT NULL',
  createdAt: 'INTEGER NOT NULL',
  updatedAt: 'INTEGER NOT NULL',
  leaseUntil: 'INTEGER NOT NULL',
  answer: 'TEXT',
  code: 'TEXT',
  status: 'INTEGER',
  message: 'TEXT',
  settledBy: 'TEXT',
  bankText: 'TEXT',
  requestId: 'TEXT',
  replica: 'TEXT',
  sealedKey: 'TEXT',
  // Empty in a row that a bankql of version 1 wrote, also while this one runs beside it.
  history: "TEXT NOT NULL DEFAULT ''",
} as const satisfies Record<keyof PaymentRecord, string> & Record<string, string>;

const definitions = Object.entries(columns).map(([name, type]) => `${name} ${type}`);

/** `awaited`: the attempt that began the payment may still write its outcome. */
const version1 = `
  CREATE TABLE payment (${definitions.join(', ')}, awaited INTEGER NOT NULL DEFAULT 1) STRICT;
  CREATE INDEX paymentByState ON payment (state, updatedAt);`;

/**
 * meta: one row; `began` and `newestAt` are the high-water mark (high-water-mark.ts), maintained by a trigger so that
 * every insert is counted. decision: operators' decisions about the store. clock: see clock.ts.
 */
const version2 = `
  CREATE TABLE meta (
    only INTEGER PRIMARY KEY CHECK (only = 1), storeId TEXT NOT NULL, secret TEXT NOT NULL,
    began INTEGER NOT NULL, newestAt INTEGER
  ) STRICT;
  CREATE TABLE decision (at INTEGER NOT NULL, decidedBy TEXT NOT NULL, what TEXT NOT NULL) STRICT;
  CREATE TABLE clock (id TEXT PRIMARY KEY, time INTEGER NOT NULL, beats INTEGER NOT NULL) STRICT;`;

/** Created last: changing rows is faster without indexes. */
const version2Indexes = `
  CREATE INDEX paymentByTime ON payment (createdAt);
  CREATE INDEX paymentByCaller ON payment (caller, createdAt);
  CREATE INDEX paymentByTrackId ON payment (trackId);
  CREATE INDEX paymentByRequestId ON payment (requestId) WHERE requestId IS NOT NULL;
  CREATE INDEX paymentOfVersion1 ON payment (id) WHERE history = '';
  CREATE TRIGGER countBegun AFTER INSERT ON payment BEGIN
    UPDATE meta SET began = began + 1, newestAt = max(ifnull(newestAt, NEW.createdAt), NEW.createdAt);
  END;`;

/** Payments that may need attention: few, however many finished ones a caller has. */
export const unfinished = "state IN ('PENDING', 'UNKNOWN')";

/** Came after version 2: whichever bankql of that version changes a row keeps them up to date. */
const laterIndexes = `
  CREATE INDEX IF NOT EXISTS paymentUnfinished ON payment (caller, createdAt) WHERE ${unfinished};`;

/** Creates the tables, or upgrades an older file, in the caller's transaction. Errors: an Error with why not. */
export function upgradeSchema(database: DatabaseSync, create: boolean): void {
  const version = Number(database.prepare('PRAGMA user_version').get()?.user_version);
  const tables = Number(database.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.n);
  if (version > schemaVersion) {
    throw new Error(
      `its version is ${version}, and this bankql knows up to ${schemaVersion}: run the newer bankql`,
    );
  }
  if (version < 1 && tables > 0) throw new Error('it belongs to another program');
  // Only the start may create a new store: later, an empty file means that the records are lost.
  if (version < 1 && !create) throw new Error('it has lost its tables');
  if (version < 1) database.exec(version1);
  addMissingColumns(database);
  if (version < 2) {
    database.exec(version2);
    database
      .prepare('INSERT INTO meta SELECT 1, $storeId, $secret, count(*), max(createdAt) FROM payment')
      .run({ storeId: randomUUID(), secret: randomBytes(32).toString('hex') });
  }
  adoptVersion1Rows(database);
  if (version < 2) database.exec(`${version2Indexes} PRAGMA user_version = ${schemaVersion}`);
  database.exec(laterIndexes);
}

function addMissingColumns(database: DatabaseSync): void {
  const present = new Set(
    database
      .prepare("SELECT name FROM pragma_table_info('payment')")
      .all()
      .map(({ name }) => name),
  );
  for (const [name, type] of Object.entries(columns))
    if (!present.has(name)) database.exec(`ALTER TABLE payment ADD COLUMN ${name} ${type}`);
}

/** Adds what rows of version 1 lack: the caller hashed under the store's secret, and the known part of the history. */
function adoptVersion1Rows(database: DatabaseSync): void {
  const secret = String(database.prepare('SELECT secret FROM meta').get()?.secret);
  database.function('underSecret', { deterministic: true }, (caller) =>
    hashUnderSecret(secret, String(caller)),
  );
  database.function('historyLine', { deterministic: true }, (state, at, status, code, settledBy) =>
    historyLine(
      withoutNulls({
        state: states.find((name) => name === state) ?? 'UNKNOWN',
        at: Number(at),
        status: status === null ? null : Number(status),
        code: code === null ? null : String(code),
        settledBy: settledBy === null ? null : String(settledBy),
      }),
    ),
  );
  database.exec(`UPDATE payment SET caller = underSecret(caller),
    history = historyLine('PENDING', createdAt, NULL, NULL, NULL) || iif(state = 'PENDING', '',
      char(10) || historyLine(state, updatedAt, status, code, settledBy)) WHERE history = ''`);
}

const states = ['PENDING', 'DONE', 'REJECTED', 'UNKNOWN'] as const;
