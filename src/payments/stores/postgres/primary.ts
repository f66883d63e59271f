import { z } from 'zod';
import { startResponseTimeout } from '../response-timeout.ts';
import { type PostgresAddress, shownHost } from './address.ts';
import {
  type ConnectionOptions,
  openConnection,
  type PostgresConnection,
  ServerRefused,
} from './connection.ts';

/** A connection to a server that takes writes. */
export interface Primary {
  readonly connection: PostgresConnection;
  /** Goes up with each promotion of a standby; null where the server does not say. */
  readonly timeline: number | null;
}

/** How long others may take to say that they are the newer primary, once one takes writes. */
const graceMs = 200;

const role = z.object({ standby: z.boolean(), readOnly: z.boolean() });

/**
 * Connects to the host that takes writes (what libpq calls target_session_attrs=read-write). Where several say so, an old
 * primary came back: the one that was promoted last counts. No server counts whose timeline is older than `latestTimeline`.
 * Errors: ServerRefused; an Error that says why there is none now.
 */
export async function findPrimary(
  address: PostgresAddress,
  latestTimeline: number,
  options: ConnectionOptions,
): Promise<Primary> {
  const [only, ...others] = address.hosts;
  if (only !== undefined && others.length === 0) {
    const found = await askHost(address, only, options);
    return assertCurrent(found, latestTimeline);
  }
  const found: Primary[] = [];
  const reasons: unknown[] = [];
  let settled = false;
  const { promise: one, resolve } = Promise.withResolvers<void>();
  const all = address.hosts.map(async (host) => {
    try {
      const primary = await askHost(address, host, options);
      if (settled) return primary.connection.end();
      found.push(assertCurrent(primary, latestTimeline));
      resolve();
    } catch (error) {
      reasons.push(new Error(`${shownHost(host)}: ${error instanceof Error ? error.message : error}`));
    }
  });
  const everybody = Promise.all(all);
  await Promise.race([everybody, one]);
  if (found.length > 0) {
    const { promise: graceIsOver, resolve: endGrace } = Promise.withResolvers<void>();
    const grace = startResponseTimeout(graceMs, endGrace);
    await Promise.race([everybody, graceIsOver]);
    grace.clear();
  }
  settled = true;
  const [latest, ...older] = found.sort((a, b) => (b.timeline ?? 0) - (a.timeline ?? 0));
  for (const { connection } of older) connection.end();
  if (latest !== undefined) return latest;
  throw new Error(
    `none of its hosts takes writes (${reasons.map((reason) => (reason instanceof Error ? reason.message : reason)).join('; ')})`,
  );
}

/** Errors: ServerRefused where it is no primary; an Error where it cannot be asked. */
async function askHost(
  address: PostgresAddress,
  host: PostgresAddress['hosts'][number],
  options: ConnectionOptions,
): Promise<Primary> {
  const connection = await openConnection(address, host, options);
  const timeout = startResponseTimeout(options.connectTimeoutMs, () =>
    connection.drop(`no answer in ${options.connectTimeoutMs} ms`),
  );
  try {
    const { rows } = await connection.query({
      text: `SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS "readOnly"`,
    });
    const { standby, readOnly } = role.parse(rows[0]);
    if (standby) throw new ServerRefused('it is a standby: name the primary, or all hosts of the cluster');
    if (readOnly) throw new ServerRefused('it is read-only (default_transaction_read_only)');
    return { connection, timeline: await timelineOf(connection) };
  } catch (error) {
    connection.drop(error instanceof Error ? error.message : String(error));
    throw error;
  } finally {
    timeout.clear();
  }
}

/** The first eight digits of the name of the file that the server writes its log to. */
async function timelineOf(connection: PostgresConnection): Promise<number | null> {
  const asked = connection.query({
    text: 'SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS timeline',
  });
  // Some hosted servers do not say; a connection that ended is noticed by what comes next.
  const rows = await asked.then(
    (answer) => answer.rows,
    () => [],
  );
  const { data } = z.object({ timeline: z.string() }).safeParse(rows[0]);
  return data === undefined ? null : Number.parseInt(data.timeline, 16);
}

function assertCurrent(primary: Primary, latestTimeline: number): Primary {
  const { connection, timeline } = primary;
  if (timeline === null || timeline >= latestTimeline) return primary;
  const reason = `it is an old primary, of timeline ${timeline}, and a standby was promoted to timeline ${latestTimeline} since (where it was made anew, start bankql again)`;
  connection.drop(reason);
  throw new Error(reason);
}
