import { randomBytes, randomUUID } from 'node:crypto';
import { Client, type ClientBase, DatabaseError } from 'pg';
import { z } from 'zod';
import { reasonOf } from '../../../errors.ts';
import { madeByOther, missingStore, otherStore, storeFormat } from '../missing-store.ts';
import { columnDefinitions, rowIndexes } from '../payment-table.ts';
import { clientOptions, type PostgresAddress, shownAddress } from './address.ts';

/** A PostgreSQL server: whether it may hold payments, whether the records were written to this server, and its tables. */

/** A server that answers, and cannot be used. The message says why, and names the remedy if it is known. */
export class ServerRefused extends Error {
  override readonly name = 'ServerRefused';
}

/** The tables do not exist. The message is a whole sentence. */
class TablesMissing extends ServerRefused {}

const oldestVersion = 14;
const allow = 'or accept that it may forget payments with STATE_ALLOW_VOLATILE=1';

const serverAnswer = z.object({
  standby: z.boolean(),
  read_only: z.boolean(),
  version: z.number(),
  encoding: z.string(),
  fsync: z.string(),
  full_page_writes: z.string(),
  synchronous_commit: z.string(),
  has_standbys: z.boolean(),
  pid: z.number(),
  started_at: z.string(),
});

/** Whether a commit of this session waits for a standby, as the server is configured now. */
export const standbysConfirm =
  "(current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') NOT IN ('local', 'off'))";

const askServer = `SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS read_only,
  current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding,
  current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes,
  current_setting('synchronous_commit') AS synchronous_commit,
  current_setting('synchronous_standby_names') <> '' AS has_standbys,
  pid, backend_start::text AS started_at FROM pg_stat_activity WHERE pid = pg_backend_pid()`;

export interface SetUpOptions {
  /** The time after which the server cancels a statement, or its wait for a lock. 0: never. */
  readonly timeoutMs: number;
  /** Whether a server that may lose payments is accepted. */
  readonly allowVolatile: boolean;
  /** Further settings of the session. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
}

/** The server's process for a connection. A later one may have the same process id. */
export interface Backend {
  readonly pid: number;
  readonly startedAt: string;
}

/**
 * Sets up a new connection, and refuses a server that would forget payments or cannot hold them.
 * Errors: ServerRefused; those of pg.
 */
export async function setUp(
  client: ClientBase,
  { timeoutMs, allowVolatile, settings: further = {} }: SetUpOptions,
): Promise<Backend> {
  const { rows } = await asLogin(client, () => client.query(askServer));
  const server = parsed(serverAnswer, rows[0]);
  checkServer(server, allowVolatile);
  const settings = {
    // The settings are set by a statement, because poolers refuse them as startup parameters.
    statement_timeout: String(timeoutMs),
    lock_timeout: String(timeoutMs),
    // These settings are fixed for the session, so that a later change of the server's or the role's configuration
    // has no effect.
    synchronous_commit: server.synchronous_commit,
    default_transaction_isolation: 'read committed',
    // If no standby has confirmed a commit, the server reports this as a warning.
    client_min_messages: 'warning',
    jit: 'off',
    ...further,
  };
  const calls = Object.keys(settings).map((name, n) => `set_config('${name}', $${n + 1}, false)`);
  await client.query(`SELECT ${calls.join(', ')}`, Object.values(settings));
  return { pid: server.pid, startedAt: server.started_at };
}

/**
 * Does work as the role that has logged in. With ALTER ROLE … SET ROLE, a connection begins as another role, which neither sees
 * nor ends the backends of the first one.
 */
export async function asLogin<T>(client: ClientBase, work: () => Promise<T>): Promise<T> {
  await client.query('SET ROLE NONE');
  const result = await work();
  await client.query('RESET ROLE');
  return result;
}

/** Errors: ServerRefused, with the columns that do not match: zod's own words would not help an operator. */
export function parsed<T>(shape: z.ZodType<T>, row: unknown): T {
  const { data, error } = shape.safeParse(row);
  if (data !== undefined) return data;
  const names = error?.issues.map(({ path }) => path.join('.') || 'a row').join(', ');
  throw new ServerRefused(`it does not show ${names} to this role`);
}

function checkServer(found: z.infer<typeof serverAnswer>, allowVolatile: boolean): void {
  if (found.standby)
    throw new ServerRefused('it is a standby: STATE_URL has to lead to the primary, also after a failover');
  if (found.read_only) throw new ServerRefused('it is read-only (default_transaction_read_only)');
  if (found.version < oldestVersion * 10_000)
    throw new ServerRefused(
      `its version is ${Math.floor(found.version / 10_000)}: run PostgreSQL ${oldestVersion} or newer`,
    );
  if (found.encoding !== 'UTF8')
    throw new ServerRefused(
      `the database's encoding is ${found.encoding}: make one for bankql with ENCODING 'UTF8'`,
    );
  if (allowVolatile) return;
  for (const name of ['fsync', 'full_page_writes'] as const)
    if (found[name] !== 'on')
      throw new ServerRefused(
        `its ${name} is ${found[name]}, so that a power cut forgets payments: set "${name} = on" there, ${allow}`,
      );
  const commit = found.synchronous_commit;
  const remedy = `set "synchronous_commit = on" there or for bankql's role (ALTER ROLE … SET), ${allow}`;
  if (commit === 'off')
    throw new ServerRefused(
      `its synchronous_commit is off, so that a crash forgets the last payments: ${remedy}`,
    );
  if (commit === 'local' && found.has_standbys)
    throw new ServerRefused(
      `its synchronous_commit is local, so that no standby confirms payments: ${remedy}`,
    );
}

/** Codes of a server that will recover by itself: it starts or stops, is full, or has become read-only. */
const passing = /^(08|57|53|25|55|40)/;
/** Node's codes for a certificate that is untrusted, expired, or for another name. */
const untrusted = /^(ERR_TLS_CERT_ALTNAME_INVALID|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/**
 * The error that says why no connection was opened. It does not contain the password. It is a ServerRefused
 * if trying again would not help.
 */
export function connectError(error: unknown, address: PostgresAddress): Error {
  if (error instanceof ServerRefused) return error;
  const reason = reasonOf(error, address.password);
  if (error instanceof DatabaseError) {
    return passing.test(error.code ?? '') ? new Error(reason) : new ServerRefused(reason);
  }
  if (untrusted.test(String(Object(error).code)))
    return new ServerRefused(
      `its certificate is not accepted: ${reason} (sslrootcert in STATE_URL names the file of the authority that vouches for it)`,
    );
  if (address.password === undefined && reason.startsWith('SASL'))
    return new ServerRefused('it asks for a password, and STATE_URL has none');
  if (/not support SSL/.test(reason))
    return new ServerRefused(`${reason} (where its network is trusted, say sslmode=disable in STATE_URL)`);
  return new Error(reason);
}

/** The error for a store that cannot be opened. It has no cause: pg's error may contain what was sent. */
export function openError(error: Error, address: PostgresAddress): Error {
  if (error instanceof TablesMissing) return new Error(error.message);
  const shown = shownAddress(address);
  return error instanceof ServerRefused
    ? otherStore(shown, error.message)
    : new Error(
        `The payment store ${shown} cannot be reached: ${error.message}. STATE_URL has to name a PostgreSQL that runs.`,
      );
}

/** The identity of a server. The only row of bankql.store has the identity of the store's server. */
const serverRow = z.object({
  /** Differs in a new cluster. Null if the server does not show it, like some hosted servers. */
  system_identifier: z.string().nullable(),
  /** Increases when a standby is promoted. */
  timeline: z.number().nullable(),
  standbys_confirm: z.boolean(),
});
const storeRow = serverRow.extend({
  id: z.string(),
  secret: z.string(),
  /** Why records are missing, if a process has noticed it; null again once an operator has accepted the loss. */
  loss: z.string().nullable(),
  loss_accepted_by: z.string().nullable(),
  /** The last time at which an operator accepted a server that may lack records. */
  loss_accepted_at: z.date().nullable(),
});
export type ServerIdentity = Readonly<z.infer<typeof serverRow>>;
export type StoreIdentity = Readonly<z.infer<typeof storeRow>>;

const createStoreTable = `CREATE TABLE bankql.store (
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
    // The timeline comes from the WAL position: pg_control_checkpoint() shows a promotion only after the next
    // checkpoint.
    const timeline = "('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int";
    return await ask('system_identifier::text', timeline, 'FROM pg_control_system()');
  } catch (error) {
    // The role may not call the functions, or the service does not have them.
    if (error instanceof DatabaseError) return ask('null', 'null', '');
    throw error;
  }
}

/**
 * Compares a server with the server on which the store was last seen. `isWatched`: whether this process ran before the
 * change, and the server has the newest record that the process knows.
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

/** The codes for a table or a schema that does not exist. */
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

/** The error for a missing privilege. It names the current role, which ALTER ROLE … SET ROLE may have set. */
async function notAllowed(client: ClientBase): Promise<ServerRefused> {
  const { rows } = await client.query('SELECT current_user AS role');
  const role = `"${rows[0]?.role}"`;
  return new ServerRefused(
    `its role ${role} may not use the tables: let their owner run GRANT USAGE ON SCHEMA bankql TO ${role}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA bankql TO ${role}`,
  );
}

/**
 * Writes that records are missing, unless an operator has accepted the loss since the row was read. From then on no process
 * begins a payment, not even after a restart, until an operator accepts the loss.
 */
export const writeLoss = (client: ClientBase, { id, loss_accepted_at }: StoreIdentity, loss: string) =>
  client.query(
    `UPDATE bankql.store SET loss = $1 WHERE id = $2 AND loss IS NULL AND loss_accepted_at IS NOT DISTINCT FROM $3`,
    [loss, id, loss_accepted_at],
  );

/**
 * Writes on which server the store is. `acceptedBy`: the person who accepted that records may be missing there.
 * Errors: ServerRefused if the row is another store's.
 */
export async function writeStore(
  client: ClientBase,
  { id, secret }: Pick<StoreIdentity, 'id' | 'secret'>,
  { system_identifier, timeline, standbys_confirm }: ServerIdentity,
  acceptedBy: string | null = null,
): Promise<StoreIdentity> {
  // The time is truncated to milliseconds, so that it stays the same as a JavaScript date.
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

const tables = [
  `CREATE TABLE bankql.payment (${columnDefinitions
    .join(', ')
    .replace('id TEXT', 'id TEXT COLLATE "C"')
    .replaceAll('INTEGER', 'bigint')})`,
  ...Object.entries(rowIndexes).map(([name, on]) => `CREATE INDEX ${name} ON bankql.payment ${on}`),
  createStoreTable,
];

/** The number of the lock that every process takes before it makes the tables: "bankql" in ASCII. */
const lock = Number.parseInt(Buffer.from('bankql').toString('hex'), 16);

/**
 * Makes the schema and the tables of a payment store. If several processes do this at once, one makes them, and the others wait
 * for it.
 * Shape: whether they were made; false if they existed.
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
    // Closing the connection also ends a transaction that has failed.
    await client?.end();
  }
}

async function makeTables(client: Client): Promise<boolean> {
  // The identity is read before the transaction: inside it, a role that may not call the functions would make
  // the transaction fail.
  const server = await readServer(client);
  await client.query('BEGIN');
  await client.query('SELECT pg_advisory_xact_lock($1::bigint)', [String(lock)]);
  // The query reads the catalog's tables, because other look-ups may use a cache from before the lock was
  // obtained.
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
