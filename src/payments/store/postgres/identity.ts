import { randomBytes, randomUUID } from 'node:crypto';
import { type ClientBase, DatabaseError } from 'pg';
import { z } from 'zod';
import { madeByOther, missingStore, storeFormat } from '../missing-store.ts';
import { parsed, ServerRefused, standbysConfirm, TablesMissing } from './server.ts';

/** Checks whether a server is the one that the records were written to. The only row of bankql.store identifies that server. */

const serverRow = z.object({
  /** Differs in a new cluster. Null if the server does not show it, as with some hosted servers. */
  system_identifier: z.string().nullable(),
  /** Increases when a standby is promoted. */
  timeline: z.number().nullable(),
  standbys_confirm: z.boolean(),
});
const storeRow = serverRow.extend({
  id: z.string(),
  secret: z.string(),
  /** Why records are missing, as a process has found out. Null from an operator's decision on. */
  loss: z.string().nullable(),
  loss_accepted_by: z.string().nullable(),
  /** When an operator decided to continue with a server that may lack records. Later than any earlier decision. */
  loss_accepted_at: z.date().nullable(),
});
export type ServerIdentity = Readonly<z.infer<typeof serverRow>>;
export type StoreIdentity = Readonly<z.infer<typeof storeRow>>;

export const createStoreTable = `CREATE TABLE bankql.store (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), version integer NOT NULL,
  id text NOT NULL, secret text NOT NULL,
  system_identifier text, timeline integer, standbys_confirm boolean NOT NULL,
  loss text, loss_accepted_by text, loss_accepted_at timestamptz)`;

/** The identity of a new store, or of a store that continues after the loss of its row. */
export const newIdentity = (): Pick<StoreIdentity, 'id' | 'secret'> => ({
  id: randomUUID(),
  secret: randomBytes(32).toString('hex'),
});

export async function readServer(client: ClientBase): Promise<ServerIdentity> {
  const ask = async (system: string, timeline: string, from: string) => {
    const columns = `${system} AS system_identifier, ${timeline} AS timeline, ${standbysConfirm} AS standbys_confirm`;
    const { rows } = await client.query(`SELECT ${columns} ${from}`);
    return parsed(serverRow, rows[0]);
  };
  try {
    // pg_control_checkpoint() does not know a promotion before the next checkpoint.
    const timeline = "('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int";
    return await ask('system_identifier::text', timeline, 'FROM pg_control_system()');
  } catch (error) {
    // The role may not ask, or the service has no such functions.
    if (error instanceof DatabaseError) return ask('null', 'null', '');
    throw error;
  }
}

/**
 * Compares a server with the one that a store was last seen on. `isWatched`: this process ran before a change, and the newest
 * record that it knows is there.
 * Shape: `loss` says why records may be missing; `change` describes a change without a loss. Both may be null.
 */
export function compareServers(
  stored: ServerIdentity,
  server: ServerIdentity,
  isWatched: boolean,
): { loss: string | null; change: string | null } {
  const lost = (because: string, remedy = '') => ({
    loss: `${because}, so that records may be missing${remedy}`,
    change: null,
  });
  const [from, to] = [stored.timeline, server.timeline];
  if (stored.system_identifier !== null && server.system_identifier !== null)
    if (stored.system_identifier !== server.system_identifier)
      return lost(
        `its server changed from system ${stored.system_identifier} to system ${server.system_identifier}`,
      );
  if (from === null || to === null || from === to) return { loss: null, change: null };
  const step = `its server changed from timeline ${from} to timeline ${to}`;
  if (to < from) return lost(`${step}, that of an old primary or an old copy`);
  if (!stored.standbys_confirm)
    return lost(
      `${step}, that of a standby which did not have to confirm payments (synchronous_standby_names was empty, or synchronous_commit local or off)`,
    );
  if (!isWatched)
    return lost(
      `${step} while no bankql ran that could compare them`,
      `. If it is your synchronous standby, nothing is lost: \`bankql payments accept-loss\`. If it was restored from a backup: \`bankql payments accept-loss --from-log FILE\` first`,
    );
  return { loss: null, change: `${step}, that of a standby which had to confirm payments` };
}

/** Relation or schema does not exist. */
const missing = new Set(['42P01', '3F000']);
/** The role lacks a privilege. */
const forbidden = '42501';

const mayWrite = `(SELECT bool_and(has_table_privilege(oid, privilege)) FROM pg_class,
  unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS privilege
  WHERE relnamespace = 'bankql'::regnamespace AND relkind = 'r') AS may_write`;

/**
 * The row of bankql.store; null if it is missing. `writes`: whether the role has to be able to write.
 * Errors: TablesMissing; ServerRefused if the tables have another format, or the role lacks a privilege.
 */
export async function readStore(
  client: ClientBase,
  shown: string,
  writes: boolean,
): Promise<StoreIdentity | null> {
  const { rows } = await client.query(`SELECT *, ${mayWrite} FROM bankql.store`).catch(async (error) => {
    const code = error instanceof DatabaseError ? (error.code ?? '') : '';
    if (missing.has(code)) throw new TablesMissing(missingStore(shown).message);
    throw code === forbidden ? await notAllowed(client) : error;
  });
  const [row] = rows;
  if (row === undefined) return null;
  if (Number(row.version) !== storeFormat) throw new ServerRefused(madeByOther(Number(row.version)));
  if (writes && row.may_write !== true) throw await notAllowed(client);
  return parsed(storeRow, row);
}

/** ALTER ROLE … SET ROLE makes the current role another one than that of the address. */
async function notAllowed(client: ClientBase): Promise<ServerRefused> {
  const { rows } = await client.query('SELECT current_user AS role');
  const role = `"${rows[0]?.role}"`;
  return new ServerRefused(
    `its role ${role} may not use the tables: let their owner run GRANT USAGE ON SCHEMA bankql TO ${role}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA bankql TO ${role}`,
  );
}

/**
 * Writes that records are missing, unless an operator has decided since `row` was read. Then no process begins a payment, also
 * after a restart, until an operator decides.
 */
export const writeLoss = (client: ClientBase, { id, loss_accepted_at }: StoreIdentity, loss: string) =>
  client.query(
    `UPDATE bankql.store SET loss = $1 WHERE id = $2 AND loss IS NULL AND loss_accepted_at IS NOT DISTINCT FROM $3`,
    [loss, id, loss_accepted_at],
  );

/**
 * Writes which server the store is on. `acceptedBy`: the person who continues with it although records may be missing.
 * Errors: ServerRefused if the row is another store's.
 */
export async function writeStore(
  client: ClientBase,
  { id, secret }: Pick<StoreIdentity, 'id' | 'secret'>,
  { system_identifier, timeline, standbys_confirm }: ServerIdentity,
  acceptedBy: string | null = null,
): Promise<StoreIdentity> {
  // Milliseconds, as JavaScript keeps them.
  const decidedAt = "date_trunc('milliseconds', clock_timestamp())";
  const { rows } = await client.query(
    `INSERT INTO bankql.store (version, id, secret, system_identifier, timeline, standbys_confirm, loss_accepted_by, loss_accepted_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, CASE WHEN $7::text IS NOT NULL THEN ${decidedAt} END)
      ON CONFLICT (only_row) DO UPDATE SET system_identifier = coalesce(excluded.system_identifier, store.system_identifier),
        timeline = coalesce(excluded.timeline, store.timeline), standbys_confirm = excluded.standbys_confirm,
        loss = CASE WHEN excluded.loss_accepted_by IS NULL THEN store.loss END,
        loss_accepted_by = coalesce(excluded.loss_accepted_by, store.loss_accepted_by),
        loss_accepted_at = CASE WHEN excluded.loss_accepted_by IS NULL THEN store.loss_accepted_at
          ELSE greatest(excluded.loss_accepted_at, store.loss_accepted_at + interval '1 millisecond') END
      WHERE store.id = excluded.id RETURNING *`,
    [storeFormat, id, secret, system_identifier, timeline, standbys_confirm, acceptedBy],
  );
  if (rows[0] === undefined) throw new ServerRefused('another store was made in its place');
  return parsed(storeRow, rows[0]);
}
