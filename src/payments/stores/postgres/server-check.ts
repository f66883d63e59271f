import { z } from 'zod';
import { type PostgresConnection, ServerRefused } from './connection.ts';

export interface ServerDemands {
  /** Whether a server may forget payments. */
  readonly allowVolatile: boolean;
  /** Standbys that have to confirm each payment. */
  readonly waitReplicas: number;
  /** Whether STATE_URL names several hosts: then a standby takes over that has only what it confirmed. */
  readonly failsOver: boolean;
}

const allow = 'or accept that it may forget payments with STATE_ALLOW_VOLATILE=1';
const oldestVersion = 13;

const settings = z.object({
  version: z.number(),
  encoding: z.string(),
  fsync: z.string(),
  fullPageWrites: z.string(),
  synchronousCommit: z.string(),
  standbyNames: z.string(),
});

/** What is read of the server, each setting under the name that `settings` has for it. */
const read = `SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding,
  current_setting('fsync') AS fsync, current_setting('full_page_writes') AS "fullPageWrites",
  current_setting('synchronous_commit') AS "synchronousCommit", current_setting('synchronous_standby_names') AS "standbyNames"`;

/**
 * Sets a session up. Locks and statements have the limit of a call; warnings have to arrive, because a commit that no standby
 * confirmed is one; and what the role or the database has set must not change what statements mean.
 */
export async function setUpSession(connection: PostgresConnection, timeoutMs: number): Promise<void> {
  const values = {
    statement_timeout: String(timeoutMs),
    lock_timeout: String(timeoutMs),
    idle_in_transaction_session_timeout: '10000',
    default_transaction_isolation: 'read committed',
    client_min_messages: 'warning',
    jit: 'off',
  };
  const names = Object.keys(values);
  const calls = names.map((name, n) => `set_config('${name}', $${n + 1}, false)`);
  await connection.query({ text: `SELECT ${calls.join(', ')}`, values: Object.values(values) });
}

/**
 * Refuses a server that would forget payments, or that cannot hold them.
 * Errors: ServerRefused; those of PostgresConnection.query.
 */
export async function checkServer(connection: PostgresConnection, demands: ServerDemands): Promise<void> {
  const { rows } = await connection.query({ text: read });
  const found = settings.parse(rows[0]);
  if (found.version < oldestVersion * 10_000)
    throw new ServerRefused(
      `its version is ${Math.floor(found.version / 10_000)}: run PostgreSQL ${oldestVersion} or newer`,
    );
  if (found.encoding !== 'UTF8')
    throw new ServerRefused(
      `the database's encoding is ${found.encoding}: make one for bankql with ENCODING 'UTF8'`,
    );
  if (demands.allowVolatile) return;
  for (const [name, value] of [
    ['fsync', found.fsync],
    ['full_page_writes', found.fullPageWrites],
  ] as const) {
    if (value !== 'on')
      throw new ServerRefused(
        `its ${name} is ${value}, so that a power cut forgets payments: set "${name} = on" there, ${allow}`,
      );
  }
  if (demands.failsOver && demands.waitReplicas === 0)
    throw new ServerRefused(
      `STATE_URL names several hosts, and a standby may take over that does not have the last payments: have standbys confirm each of them, with synchronous_standby_names there and STATE_WAIT_REPLICAS=1 or more, ${allow}`,
    );
  const reason = unconfirmed(found, demands.waitReplicas);
  if (reason !== null) throw new ServerRefused(`${reason}, ${allow}`);
}

export interface CommitSettings {
  readonly synchronousCommit: string;
  readonly standbyNames: string;
}

/** Why a commit under these settings may be forgotten, and the remedy; null where it is confirmed as it has to be. */
export function unconfirmed(
  { synchronousCommit, standbyNames }: CommitSettings,
  waitReplicas: number,
): string | null {
  const confirming = confirmingStandbys(standbyNames);
  const remedy = 'set "synchronous_commit = on" there or for bankql\'s role (ALTER ROLE … SET)';
  if (synchronousCommit === 'off')
    return `its synchronous_commit is off, so that a crash forgets the last payments: ${remedy}`;
  if (synchronousCommit === 'local' && confirming + waitReplicas > 0)
    return `its synchronous_commit is local, so that no standby confirms payments: ${remedy}`;
  if (confirming < waitReplicas)
    return `its synchronous_standby_names ${standbyNames === '' ? 'is empty' : `has ${confirming} confirm a payment`}, and STATE_WAIT_REPLICAS is ${waitReplicas}: set it there, such as "FIRST ${waitReplicas} (*)"`;
  return null;
}

/** How many standbys have to confirm a commit: `FIRST 2 (a, b, c)`, `ANY 1 (*)`, `2 (a, b)`, or a list, of which one has to. */
export function confirmingStandbys(names: string): number {
  if (names.trim() === '') return 0;
  return Number(/^\s*(?:(?:first|any)\s+)?(\d+)\s*\(/i.exec(names)?.[1] ?? 1);
}
