import { DatabaseError } from 'pg';
import { z } from 'zod';
import { rowIndexes } from '../../driver.ts';
import { type PostgresConnection, ServerRefused } from './connection.ts';

/** The tables of a payment store in PostgreSQL, in a schema of their own, and how older ones become them. */

/** Rows of `tally`: as many beginnings can be counted at once. */
export const tallySlots = 32;

const indexes = Object.entries(rowIndexes).map(
  ([name, on]) => `CREATE INDEX ${name} ON bankql.payment ${on}`,
);

const payment = `CREATE TABLE bankql.payment (
  id text COLLATE "C" PRIMARY KEY, version text NOT NULL, caller text NOT NULL, payer text, state text NOT NULL,
  track_id text NOT NULL, request_id text, account_id text NOT NULL, to_account_id text,
  created_at bigint NOT NULL, updated_at bigint NOT NULL, lease_until bigint NOT NULL, json text NOT NULL)`;

/**
 * store: one row; its metadata are those of lost-records.ts.
 * tally: how many payments were ever begun and how many of them are gone, and when the newest began. In several rows, since
 *   beginnings wait for each other's commit on the same one.
 */
const newTables = [
  payment,
  ...indexes,
  `CREATE TABLE bankql.store (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), version integer NOT NULL, metadata_version text, metadata text)`,
  `CREATE TABLE bankql.tally (
    slot integer PRIMARY KEY, began bigint NOT NULL, gone bigint NOT NULL, newest_at bigint) WITH (fillfactor = 10)`,
  `INSERT INTO bankql.tally SELECT slot, 0, 0, NULL FROM generate_series(0, ${tallySlots - 1}) AS slot`,
  'INSERT INTO bankql.store (version) VALUES (0)',
];

/** bankql 0.2.0 had a column for each field of a record, and for each of the metadata. */
const fromVersion1 = [
  'CREATE TABLE bankql.payment_of_version_1 AS TABLE bankql.payment',
  // And its indexes, whose names are used again.
  'DROP TABLE bankql.payment',
  payment,
  `INSERT INTO bankql.payment SELECT id, md5(random()::text || id), caller, NULL, state, track_id, request_id, account_id,
    to_account_id, created_at, updated_at, lease_until, json_build_object(
      'id', id, 'caller', caller, 'fingerprint', fingerprint, 'state', state, 'operation', operation, 'bankId', bank_id,
      'accountId', account_id, 'toBankId', to_bank_id, 'toAccountId', to_account_id, 'currency', currency, 'amount', amount,
      'trackId', track_id, 'createdAt', created_at, 'updatedAt', updated_at, 'leaseUntil', lease_until, 'answer', answer,
      'code', code, 'status', status, 'message', message, 'settledBy', settled_by, 'bankText', bank_text,
      'requestId', request_id, 'replica', replica, 'sealedKey', sealed_key, 'history', history, 'awaited', awaited)::text
    FROM bankql.payment_of_version_1`,
  'DROP TABLE bankql.payment_of_version_1',
  ...indexes,
  'ALTER TABLE bankql.store ADD COLUMN metadata_version text, ADD COLUMN metadata text',
  `UPDATE bankql.store SET metadata_version = md5(random()::text), metadata = json_build_object(
    'storeId', store_id, 'secret', secret, 'loss', loss, 'acceptedAt', loss_accepted_at,
    'missed', (SELECT coalesce(json_agg(json_build_object('storeId', m.store_id, 'began', m.began, 'newestAt', m.newest_at)), '[]')
      FROM bankql.missed_mark AS m WHERE accepted_by IS NULL),
    'accepted', (SELECT coalesce(json_agg(m.store_id), '[]') FROM bankql.missed_mark AS m WHERE accepted_by IS NOT NULL))::text`,
  `ALTER TABLE bankql.store DROP COLUMN store_id, DROP COLUMN secret, DROP COLUMN loss, DROP COLUMN loss_accepted_by,
    DROP COLUMN loss_accepted_at`,
  'DROP TABLE bankql.missed_mark',
];

const schemaVersion = 2;

/** The number that everybody locks who makes or changes the tables: "bankql" in ASCII. */
const lock = Number.parseInt(Buffer.from('bankql').toString('hex'), 16);
const migrationLimitMs = 600_000;

/**
 * Makes the tables if they are missing, and upgrades older ones to this version; if several processes come at once, one does
 * it, and the others wait for it.
 * Errors: ServerRefused if a newer bankql made them, if they are missing and may not be made (`create`), or if the role may
 *         not; those of PostgresConnection.query.
 */
export async function prepareSchema(connection: PostgresConnection, create: boolean): Promise<void> {
  if ((await readVersion(connection)) === schemaVersion) return;
  // Its limits are not those of a payment: many rows may have to be changed.
  const query = (text: string, values: readonly unknown[] = []) =>
    connection.query({ text, values }, migrationLimitMs);
  try {
    await query('BEGIN');
    await query('SET LOCAL statement_timeout = 0');
    await query('SET LOCAL lock_timeout = 0');
    await query('SELECT pg_advisory_xact_lock($1::bigint)', [String(lock)]);
    const version = await readVersion(connection);
    if (version === null && !create)
      throw new ServerRefused('it holds no payments of bankql: name the store that bankql runs with');
    if (version === null && !(await exists(connection, 'schema'))) await query('CREATE SCHEMA bankql');
    if (version !== schemaVersion)
      for (const text of version === null ? newTables : fromVersion1) await query(text);
    await query('UPDATE bankql.store SET version = $1', [schemaVersion]);
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

const versionRow = z.object({ version: z.number() });

/** The tables' version; null without tables. Errors: ServerRefused for one that this bankql does not know. */
async function readVersion(connection: PostgresConnection): Promise<number | null> {
  if (!(await exists(connection, 'store'))) return null;
  const { rows } = await connection.query({ text: 'SELECT version FROM bankql.store' });
  const { data } = versionRow.safeParse(rows[0]);
  if (data === undefined)
    throw new ServerRefused('it has lost its records: bankql.store is empty, put a backup back');
  if (data.version > schemaVersion)
    throw new ServerRefused(
      `its tables are of version ${data.version}, and this bankql knows up to ${schemaVersion}: run the newer bankql`,
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
