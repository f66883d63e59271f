import { type ClientBase, DatabaseError } from 'pg';
import { z } from 'zod';
import { reasonOf } from '../../../errors.ts';
import { otherStore } from '../missing-store.ts';
import { type PostgresAddress, shownAddress } from './address.ts';

/** A server that answers, and cannot be used. The message says why, and names the remedy if it is known. */
export class ServerRefused extends Error {
  override readonly name = 'ServerRefused';
}

/** There are no tables. The message is a whole sentence. */
export class TablesMissing extends ServerRefused {}

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

interface SetUpOptions {
  /** The time after which the server cancels a statement, or its wait for a lock. 0: never. */
  readonly timeoutMs: number;
  /** Whether a server is accepted that may forget payments. */
  readonly allowVolatile: boolean;
  /** Further settings of the session. */
  readonly settings?: Readonly<Record<string, string>>;
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
    // Set by a statement: poolers refuse these settings as startup parameters.
    statement_timeout: String(timeoutMs),
    lock_timeout: String(timeoutMs),
    // A later change of the server's configuration, or one of the role's, does not change what statements mean.
    synchronous_commit: server.synchronous_commit,
    default_transaction_isolation: 'read committed',
    // A commit that no standby has confirmed is a warning.
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

/** Errors: ServerRefused, if the server answers something else: the words of zod help nobody. */
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

/** Why no connection was opened, without the password: a ServerRefused if trying again would not help. */
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
