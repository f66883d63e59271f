import { Client } from 'pg';
import { z } from 'zod';
import { columnDefinitions, rowIndexes } from '../payment-table.ts';
import { clientOptions, type PostgresAddress } from './address.ts';
import { createStoreTable, newIdentity, readServer, readStore, writeStore } from './identity.ts';
import { connectError, openError, ServerRefused, setUp } from './server.ts';

const tables = [
  `CREATE TABLE bankql.payment (${columnDefinitions
    .join(', ')
    .replace('id TEXT', 'id TEXT COLLATE "C"')
    .replaceAll('INTEGER', 'bigint')})`,
  ...Object.entries(rowIndexes).map(([name, on]) => `CREATE INDEX ${name} ON bankql.payment ${on}`),
  createStoreTable,
];

/** Everybody who makes the tables locks this number: "bankql" in ASCII. */
const lock = Number.parseInt(Buffer.from('bankql').toString('hex'), 16);

/**
 * Makes the schema and the tables of a payment store. If several processes come at once, one does it, and the others wait for it.
 * Shape:  whether they were made; false if they were there.
 * Errors: an Error that names the server and the remedy.
 */
export async function initPostgres(address: PostgresAddress): Promise<boolean> {
  let client: Client | undefined;
  try {
    client = new Client(await clientOptions(address));
    client.on('error', () => {});
    await client.connect();
    // A volatile database is allowed here: the start refuses it, not the creation of tables.
    await setUp(client, { timeoutMs: 0, allowVolatile: true });
    return await makeTables(client);
  } catch (error) {
    const isForbidden = Object(error).code === '42501';
    const refused = isForbidden
      ? new ServerRefused(
          `${Object(error).message}: let the owner of the database run CREATE SCHEMA bankql AUTHORIZATION "${address.user}"`,
        )
      : error;
    throw openError(connectError(refused, address), address);
  } finally {
    // Also ends a transaction that has failed.
    await client?.end();
  }
}

async function makeTables(client: Client): Promise<boolean> {
  // Before the transaction, which would fail if the role may not call the functions.
  const server = await readServer(client);
  await client.query('BEGIN');
  await client.query('SELECT pg_advisory_xact_lock($1::bigint)', [String(lock)]);
  // Reads the catalog: other look-ups may have cached that the name was missing before the lock was obtained.
  const { rows } =
    await client.query(`SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = 'bankql') AS "hasSchema",
    EXISTS (SELECT FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace AS schema ON schema.oid = relnamespace
      WHERE nspname = 'bankql' AND relname = 'store') AS "hasTables"`);
  const { hasSchema, hasTables } = z
    .object({ hasSchema: z.boolean(), hasTables: z.boolean() })
    .parse(rows[0]);
  if (hasTables) {
    await readStore(client, '', false);
    return false;
  }
  if (!hasSchema) await client.query('CREATE SCHEMA bankql');
  for (const text of tables) await client.query(text);
  await writeStore(client, newIdentity(), server);
  await client.query('COMMIT');
  return true;
}
