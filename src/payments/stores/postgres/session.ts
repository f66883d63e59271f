import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { messageOf, reasonOf } from '../../../errors.ts';
import { startResponseTimeout } from '../response-timeout.ts';
import { type PostgresAddress, shownHost } from './address.ts';
import {
  type ConnectionOptions,
  isPassing,
  openConnection,
  type PostgresConnection,
  ServerNotReady,
  ServerRefused,
} from './connection.ts';
import type { PostgresStoreOptions } from './postgres-store.ts';
import { prepareSchema } from './schema.ts';

interface SessionOptions
  extends Required<
    Pick<PostgresStoreOptions, 'address' | 'timeoutMs' | 'allowVolatile' | 'waitReplicas' | 'create'>
  > {
  /** See DriverHooks. */
  readonly onConnect: (connection: PostgresConnection) => Promise<void>;
}

/** Connecting takes longer than most calls: names, TLS, a server that has just started. */
const minConnectTimeoutMs = 2_000;
/** The same for the first connection, for which no payment waits. */
const minFirstConnectTimeoutMs = 10_000;

/** Ends the backends that are still there, and selects them. A later one may have the same process id. */
const endBackends = `SELECT activity.pid, pg_terminate_backend(activity.pid) FROM pg_stat_activity AS activity,
  unnest($1::int[], $2::text[]) AS left_behind (pid, started_at)
  WHERE activity.pid = left_behind.pid AND activity.backend_start::text = left_behind.started_at`;

/**
 * Opens connections to the server that takes writes; each is checked again, for a failover may lead to another one, and is set
 * up for payments. A new one to a later primary is followed by the end of those to the earlier one.
 *
 * A backend whose client has left may wait for a standby for ever, and what it has written is neither visible nor gone: the
 * next connection ends those that this process left behind.
 * Errors of what it makes: ServerRefused, ServerNotReady; an Error if no server is reached.
 */
export function createSessionOpener(options: SessionOptions) {
  const { address, timeoutMs } = options;
  const leftBehind = new Set<Primary['server']>();
  const open = new Map<PostgresConnection, number>();
  let latestTimeline = 0;
  let isFirst = true;

  /**
   * Ends the backends of lost connections, and resolves when they are gone: what they were doing is stored then, or never will be.
   * Errors: those of PostgresConnection.query; an Error if one does not end.
   */
  async function endLeftBehind(connection: PostgresConnection): Promise<void> {
    const others = [...leftBehind];
    if (others.length === 0) return;
    const values = [others.map(({ pid }) => pid), others.map((backend) => backend.started_at)];
    for (let pause = 0.005; ; pause *= 2) {
      const { rows } = await connection.query({ text: endBackends, values });
      if (rows.length === 0) break;
      if (pause > 0.2) throw new Error('a connection that was lost does not end');
      await delay(pause * 1_000);
    }
    for (const other of others) leftBehind.delete(other);
  }

  async function check({ connection, server }: Primary, settings: SessionSettings): Promise<void> {
    // If the connection is lost with a statement under way, its backend is to be ended.
    void connection.lost.then(({ wasBusy }) => {
      if (wasBusy) leftBehind.add(server);
    });
    checkServer(server, options);
    await setUpSession(connection, timeoutMs, settings);
    await endLeftBehind(connection);
    await prepareSchema(connection, options.allowVolatile || options.create);
    await options.onConnect(connection);
  }

  return {
    endLeftBehind,
    async open(closing: AbortSignal, settings: SessionSettings): Promise<PostgresConnection> {
      const primary = await findPrimary(address, latestTimeline, {
        timeoutMs,
        connectTimeoutMs: Math.max(isFirst ? minFirstConnectTimeoutMs : minConnectTimeoutMs, timeoutMs),
        closing,
      });
      const { connection, timeline } = primary;
      try {
        await check(primary, settings);
      } catch (error) {
        const [reason = ''] = messageOf(error).split('\n', 1);
        connection.drop(reason);
        throw isPassing(error) ? new ServerNotReady(reason) : new ServerRefused(reason);
      }
      isFirst = false;
      latestTimeline = Math.max(latestTimeline, timeline ?? 0);
      for (const [other, itsTimeline] of open)
        if (itsTimeline < (timeline ?? 0)) other.drop('a standby was promoted in the place of its server');
      open.set(connection, timeline ?? 0);
      void connection.lost.then(() => open.delete(connection));
      return connection;
    },
  };
}

/** How long others may take to say that they are the newer primary, once one takes writes. */
const graceMs = 200;

/**
 * Connects to the host that takes writes (libpq's target_session_attrs=read-write). If several take writes, an old primary
 * came back: the one that was promoted last counts. No server counts whose timeline is older than `latestTimeline`.
 * Errors: ServerRefused; ServerNotReady, or an Error if no host is reached, that says why there is no primary now.
 */
async function findPrimary(
  address: PostgresAddress,
  latestTimeline: number,
  options: ConnectionOptions,
): Promise<Primary> {
  const found: Primary[] = [];
  let isChosen = false;
  const asked = address.hosts.map(async (host) => {
    const primary = await askHost(address, host, latestTimeline, options);
    if (isChosen) primary.connection.end();
    else found.push(primary);
  });
  const everybody = Promise.allSettled(asked);
  const { promise: grace, resolve } = Promise.withResolvers<void>();
  const startGrace = () => void startResponseTimeout(graceMs, resolve);
  Promise.any(asked).then(startGrace, () => {});
  await Promise.race([everybody, grace]);
  isChosen = true;
  const [latest, ...older] = found.sort((a, b) => (b.timeline ?? 0) - (a.timeline ?? 0));
  for (const { connection } of older) connection.end();
  if (latest !== undefined) return latest;
  const errors = (await everybody).map((each) => (each.status === 'rejected' ? each.reason : null));
  if (errors.length === 1) throw errors[0];
  const reasons = address.hosts.map((host, n) => `${shownHost(host)}: ${errors[n].message}`);
  const summary = `none of its hosts takes writes (${reasons.join('; ')})`;
  throw errors.some((error) => error instanceof ServerNotReady)
    ? new ServerNotReady(summary)
    : new Error(summary);
}

/** The first eight digits of the name of the file that the server writes its log to. */
const askTimeline = 'SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS timeline';

type Primary = Awaited<ReturnType<typeof askHost>>;

/**
 * A connection to a server that takes writes. Its timeline goes up with each promotion of a standby; null where the server does
 * not say.
 * Errors: those of openConnection; ServerRefused if it is not a primary; ServerNotReady if it does not answer, or is of an older timeline.
 */
async function askHost(
  address: PostgresAddress,
  host: PostgresAddress['hosts'][number],
  latestTimeline: number,
  options: ConnectionOptions,
) {
  const connection = await openConnection(address, host, options);
  try {
    const { rows } = await connection.query({ text: askServer });
    const server = serverAnswer.parse(rows[0]);
    if (server.standby)
      throw new ServerRefused('it is a standby: name the primary, or all hosts of the cluster');
    if (server.readOnly) throw new ServerRefused('it is read-only (default_transaction_read_only)');
    // Some hosted servers do not say; a connection that ended is noticed by what comes next.
    const said = await connection.query({ text: askTimeline }).catch(() => ({ rows: [] }));
    const { data } = z.object({ timeline: z.string() }).safeParse(said.rows[0]);
    const timeline = data === undefined ? null : Number.parseInt(data.timeline, 16);
    if (timeline !== null && timeline < latestTimeline)
      throw new Error(
        `it is an old primary, of timeline ${timeline}, and a standby was promoted to timeline ${latestTimeline} since (if it was created again, restart bankql)`,
      );
    return { connection, server, timeline };
  } catch (error) {
    connection.drop(messageOf(error));
    throw error instanceof ServerRefused ? error : new ServerNotReady(reasonOf(error));
  }
}

/** Settings of a session by their names, for one kind of statements. */
export type SessionSettings = Readonly<Record<string, string>>;

const allow = 'or accept that it may forget payments with STATE_ALLOW_VOLATILE=1';
const oldestVersion = 13;

export const commitSettings = z.object({ synchronousCommit: z.string(), standbyNames: z.string() });
const serverAnswer = commitSettings.extend({
  standby: z.boolean(),
  readOnly: z.boolean(),
  version: z.number(),
  encoding: z.string(),
  fsync: z.string(),
  fullPageWrites: z.string(),
  pid: z.number(),
  started_at: z.string(),
});

/** Reads what a connection leads to, each under the name that `serverAnswer` has for it. */
const askServer = `SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS "readOnly",
  current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding,
  current_setting('fsync') AS fsync, current_setting('full_page_writes') AS "fullPageWrites",
  current_setting('synchronous_commit') AS "synchronousCommit", current_setting('synchronous_standby_names') AS "standbyNames",
  pid, backend_start::text AS started_at FROM pg_stat_activity WHERE pid = pg_backend_pid()`;

/**
 * Sets a session up. The server gives statements and locks up shortly before bankql gives the connection up, and says then that
 * nothing is stored; warnings have to arrive, because a commit that no standby confirmed is one; and what the role or the database
 * has set must not change what statements mean.
 */
export async function setUpSession(
  connection: PostgresConnection,
  timeoutMs: number,
  settings: SessionSettings = {},
): Promise<void> {
  const limit = String(Math.ceil(timeoutMs * 0.8));
  const values = {
    statement_timeout: limit,
    lock_timeout: limit,
    idle_in_transaction_session_timeout: '10000',
    default_transaction_isolation: 'read committed',
    client_min_messages: 'warning',
    jit: 'off',
    ...settings,
  };
  const names = Object.keys(values);
  const calls = names.map((name, n) => `set_config('${name}', $${n + 1}, false)`);
  await connection.query({ text: `SELECT ${calls.join(', ')}`, values: Object.values(values) });
}

/** Refuses a server that would forget payments, or that cannot hold them. Errors: ServerRefused. */
function checkServer(
  found: z.infer<typeof serverAnswer>,
  { address, allowVolatile, waitReplicas }: SessionOptions,
): void {
  if (found.version < oldestVersion * 10_000)
    throw new ServerRefused(
      `its version is ${Math.floor(found.version / 10_000)}: run PostgreSQL ${oldestVersion} or newer`,
    );
  if (found.encoding !== 'UTF8')
    throw new ServerRefused(
      `the database's encoding is ${found.encoding}: make one for bankql with ENCODING 'UTF8'`,
    );
  if (allowVolatile) return;
  for (const [name, value] of [
    ['fsync', found.fsync],
    ['full_page_writes', found.fullPageWrites],
  ] as const) {
    if (value !== 'on')
      throw new ServerRefused(
        `its ${name} is ${value}, so that a power cut forgets payments: set "${name} = on" there, ${allow}`,
      );
  }
  // A standby that takes over has only what it confirmed.
  if (address.hosts.length > 1 && waitReplicas === 0)
    throw new ServerRefused(
      `STATE_URL names several hosts, and a standby may take over that does not have the last payments: have standbys confirm each of them, with synchronous_standby_names there and STATE_WAIT_REPLICAS=1 or more, ${allow}`,
    );
  const reason = unconfirmed(found, waitReplicas);
  if (reason !== null) throw new ServerRefused(`${reason}, ${allow}`);
}

/** Why a commit under these settings may be forgotten, and the remedy; null if it is confirmed as required. */
export function unconfirmed(
  { synchronousCommit, standbyNames }: z.infer<typeof commitSettings>,
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

/**
 * How many standbys have to confirm a commit: `FIRST 2 (a, b, c)`, `ANY 1 (*)`, `2 (a, b)`, or a list, for which one is enough.
 */
export function confirmingStandbys(names: string): number {
  if (names.trim() === '') return 0;
  return Number(/^\s*(?:(?:first|any)\s+)?(\d+)\s*\(/i.exec(names)?.[1] ?? 1);
}
