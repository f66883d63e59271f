import { DatabaseSync } from 'node:sqlite';
import type { z } from 'zod';
import { type Account, account } from '../contract/account.ts';
import { type Branch, branch } from '../contract/branch.ts';
import { type Customer, customer } from '../contract/customer.ts';
import { parseExactJson, writeExactJson } from '../contract/exact-json.ts';
import { type Message, message } from '../contract/message.ts';
import { type MetadataEntry, metadataEntry } from '../contract/metadata.ts';
import { type OtherAccount, otherAccount } from '../contract/other-account.ts';
import { type ProductBody, product } from '../contract/product.ts';
import { type Transaction, transaction } from '../contract/transaction.ts';
import { type TransactionRequest, transactionRequest } from '../contract/transaction-request.ts';

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
export interface Records<T> {
  /** Undefined if there is no such record. */
  get(id: string): T | undefined;
  all(): T[];
  /** The records in which the list `field` names `value`. */
  naming(field: keyof T & string, value: string): T[];
  /** Creates or replaces. */
  put(id: string, record: T): void;
}

function records<T>(db: DatabaseSync, table: string, shape: z.ZodType<T>): Records<T> {
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
    get(id) {
      const row = one.get(id);
      return row && read(row);
    },
    all: () => every.all().map(read),
    naming: (field, value) => named.all(`$.${field}`, value).map(read),
    put(id, record) {
      upsert.run(id, writeExactJson(record));
    },
  };
}

/** Records that belong to another record, in the order in which they were first put. */
interface ChildRecords<T> {
  /** Undefined where the owner has no such record. */
  get(ownerId: string, id: string): T | undefined;
  of(ownerId: string): T[];
  /** Creates or replaces; a record without an id (null) is always a new one. */
  put(ownerId: string, id: string | null, record: T): void;
}

function childRecords<T>(db: DatabaseSync, table: string, shape: z.ZodType<T>): ChildRecords<T> {
  const read = reader(shape);
  const one = db.prepare(`SELECT record FROM ${table} WHERE owner_id = ? AND id = ?`);
  const every = db.prepare(`SELECT record FROM ${table} WHERE owner_id = ? ORDER BY position`);
  const upsert = db.prepare(
    `INSERT INTO ${table} (owner_id, id, record) VALUES (?, ?, ?)
     ON CONFLICT (owner_id, id) DO UPDATE SET record = excluded.record`,
  );
  return {
    get(ownerId, id) {
      const row = one.get(ownerId, id);
      return row && read(row);
    },
    of: (ownerId) => every.all(ownerId).map(read),
    put(ownerId, id, record) {
      upsert.run(ownerId, id, writeExactJson(record));
    },
  };
}

/** A file that is no database of this version of the sandbox. */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError';
}

/** Fills a database that is empty. */
export type Seed = (database: Database) => void;

/** The bank's records. */
export interface Database {
  readonly customers: Records<Customer>;
  readonly accounts: Records<Account>;
  readonly branches: Records<Branch>;
  /** As they were put: `bank_id` is one string, and each answer gives it the form that it needs. */
  readonly products: Records<ProductBody>;
  /** By account id. */
  readonly otherAccounts: ChildRecords<OtherAccount>;
  /** By account id: a transfer within the bank is one transaction id with a record on either side. */
  readonly transactions: ChildRecords<Transaction>;
  /** By account id. */
  readonly transactionRequests: ChildRecords<TransactionRequest>;
  /** By customer id. */
  readonly messages: ChildRecords<Message>;
  /** By metadata id, which several entries share. */
  readonly metadata: ChildRecords<MetadataEntry>;
  /** The next id of its kind, such as `tx-0001`. */
  nextId(prefix: string): string;
  /** Runs the work as one database transaction, which is rolled back if it throws. */
  atomically<T>(work: () => T): T;
  /** Replaces all records by the seed's; if the seed throws, nothing changes. */
  reset(seed: Seed): void;
  close(): void;
}

function tables(db: DatabaseSync): Database {
  const next = db.prepare(
    `INSERT INTO sequences (prefix, value) VALUES (?, 1)
     ON CONFLICT (prefix) DO UPDATE SET value = value + 1 RETURNING value`,
  );
  const database: Database = {
    customers: records(db, 'customers', customer.answer),
    accounts: records(db, 'accounts', account.answer),
    branches: records(db, 'branches', branch.answer),
    products: records(db, 'products', product.body),
    otherAccounts: childRecords(db, 'other_accounts', otherAccount.answer),
    transactions: childRecords(db, 'transactions', transaction.answer),
    transactionRequests: childRecords(db, 'transaction_requests', transactionRequest.answer),
    messages: childRecords(db, 'messages', message.answer),
    metadata: childRecords(db, 'metadata', metadataEntry.answer),
    nextId: (prefix) => `${prefix}-${String(next.get(prefix)?.value).padStart(4, '0')}`,
    atomically: (work) => atomically(db, work),
    reset: (seed) =>
      atomically(db, () => {
        db.exec(deleteAll);
        seed(database);
      }),
    close: () => db.close(),
  };
  return database;
}

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
 * Errors: DatabaseError where the file belongs to another version of the sandbox; Error where it cannot be opened.
 */
export function openDatabase(path: string, seed: Seed): Database {
  const db = new DatabaseSync(path, { timeout: 5000 });
  try {
    return atomically(db, () => {
      const found = db.prepare('PRAGMA user_version').get()?.user_version;
      if (found === version) return tables(db);
      if (found !== 0) {
        throw new DatabaseError(
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
    db.close();
    throw error;
  }
}
