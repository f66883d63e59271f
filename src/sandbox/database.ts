import { DatabaseSync } from 'node:sqlite';
import type { z } from 'zod';
import { account } from '../contract/account.ts';
import { branch } from '../contract/branch.ts';
import { customer } from '../contract/customer.ts';
import { parseExactJson, writeExactJson } from '../contract/exact-json.ts';
import { message } from '../contract/message.ts';
import { metadataEntry } from '../contract/metadata.ts';
import { otherAccount } from '../contract/other-account.ts';
import { productBody } from '../contract/product.ts';
import { transaction } from '../contract/transaction.ts';
import { transactionRequest } from '../contract/transaction-request.ts';
import { SandboxError } from './faults.ts';

/** Incremented with every change of the tables or the seed: a file of another version is refused. */
const version = 2;

/** Records with an id of their own. */
const recordTables = ['customers', 'accounts', 'branches', 'products'];
/** Records that belong to another: `owner_id` is the account, the customer or the metadata id. */
const childTables = ['other_accounts', 'transactions', 'transaction_requests', 'messages', 'metadata'];

/**
 * A record is the JSON text that the bank answers with. It is TEXT, so amounts keep every digit: SQLite's
 * own numbers are 64-bit ones.
 */
const ddl = [
  ...recordTables.map(
    (table) => `CREATE TABLE ${table} (
      position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, record TEXT NOT NULL
    ) STRICT;`,
  ),
  ...childTables.map(
    (table) => `CREATE TABLE ${table} (
      position INTEGER PRIMARY KEY, owner_id TEXT NOT NULL, id TEXT, record TEXT NOT NULL, UNIQUE (owner_id, id)
    ) STRICT;`,
  ),
  'CREATE TABLE sequences (prefix TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;',
].join('\n');

const deleteAll = [...recordTables, ...childTables, 'sequences']
  .map((table) => `DELETE FROM ${table};`)
  .join('\n');

/** A record's column in a row, checked against the record's shape. */
function reader<T>(shape: z.ZodType<T>) {
  return (row: Record<string, unknown>): T => shape.parse(parseExactJson(String(row.record)));
}

/** Records that have an id of their own, in the order in which they were first put. */
function records<T>(db: DatabaseSync, table: string, shape: z.ZodType<T>) {
  const read = reader(shape);
  const one = db.prepare(`SELECT record FROM ${table} WHERE id = ?`);
  const every = db.prepare(`SELECT record FROM ${table} ORDER BY position`);
  const named = db.prepare(
    `SELECT record FROM ${table}
     WHERE EXISTS (SELECT 1 FROM json_each(record, ?) WHERE value = ?) ORDER BY position`,
  );
  const upsert = db.prepare(
    `INSERT INTO ${table} (id, record) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET record = excluded.record`,
  );
  return {
    get(id: string): T | undefined {
      const row = one.get(id);
      return row && read(row);
    },
    all: (): T[] => every.all().map(read),
    /** The records in which the list `field` names `value`. */
    naming: (field: keyof T & string, value: string): T[] => named.all(`$.${field}`, value).map(read),
    put<R extends T>(id: string, record: R): R {
      upsert.run(id, writeExactJson(record));
      return record;
    },
  };
}

/** Records that belong to another record, in the order in which they were first put. */
function childRecords<T>(db: DatabaseSync, table: string, shape: z.ZodType<T>) {
  const read = reader(shape);
  const one = db.prepare(`SELECT record FROM ${table} WHERE owner_id = ? AND id = ?`);
  const every = db.prepare(`SELECT record FROM ${table} WHERE owner_id = ? ORDER BY position`);
  const upsert = db.prepare(
    `INSERT INTO ${table} (owner_id, id, record) VALUES (?, ?, ?)
     ON CONFLICT (owner_id, id) DO UPDATE SET record = excluded.record`,
  );
  return {
    get(ownerId: string, id: string): T | undefined {
      const row = one.get(ownerId, id);
      return row && read(row);
    },
    of: (ownerId: string): T[] => every.all(ownerId).map(read),
    /** Creates or replaces; a record without an id (null) is always a new one. */
    put<R extends T>(ownerId: string, id: string | null, record: R): R {
      upsert.run(ownerId, id, writeExactJson(record));
      return record;
    },
  };
}

export type Database = ReturnType<typeof tables>;

/** Fills a database that is empty. */
export type Seed = (database: Database) => void;

function tables(db: DatabaseSync) {
  const next = db.prepare(
    `INSERT INTO sequences (prefix, value) VALUES (?, 1)
     ON CONFLICT (prefix) DO UPDATE SET value = value + 1 RETURNING value`,
  );
  return {
    customers: records(db, 'customers', customer),
    accounts: records(db, 'accounts', account),
    branches: records(db, 'branches', branch),
    /** As they were put: `bank_id` is one string, and each answer gives it the form that it needs. */
    products: records(db, 'products', productBody),
    /** By account id. */
    otherAccounts: childRecords(db, 'other_accounts', otherAccount),
    /** By account id: a transfer within the bank is one transaction id with a record on either side. */
    transactions: childRecords(db, 'transactions', transaction),
    /** By account id. */
    transactionRequests: childRecords(db, 'transaction_requests', transactionRequest),
    /** By customer id. */
    messages: childRecords(db, 'messages', message),
    /** By metadata id, which several entries share. */
    metadata: childRecords(db, 'metadata', metadataEntry),
    /** The next id of its kind, such as `tx-0001`. */
    nextId: (prefix: string) => `${prefix}-${String(next.get(prefix)?.value).padStart(4, '0')}`,
    /** Runs the work as one database transaction, which is rolled back if it throws. */
    atomically: <T>(work: () => T): T => atomically(db, work),
    clear: () => db.exec(deleteAll),
    close: () => db.close(),
  };
}

/** Replaces all records by the seed's; if the seed throws, nothing changes. */
export const resetDatabase = (database: Database, seed: Seed): void =>
  database.atomically(() => {
    database.clear();
    seed(database);
  });

function atomically<T>(db: DatabaseSync, work: () => T): T {
  // Immediate: two processes on one file must not both read a balance before either writes it.
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/**
 * Opens the database at `path`; a new one gets its tables and the seed, both or neither.
 * Errors: SandboxError if the file cannot be opened, or belongs to another version of the sandbox.
 */
export function openDatabase(path: string, seed: Seed): Database {
  let opened: DatabaseSync | undefined;
  try {
    const db = new DatabaseSync(path, { timeout: 5000 });
    opened = db;
    return atomically(db, () => {
      const found = db.prepare('PRAGMA user_version').get()?.user_version;
      if (found === version) return tables(db);
      if (found !== 0) {
        throw new SandboxError(
          'database',
          `it is no sandbox database of version ${version}, but of version ${found}: move it away or delete it.`,
        );
      }
      db.exec(ddl);
      const database = tables(db);
      seed(database);
      db.exec(`PRAGMA user_version = ${version}`);
      return database;
    });
  } catch (error) {
    opened?.close();
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_SQLITE_ERROR')) throw error;
    const remedy = `give a file of a sandbox bank, or a new one in a folder that is there: ${error.message}.`;
    throw new SandboxError('database', remedy, { cause: error });
  }
}
