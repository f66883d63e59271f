import { DatabaseError } from 'pg';
import { z } from 'zod';
import { columnDefinitions, rowIndexes } from '../payment-columns.ts';
import { type PostgresConnection, ServerRefused } from './connection.ts';

/** The tables of a payment store in PostgreSQL, in a schema of their own. */

/** Rows of `tally`: as many beginnings can be counted at once. */
export const tallySlots = 32;

/** Version 1 was never released. */
const schemaVersion = 2;

/**
 * store: one row; its metadata are those of lost-records.ts.
 * tally: how many payments were ever begun and how many of them are gone, and when the newest began. In several rows, since
 *   beginnings wait for each other's commit on the same one.
 */
const tables = [
  `CREATE TABLE bankql.payment (${columnDefinitions
    .join(', ')
    .replace('id TEXT', 'id text COLLATE "C"')
    .replaceAll('INTEGER', 'bigint')})`,
  ...Object.entries(rowIndexes).map(([name, on]) => `CREATE INDEX ${name} ON bankql.payment ${on}`),
  `CREATE TABLE bankql.store (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), version integer NOT NULL, metadata_version text, metadata text)`,
  `CREATE TABLE bankql.tally (
    slot integer PRIMARY KEY, began bigint NOT NULL, gone bigint NOT NULL, newest_at bigint) WITH (fillfactor = 10)`,
  `INSERT INTO bankql.tally SELECT slot, 0, 0, NULL FROM generate_series(0, ${tallySlots - 1}) AS slot`,
  `INSERT INTO bankql.store (version) VALUES (${schemaVersion})`,
];

/** The number that everybody locks who makes the tables: "bankql" in ASCII. */
const lock = Number.parseInt(Buffer.from('bankql').toString('hex'), 16);
const creationLimitMs = 60_000;

/**
 * Makes the tables if they are missing; if several processes come at once, one does it, and the others wait for it.
 * Errors: ServerRefused if another version of bankql made them, if they are missing and may not be made (`create`), or if the
 *         role may not; those of PostgresConnection.query.
 */
export async function prepareSchema(connection: PostgresConnection, create: boolean): Promise<void> {
  if (await hasTables(connection)) return;
  if (!create)
    throw new ServerRefused('it holds no payments of bankql: name the store that bankql runs with');
  // Its limits are not those of a payment: another process may be making them.
  const query = (text: string, values: readonly unknown[] = []) =>
    connection.query({ text, values }, creationLimitMs);
  try {
    await query('BEGIN');
    await query('SET LOCAL statement_timeout = 0');
    await query('SET LOCAL lock_timeout = 0');
    await query('SELECT pg_advisory_xact_lock($1::bigint)', [String(lock)]);
    if (!(await hasTables(connection))) {
      if (!(await exists(connection, 'schema'))) await query('CREATE SCHEMA bankql');
      for (const text of tables) await query(text);
    }
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

/** Whether there are tables. Errors: ServerRefused if this bankql does not know their version. */
async function hasTables(connection: PostgresConnection): Promise<boolean> {
  if (!(await exists(connection, 'store'))) return false;
  const { rows } = await connection.query({ text: 'SELECT version FROM bankql.store' });
  const { data } = versionRow.safeParse(rows[0]);
  if (data === undefined)
    throw new ServerRefused('it has lost its records: bankql.store is empty, put a backup back');
  if (data.version !== schemaVersion)
    throw new ServerRefused(
      `its tables are of version ${data.version}, and this bankql knows ${schemaVersion}: run the bankql that made them`,
    );
  return true;
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
