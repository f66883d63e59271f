import { randomBytes, randomUUID } from 'node:crypto';
import { DatabaseError } from 'pg';
import { z } from 'zod';
import type { PaymentRecord } from '../../store.ts';
import { type PostgresConnection, ServerRefused } from './connection.ts';

/** The tables of a payment store in PostgreSQL, in a schema of their own, and how older ones become them. */

/** PaymentRecord's fields and their columns; `history` is kept as lines of JSON (payment-history.ts). */
export const columns = {
  id: 'id',
  caller: 'caller',
  fingerprint: 'fingerprint',
  state: 'state',
  operation: 'operation',
  bankId: 'bank_id',
  accountId: 'account_id',
  toBankId: 'to_bank_id',
  toAccountId: 'to_account_id',
  currency: 'currency',
  amount: 'amount',
  trackId: 'track_id',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
  leaseUntil: 'lease_until',
  answer: 'answer',
  code: 'code',
  status: 'status',
  message: 'message',
  settledBy: 'settled_by',
  bankText: 'bank_text',
  requestId: 'request_id',
  replica: 'replica',
  sealedKey: 'sealed_key',
  history: 'history',
} as const satisfies Record<keyof PaymentRecord, string>;

/** Rows of `tally`: as many beginnings can be counted at once. */
export const tallySlots = 32;

/** Payments that need somebody's attention, and those that have ended; indexes have these conditions. */
export const unfinished = "state IN ('PENDING', 'UNKNOWN')";
export const finished = "state IN ('DONE', 'REJECTED')";

/**
 * What each version adds to the one before it; a version's number is its place, from 1 on. What has been released stays as it is.
 *
 * payment: a record. `awaited`: the attempt that began it may still say how it ended.
 * store: one row, of what the store knows of itself; `loss`: why payments are refused, for all that share it.
 * tally: how many payments were ever begun and how many of them are gone, and when the newest began; its sums are the
 *   high-water mark (high-water-mark.ts). In several rows, since beginnings wait for each other's commit on the same one.
 * missed_mark: the highest marks that did not fit, and who accepted the loss of another store's.
 */
export const migrations: readonly (readonly string[])[] = [
  [
    `CREATE TABLE bankql.payment (
      id text COLLATE "C" PRIMARY KEY, caller text NOT NULL, fingerprint text NOT NULL,
      state text NOT NULL CHECK (state IN ('PENDING', 'DONE', 'REJECTED', 'UNKNOWN')),
      operation text NOT NULL, bank_id text NOT NULL, account_id text NOT NULL, to_bank_id text, to_account_id text,
      currency text, amount text, track_id text NOT NULL,
      created_at bigint NOT NULL, updated_at bigint NOT NULL, lease_until bigint NOT NULL,
      answer text, code text, status integer, message text, settled_by text, bank_text text, request_id text, replica text,
      sealed_key text, history text NOT NULL, awaited boolean NOT NULL DEFAULT true)`,
    'CREATE INDEX payment_by_time ON bankql.payment (created_at, id)',
    'CREATE INDEX payment_by_caller ON bankql.payment (caller, created_at, id)',
    'CREATE INDEX payment_by_track_id ON bankql.payment (track_id)',
    'CREATE INDEX payment_by_request_id ON bankql.payment (request_id) WHERE request_id IS NOT NULL',
    `CREATE INDEX payment_unfinished ON bankql.payment (state, created_at, id) WHERE ${unfinished}`,
    `CREATE INDEX payment_unfinished_by_caller ON bankql.payment (caller, created_at, id) WHERE ${unfinished}`,
    "CREATE INDEX payment_by_lease ON bankql.payment (lease_until) WHERE state = 'PENDING'",
    `CREATE INDEX payment_by_end ON bankql.payment (updated_at) WHERE ${finished}`,
    `CREATE TABLE bankql.store (
      only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), version integer NOT NULL, store_id text NOT NULL,
      secret text NOT NULL, loss text, loss_accepted_by text, loss_accepted_at bigint)`,
    `CREATE TABLE bankql.tally (
      slot integer PRIMARY KEY, began bigint NOT NULL, gone bigint NOT NULL, newest_at bigint) WITH (fillfactor = 10)`,
    `INSERT INTO bankql.tally SELECT slot, 0, 0, NULL FROM generate_series(0, ${tallySlots - 1}) AS slot`,
    `CREATE TABLE bankql.missed_mark (
      store_id text PRIMARY KEY, began bigint NOT NULL, newest_at bigint, accepted_by text)`,
  ],
];

export interface SchemaOptions {
  /** Whether the tables are made where there are none. */
  readonly create: boolean;
  /** The store's secret, where one is known. */
  readonly secret: string | null;
}

/** The number that everybody locks who makes or changes the tables: "bankql" in ASCII. */
const lock = Number.parseInt(Buffer.from('bankql').toString('hex'), 16);

const versionRow = z.object({ version: z.number() });

/**
 * Makes the tables where there are none, and those of this version of older ones; of several that come at once one does
 * it, and the others wait for it.
 * Errors: ServerRefused where a newer bankql made them, where there are none and none may be made, or where the role may not;
 *         those of PostgresConnection.query.
 */
export async function prepareSchema(
  connection: PostgresConnection,
  { create, secret }: SchemaOptions,
  versions = migrations,
): Promise<void> {
  if ((await readVersion(connection, versions.length)) === versions.length) return;
  // Its limits are not those of a payment: many rows may have to be changed.
  const query = (text: string, values: readonly unknown[] = []) =>
    connection.query({ text, values }, migrationLimitMs);
  try {
    await query('BEGIN');
    await query('SET LOCAL statement_timeout = 0');
    await query('SET LOCAL lock_timeout = 0');
    await query('SELECT pg_advisory_xact_lock($1::bigint)', [String(lock)]);
    const version = await readVersion(connection, versions.length);
    if (version === null && !create)
      throw new ServerRefused('it holds no payments of bankql: name the store that bankql runs with');
    if (version === null && !(await exists(connection, 'schema'))) await query('CREATE SCHEMA bankql');
    for (const statements of versions.slice(version ?? 0)) for (const text of statements) await query(text);
    if (version === null)
      await query('INSERT INTO bankql.store (version, store_id, secret) VALUES ($1, $2, $3)', [
        versions.length,
        randomUUID(),
        secret ?? randomBytes(32).toString('hex'),
      ]);
    else await query('UPDATE bankql.store SET version = $1', [versions.length]);
    await query('COMMIT');
  } catch (error) {
    await query('ROLLBACK').catch(() => {});
    if (error instanceof DatabaseError && error.code === '42501')
      throw new ServerRefused(
        `${error.message}: let its owner run CREATE SCHEMA bankql AUTHORIZATION, with bankql's role`,
      );
    throw error;
  }
}

const migrationLimitMs = 60_000;

/** The tables' version; null where there are none. Errors: ServerRefused for one that this bankql does not know. */
async function readVersion(connection: PostgresConnection, known: number): Promise<number | null> {
  if (!(await exists(connection, 'store'))) return null;
  const { rows } = await connection.query({ text: 'SELECT version FROM bankql.store' });
  const { data } = versionRow.safeParse(rows[0]);
  if (data === undefined)
    throw new ServerRefused('it has lost its records: bankql.store is empty, put a backup back');
  if (data.version > known)
    throw new ServerRefused(
      `its tables are of version ${data.version}, and this bankql knows up to ${known}: run the newer bankql`,
    );
  return data.version;
}

/** Asked of the catalog: names that are looked up otherwise may be remembered as missing, from before the lock was waited for. */
const inCatalog = {
  schema: "SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = 'bankql') AS found",
  store: `SELECT EXISTS (SELECT FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace AS schema
    ON schema.oid = relnamespace WHERE nspname = 'bankql' AND relname = 'store') AS found`,
};

async function exists(connection: PostgresConnection, what: keyof typeof inCatalog): Promise<boolean> {
  const { rows } = await connection.query({ text: inCatalog[what] });
  return z.object({ found: z.boolean() }).parse(rows[0]).found;
}
