import { z } from 'zod';
import {
  columnsOf,
  finished,
  type Row,
  rowColumns,
  type StoreDriver,
  type StoredText,
  searchSql,
  storedColumns,
} from '../../driver.ts';
import type { CheckedStore } from '../../lost-records.ts';
import { createProtocolStore, type DriverHooks, type StoreOptions } from '../../protocol-store.ts';
import type { PaymentStore } from '../../store.ts';
import { type PostgresAddress, shownAddress } from './address.ts';
import type { PostgresConnection, Statement } from './connection.ts';
import { openPool } from './pool.ts';
import { tallySlots } from './schema.ts';
import { commitSettings, createSessionOpener, unconfirmed } from './session.ts';

export interface PostgresStoreOptions extends StoreOptions {
  /** The server, or the hosts of a cluster, and a database of bankql's own. */
  readonly address: PostgresAddress;
  /** Whether a server is accepted that may forget payments (see checkServer); false by default. */
  readonly allowVolatile?: boolean;
  /** How many standbys have to confirm each payment before it is sent. By default as many as the server has set. */
  readonly waitReplicas?: number;
  /** How long the start may try to reach a server; five seconds by default. */
  readonly startTimeoutMs?: number;
  /** How many connections there are at most; eight by default. */
  readonly poolSize?: number;
  /** Whose clock counts: the server's, or, in tests, `now` of each call. */
  readonly clock?: 'server' | 'caller';
}

/** How many of the connections searches may have. */
const maxSearches = 3;
/** How long a page of a search may take, in milliseconds: nobody pays meanwhile. */
const pageLimitMs = 10_000;
/** How many rows a step of a purge deletes. */
const purgeBatch = 500;
/** More expired rows than this are not counted one by one. */
const maxCounted = 100_000;

/**
 * A payment store in PostgreSQL, which the processes of several machines may share. Each operation is one statement, so that it
 * is atomic and leaves no transaction open; a payment takes two.
 *
 * A connection that dies under a call leaves open whether its statement was committed: that is looked up over another connection.
 * Shape:  a PaymentStore, once a server is reached and has passed checkServer. Times are the server's.
 * Errors: an Error that names the server and the remedy if it cannot be used; later StoreUnavailable.
 */
export const createPostgresStore = (options: PostgresStoreOptions): Promise<PaymentStore> =>
  createProtocolStore({
    ...options,
    name: shownAddress(options.address),
    markFiles: options.witness === undefined ? [] : [options.witness],
    allowVolatile: options.allowVolatile ?? false,
    // A failover may lose payments that no standby has confirmed yet. That is not a loss: they were not sent.
    countsAreConfirmed: (options.waitReplicas ?? 0) === 0,
    open: (hooks) => openPostgres(options, hooks),
  });

async function openPostgres(options: PostgresStoreOptions, hooks: DriverHooks): Promise<StoreDriver> {
  const { address, timeoutMs, allowVolatile = false, waitReplicas = 0, clock = 'server' } = options;
  const { create = options.readOnly !== true, startTimeoutMs = 5_000, poolSize: size = 8 } = options;
  const searches: Promise<unknown>[] = [];
  let searched = 0;

  /** Errors: an Error if a failover may lose what was written. */
  function assertConfirmed(
    connection: PostgresConnection,
    settings: z.infer<typeof commitSettings>,
    warning: string | null,
  ): void {
    if (allowVolatile) return;
    const reason = unconfirmed(settings, waitReplicas);
    // Connecting again finds out more.
    if (reason !== null) connection.drop(reason);
    if (reason !== null || warning !== null) throw new Error(reason ?? `the server warned: ${warning}`);
  }

  /** Searches wait for each other, so that payments have most of the connections. */
  function inTurn<T>(search: () => Promise<T>): Promise<T> {
    const turn = searched++ % maxSearches;
    const found = (searches[turn] ?? Promise.resolve()).then(search);
    searches[turn] = found.catch(() => {});
    return found;
  }

  const countsOf = ({ began, newestAt, metadataVersion, serverTime }: z.infer<typeof storeCounts>) => ({
    began,
    newestAt,
    metadataVersion,
    serverTime: clock === 'server' ? serverTime : null,
  });

  async function insert(connection: PostgresConnection, row: Row) {
    for (;;) {
      const { rows, warning } = await connection.query(statements.insert(valuesOf(row)));
      const [first] = rows;
      if (first === undefined) {
        connection.drop('it has lost its records');
        throw new Error('it has lost its records');
      }
      const { inserted, ...answer } = insertAnswer.parse(first);
      const found = existingRow.parse(first).id === null ? null : readRow(first);
      if (inserted) assertConfirmed(connection, answer, warning);
      // A connection that was lost has stored it.
      else if (found?.version === row.version) await confirm(connection, row);
      if (inserted || found?.version === row.version) return { existing: null, ...countsOf(answer) };
      // Another process has just stored it, or deleted it since.
      const existing = found ?? (await findRow(connection, row.id));
      if (existing !== null) return { existing, ...countsOf(answer) };
    }
  }

  /** Writes a row that a lost connection has stored once more, so that its commit is confirmed as well. */
  async function confirm(connection: PostgresConnection, { id, version }: Pick<Row, 'id' | 'version'>) {
    const { rows, warning } = await connection.query(statements.confirm([id, version]));
    if (rows.length > 0) assertConfirmed(connection, commitSettings.parse(rows[0]), warning);
    return rows.length > 0;
  }

  async function replace(
    connection: PostgresConnection,
    id: string,
    version: string,
    row: Row | null,
  ): Promise<boolean> {
    const { rows, warning } = await connection.query(
      row === null ? statements.remove([id, version]) : statements.replace([...valuesOf(row), version]),
    );
    if (rows.length > 0) {
      assertConfirmed(connection, commitSettings.parse(rows[0]), warning);
      return true;
    }
    // A connection that was lost may have done it.
    if (row !== null) return confirm(connection, row);
    return (await connection.query(statements.find([id]))).rows.length === 0;
  }

  /** The store by way of one connection, or of whichever the pool gives. */
  const storeOf = (query: (statement: Statement) => Promise<readonly unknown[]>): CheckedStore => ({
    async readMetadata() {
      const [row] = await query(statements.metadata([]));
      const { text, ...counts } = metadataRow.parse(row);
      const server = await query(serverIdentity).then(
        ([found]) => serverRow.parse(found).server,
        // Some hosted servers do not say.
        () => null,
      );
      return { ...countsOf(counts), text, server };
    },
    async writeMetadata(version, next) {
      return (await query(statements.writeMetadata([version, next.version, next.text]))).length > 0;
    },
    async findMissing(attempts) {
      const ids = attempts.map(({ id }) => id);
      const trackIds = attempts.map(({ trackId }) => trackId);
      return z.array(attemptRow).parse(await query(statements.findMissing([ids, trackIds])));
    },
  });

  const session = createSessionOpener({
    address,
    timeoutMs,
    allowVolatile,
    waitReplicas,
    create,
    onConnect: (connection) =>
      hooks.onConnect(storeOf(async (statement) => (await connection.query(statement)).rows)),
  });
  const { onReady } = hooks;
  const pool = await openPool({ address, size, timeoutMs, startTimeoutMs, ...session, onReady });
  const rowsOf = (statement: Statement) =>
    pool.call(async (connection) => (await connection.query(statement)).rows);

  return {
    ...storeOf(rowsOf),
    insertIfAbsent: (row) => pool.write((connection) => insert(connection, row)),
    compareAndSet: (id, version, row) => pool.write((connection) => replace(connection, id, version, row)),
    find: (id) => pool.call((connection) => findRow(connection, id)),
    search: (query) =>
      inTurn(() =>
        pool.call(async (connection) => {
          const statement = searchSql(query, '$', 'bankql.payment');
          await limitStatements(connection, pageLimitMs);
          try {
            return (await connection.query(statement, pageLimitMs + timeoutMs)).rows.map(readRow);
          } finally {
            await limitStatements(connection, timeoutMs * 0.8);
          }
        }),
      ),
    purge: async (before) => (await rowsOf(statements.purge([before]))).length,
    count: async (before) => rowCounts.parse((await rowsOf(statements.count([before])))[0]),
    settleWrites: () => pool.call(session.endLeftBehind),
    close: () => pool.close(),
  };
}

const time = z.coerce.number();
const storeCounts = z.object({
  began: time,
  newestAt: time.nullable(),
  metadataVersion: z.string().nullable(),
  serverTime: time,
});
const storedRow = z.object({ id: z.string(), version: z.string(), created_at: time, json: z.string() });
const insertAnswer = commitSettings.extend({ ...storeCounts.shape, inserted: z.boolean() });
const existingRow = z.object({ id: z.string().nullable() });
const metadataRow = z.object({ ...storeCounts.shape, text: z.string().nullable() });
const serverRow = z.object({ server: z.string() });
const attemptRow = z.object({ id: z.string(), trackId: z.string() });
const rowCounts = z.object({
  records: time,
  expired: time,
  pending: time,
  unknown: time,
  newestAt: time.nullable(),
});

async function findRow(connection: PostgresConnection, id: string): Promise<StoredText | null> {
  const [row] = (await connection.query(statements.find([id]))).rows;
  return row === undefined ? null : readRow(row);
}

const readRow = (found: unknown): StoredText => storedRow.parse(found);
const valuesOf = (row: Row) => {
  const columns = columnsOf(row);
  return rowColumns.map((name) => columns[name]);
};

/** Each backend has its own row of the tally, most of the time. */
const slot = `slot = pg_backend_pid() % ${tallySlots}`;
const settings = `current_setting('synchronous_commit') AS "synchronousCommit",
  current_setting('synchronous_standby_names') AS "standbyNames"`;
const serverTime = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS "serverTime"';
const marks = rowColumns.map((_, n) => `$${n + 1}`).join(', ');
const changes = rowColumns.map((name, n) => `${name} = $${n + 1}`).join(', ');
const createdAt = `$${rowColumns.indexOf('created_at') + 1}::bigint`;
const isExpired = `${finished} AND updated_at < $1::bigint`;
const countGone = `UPDATE bankql.tally SET gone = gone + removed.count
  FROM (SELECT count(*) AS count FROM removed) AS removed WHERE removed.count > 0 AND ${slot}`;
const tally = '(SELECT sum(began) AS began, max(newest_at) AS newest_at FROM bankql.tally) AS tally';

const named = (name: string, text: string) => (values: readonly unknown[]) => ({
  name: `bankql ${name}`,
  text,
  values,
});

const statements = {
  insert: named(
    'insert',
    `WITH inserted AS (
        INSERT INTO bankql.payment (${rowColumns.join(', ')}) VALUES (${marks}) ON CONFLICT (id) DO NOTHING RETURNING id),
      counted AS (
        UPDATE bankql.tally SET began = began + 1, newest_at = greatest(newest_at, ${createdAt})
        WHERE ${slot} AND EXISTS (SELECT FROM inserted))
      SELECT EXISTS (SELECT FROM inserted) AS inserted, existing.id, existing.version, existing.created_at, existing.json,
        store.metadata_version AS "metadataVersion",
        tally.began + (SELECT count(*) FROM inserted) AS began,
        CASE WHEN EXISTS (SELECT FROM inserted) THEN greatest(tally.newest_at, ${createdAt}) ELSE tally.newest_at END AS "newestAt",
        ${settings}, ${serverTime}
      FROM bankql.store CROSS JOIN ${tally} LEFT JOIN (
        SELECT ${storedColumns} FROM bankql.payment WHERE id = $1) AS existing ON true`,
  ),
  confirm: named(
    'confirm',
    `UPDATE bankql.payment SET version = version WHERE id = $1 AND version = $2 RETURNING ${settings}`,
  ),
  replace: named(
    'replace',
    `UPDATE bankql.payment SET ${changes} WHERE id = $1 AND version = $${rowColumns.length + 1} RETURNING ${settings}`,
  ),
  remove: named(
    'remove',
    `WITH removed AS (DELETE FROM bankql.payment WHERE id = $1 AND version = $2 RETURNING id), counted AS (${countGone})
      SELECT ${settings} FROM removed`,
  ),
  find: named('find', `SELECT ${storedColumns} FROM bankql.payment WHERE id = $1`),
  findMissing: named(
    'findMissing',
    `SELECT known.id, known.track_id AS "trackId" FROM unnest($1::text[], $2::text[]) AS known (id, track_id)
      WHERE NOT EXISTS (SELECT FROM bankql.payment WHERE payment.id = known.id AND payment.track_id = known.track_id)`,
  ),
  purge: named(
    'purge',
    `WITH due AS (SELECT id FROM bankql.payment WHERE ${isExpired} LIMIT ${purgeBatch} FOR UPDATE SKIP LOCKED),
      removed AS (DELETE FROM bankql.payment USING due WHERE payment.id = due.id RETURNING payment.id),
      counted AS (${countGone})
      SELECT id FROM removed`,
  ),
  count: named(
    'count',
    `WITH old AS (SELECT count(*) AS count FROM (
        SELECT FROM bankql.payment WHERE ${isExpired} LIMIT ${maxCounted}) AS counted),
      tally AS (SELECT sum(began) - sum(gone) AS kept FROM bankql.tally)
      SELECT greatest(tally.kept - old.count, 0) AS records, old.count AS expired,
        (SELECT count(*) FROM bankql.payment WHERE state = 'PENDING') AS pending,
        (SELECT count(*) FROM bankql.payment WHERE state = 'UNKNOWN') AS unknown,
        (SELECT created_at FROM bankql.payment WHERE NOT (${isExpired}) ORDER BY created_at DESC LIMIT 1) AS "newestAt"
      FROM tally, old`,
  ),
  metadata: named(
    'metadata',
    `SELECT store.metadata AS text, store.metadata_version AS "metadataVersion", tally.began, tally.newest_at AS "newestAt",
        ${serverTime} FROM bankql.store, ${tally}`,
  ),
  writeMetadata: named(
    'writeMetadata',
    `UPDATE bankql.store SET metadata_version = $2, metadata = $3
      WHERE metadata_version IS NOT DISTINCT FROM $1::text RETURNING version`,
  ),
};

/** A promoted standby has another timeline, and a restored dump or a new cluster another identifier. */
const serverIdentity = {
  text: `SELECT 'system ' || system_identifier || ', timeline ' || ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int
    AS server FROM pg_control_system()`,
};

const limitStatements = (connection: PostgresConnection, limitMs: number) =>
  connection.query({
    text: "SELECT set_config('statement_timeout', $1, false)",
    values: [String(limitMs)],
  });
