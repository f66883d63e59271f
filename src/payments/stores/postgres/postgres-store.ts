import { z } from 'zod';
import {
  type InsertResult,
  type Row,
  rowCounts,
  type StoreDriver,
  type StoredRow,
  storeCounts,
  storedRow,
} from '../../driver.ts';
import type { CheckedStore } from '../../lost-records.ts';
import { createProtocolStore, type DriverHooks, type StoreOptions } from '../../protocol-store.ts';
import type { PaymentStore } from '../../store.ts';
import {
  type Columns,
  columnDefinitions,
  columnsOf,
  finished,
  pendingAt,
  rowColumns,
  searchSql,
  storedColumns,
  unfinished,
  unknownAt,
} from '../payment-columns.ts';
import { type PostgresAddress, shownAddress } from './address.ts';
import type { PostgresConnection, Statement } from './connection.ts';
import { openLine } from './line.ts';
import { tallySlots } from './schema.ts';
import { commitSettings, createSessionOpener, type SessionSettings, unconfirmed } from './session.ts';

export interface PostgresStoreOptions extends StoreOptions {
  /** The server, or the hosts of a cluster, and a database of bankql's own. */
  readonly address: PostgresAddress;
  /** Whether a server is accepted that may forget payments (see checkServer); false by default. */
  readonly allowVolatile?: boolean;
  /** How many standbys have to confirm each payment before it is sent. By default as many as the server has set. */
  readonly waitReplicas?: number;
}

/** How long a page of a search may take, in milliseconds: nobody pays meanwhile. */
const pageLimitMs = 10_000;
/** Statements that name their rows are planned once, maybe when the tables are empty: they find them by an index all the same. */
const plannedOnce = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
};
/** How many rows a step of a purge deletes. */
const purgeBatch = 500;
/** More expired rows than this are not counted one by one. */
const maxCounted = 100_000;

/**
 * A payment store in PostgreSQL, which the processes of several machines may share. Each operation is one statement, so that it
 * is atomic and leaves no transaction open; a payment takes two, which it shares with those that come at the same time.
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
  const { allowVolatile = false, waitReplicas = 0, create = options.readOnly !== true } = options;

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

  async function insert(connection: PostgresConnection, given: readonly Row[]) {
    const { rows, warning } = await connection.query(statements.insert(valuesOf(given.map(columnsOf))));
    const answers = new Map(
      z
        .array(insertAnswer)
        .parse(rows)
        .map((answer) => [answer.given, answer] as const),
    );
    if (answers.size < given.length) {
      connection.drop('it has lost its records');
      throw new Error('it has lost its records');
    }
    for (const answer of answers.values()) if (answer.inserted) assertConfirmed(connection, answer, warning);
    const isStored = ({ version }: Row) => answers.get(version)?.existing?.version === version;
    await confirm(connection, given.filter(isStored));
    return (row: Row): InsertResult | null => {
      const answer = answers.get(row.version);
      if (answer === undefined) return null;
      if (answer.inserted || isStored(row)) return { ...answer, existing: null };
      return answer.existing === null ? null : { ...answer, existing: answer.existing };
    };
  }

  /** Writes rows that a lost connection has stored once more, so that its commit is confirmed as well. Shape: their versions. */
  async function confirm(
    connection: PostgresConnection,
    given: readonly Row[],
  ): Promise<ReadonlySet<string>> {
    if (given.length === 0) return new Set();
    const values = [given.map(({ id }) => id), given.map(({ version }) => version)];
    return changedBy(connection, statements.confirm(values));
  }

  /** Executes a statement that changes rows. Shape: their versions; of those that it deletes, the ones that they had. */
  async function changedBy(
    connection: PostgresConnection,
    statement: Statement,
  ): Promise<ReadonlySet<string>> {
    const { rows, warning } = await connection.query(statement);
    const changes = z.array(changeAnswer).parse(rows);
    for (const change of changes) assertConfirmed(connection, change, warning);
    return new Set(changes.map(({ version }) => version));
  }

  async function replace(connection: PostgresConnection, given: readonly Change[]) {
    const columns = given.map(({ id, row }) => (row === null ? { id } : columnsOf(row)));
    const expected = given.map(({ version }) => version);
    const done = await changedBy(connection, statements.change([...valuesOf(columns), expected]));
    // A connection that was lost may have done the others.
    const others = given.flatMap(({ row }) => (row === null || done.has(row.version) ? [] : [row]));
    const earlier = await confirm(connection, others);
    const deleted = given.filter(({ row, version }) => row === null && !done.has(version));
    const ids = deleted.map(({ id }) => id);
    const left = await find(connection, ids);
    return ({ id, version, row }: Change): boolean =>
      row === null
        ? done.has(version) || left(id) === null
        : done.has(row.version) || earlier.has(row.version);
  }

  /** The metadata, by way of any connection: a new one is compared with them before a payment uses it. */
  const storeOf = (query: (statement: Statement) => Promise<readonly unknown[]>): CheckedStore => ({
    async readMetadata() {
      const [row] = await query(statements.metadata([]));
      const metadata = metadataRow.parse(row);
      const server = await query(serverIdentity).then(
        ([found]) => serverRow.parse(found).server,
        // Some hosted servers do not say.
        () => null,
      );
      return { ...metadata, server };
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
    ...options,
    allowVolatile,
    waitReplicas,
    create,
    onConnect: (connection) =>
      hooks.onConnect(storeOf(async (statement) => (await connection.query(statement)).rows)),
  });
  const lines: Awaited<ReturnType<typeof openLine>>[] = [];
  const close = async () => void (await Promise.all(lines.map((line) => line.close())));

  function onReady(): void {
    for (const line of lines) line.hurry();
    hooks.onReady();
  }

  async function open(settings: SessionSettings = plannedOnce) {
    const line = await openLine({
      ...options,
      onReady,
      open: (closing) => session.open(closing, settings),
    }).catch((error) => close().then(() => Promise.reject(error)));
    lines.push(line);
    return line;
  }
  // None waits for the others.
  const [begins, ends, lookups, searches] = [
    await open(),
    await open(),
    await open(),
    await open({ statement_timeout: String(pageLimitMs) }),
  ];
  const insertAll = begins.together(insert);
  const changeAll = ends.together(replace);

  return {
    ...storeOf((statement) => lookups.ask(async (connection) => (await connection.query(statement)).rows)),
    async insertIfAbsent(row) {
      for (;;) {
        const result = await insertAll(row);
        // Otherwise another one has just been stored, or deleted since.
        if (result !== null) return result;
      }
    },
    compareAndSet: (id, version, row) => changeAll({ id, version, row }),
    find: lookups.together(find),
    search: (query) =>
      searches.ask(async (connection) => {
        const statement = searchSql(query, '$', 'bankql.payment');
        return (await connection.query(statement, pageLimitMs + options.timeoutMs)).rows.map(readRow);
      }),
    purge: (before) =>
      searches.ask(async (connection) => (await connection.query(statements.purge([before]))).rows.length),
    count: (before, leaseUntil) =>
      searches.ask(async (connection) => {
        const { rows } = await connection.query(statements.count([before, leaseUntil]));
        return rowCounts.parse(rows[0]);
      }),
    settleWrites: () => lookups.ask(session.endLeftBehind),
    close,
  };
}

const insertAnswer = commitSettings.extend({
  ...storeCounts.shape,
  given: z.string(),
  inserted: z.boolean(),
  existing: storedRow.nullable(),
});
const changeAnswer = commitSettings.extend({ version: z.string() });
const metadataRow = storeCounts.extend({ text: z.string().nullable() });
const serverRow = z.object({ server: z.string() });
const attemptRow = z.object({ id: z.string(), trackId: z.string() });

async function find(connection: PostgresConnection, ids: readonly string[]) {
  const { rows } = ids.length === 0 ? { rows: [] } : await connection.query(statements.find([ids]));
  const found = new Map(rows.map(readRow).map((row) => [row.id, row] as const));
  return (id: string): StoredRow | null => found.get(id) ?? null;
}

const readRow = (found: unknown): StoredRow => storedRow.parse(found);

/** What compareAndSet does to a row: see StoreDriver. */
interface Change {
  readonly id: string;
  readonly version: string;
  readonly row: Row | null;
}

/** An array for each column. */
const valuesOf = (rows: readonly Partial<Columns>[]): unknown[] =>
  rowColumns.map((name) => rows.map((row) => row[name] ?? null));

/** Each backend has its own row of the tally, most of the time. */
const slot = `slot = pg_backend_pid() % ${tallySlots}`;
const settings = `current_setting('synchronous_commit') AS "synchronousCommit",
  current_setting('synchronous_standby_names') AS "standbyNames"`;
const serverTime = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS "serverTime"';
const columns = rowColumns.join(', ');
const given = `unnest(${columnDefinitions.map((type, n) => `$${n + 1}::${type.includes('INTEGER') ? 'bigint' : 'text'}[]`).join(', ')}`;
const changes = rowColumns.map((name) => `${name} = given.${name}`).join(', ');
const isExpired = `${finished} AND updated_at < $1::bigint`;
/** Of `removed`. */
const countGone = `UPDATE bankql.tally SET gone = gone + removed.count
  FROM (SELECT count(*) AS count FROM removed) AS removed WHERE removed.count > 0 AND ${slot}`;
const tally = '(SELECT sum(began) AS began, max(newest_at) AS newest_at FROM bankql.tally) AS tally';

const named = (name: string, text: string) => (values: readonly unknown[]) => ({
  name: `bankql ${name}`,
  text,
  values,
});

const statements = {
  // In the order of their ids, so that two processes never wait for each other's rows.
  insert: named(
    'insert',
    `WITH given AS (SELECT * FROM ${given}) AS given (${columns})),
      inserted AS (
        INSERT INTO bankql.payment (${columns}) SELECT ${columns} FROM given ORDER BY id
        ON CONFLICT (id) DO NOTHING RETURNING version, created_at),
      new AS (SELECT count(*) AS count, max(created_at) AS newest_at FROM inserted),
      counted AS (
        UPDATE bankql.tally SET began = began + new.count, newest_at = greatest(tally.newest_at, new.newest_at)
        FROM new WHERE new.count > 0 AND ${slot})
      SELECT given.version AS given, inserted.version IS NOT NULL AS inserted,
        CASE WHEN existing.id IS NOT NULL THEN json_build_object('id', existing.id, 'version', existing.version,
          'created_at', existing.created_at, 'json', existing.json) END AS existing,
        store.metadata_version AS "metadataVersion", tally.began + new.count AS began,
        greatest(tally.newest_at, new.newest_at) AS "newestAt", ${settings}, ${serverTime}
      FROM given LEFT JOIN inserted ON inserted.version = given.version
        LEFT JOIN bankql.payment AS existing ON existing.id = given.id CROSS JOIN new CROSS JOIN bankql.store CROSS JOIN ${tally}`,
  ),
  confirm: named(
    'confirm',
    `UPDATE bankql.payment SET version = payment.version FROM unnest($1::text[], $2::text[]) AS given (id, version)
      WHERE payment.id = given.id AND payment.version = given.version RETURNING payment.version, ${settings}`,
  ),
  change: named(
    'change',
    `WITH given AS (SELECT * FROM ${given}, $${rowColumns.length + 1}::text[]) AS given (${columns}, expected)),
      replaced AS (
        UPDATE bankql.payment SET ${changes} FROM given
        WHERE payment.id = given.id AND payment.version = given.expected AND given.version IS NOT NULL RETURNING payment.version),
      removed AS (
        DELETE FROM bankql.payment USING given
        WHERE payment.id = given.id AND payment.version = given.expected AND given.version IS NULL RETURNING payment.version),
      counted AS (${countGone})
      SELECT version, ${settings} FROM (SELECT version FROM replaced UNION ALL SELECT version FROM removed) AS changed`,
  ),
  find: named('find', `SELECT ${storedColumns} FROM bankql.payment WHERE id = ANY($1::text[])`),
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
        (SELECT count(*) FROM bankql.payment WHERE ${unfinished} AND (${pendingAt('$2::bigint')})) AS pending,
        (SELECT count(*) FROM bankql.payment WHERE ${unfinished} AND (${unknownAt('$2::bigint')})) AS unknown,
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
