import { setTimeout as delay } from 'node:timers/promises';
import { type ClientBase, DatabaseError, Pool, type PoolClient, type QueryResult } from 'pg';
import { z } from 'zod';
import { messageOf, reasonOf } from '../../../errors.ts';
import {
  type NewRow,
  rowCounts,
  type StoreDriver,
  type StoredRow,
  storedRow,
  WriteUncertain,
} from '../../driver.ts';
import { StoreUnavailable } from '../../store.ts';
import { postgresNow } from '../payment-columns.ts';
import { clientOptions, type PostgresAddress, shownAddress } from './address.ts';
import {
  compareServers,
  newIdentity,
  readServer,
  readStore,
  type ServerIdentity,
  type StoreIdentity,
  writeStore,
} from './identity.ts';
import { type Backend, connectError, openError, ServerRefused, setUp } from './server.ts';
import { type Change, type Statement, statementsFor } from './statements.ts';
import { together } from './together.ts';

export interface PostgresDriverOptions {
  readonly address: PostgresAddress;
  /** How long a finished row is kept after its last change. */
  readonly retentionMs: number;
  /** Whether a server is accepted that may forget payments (see setUp); false by default. */
  readonly allowVolatile?: boolean;
  /** Whether nothing is written; false by default. */
  readonly readOnly?: boolean;
  /** Called with a sentence if the server was replaced without a loss, or does not show its identity. */
  readonly onNotice?: (text: string) => void;
  /** The time after which the server cancels a statement or its wait for a lock (default: 3 s). */
  readonly statementTimeoutMs?: number;
  /** How long the start tries to reach the server (default: 5 s). */
  readonly startTimeoutMs?: number;
}

/** Searches and purges have connections of their own, so that nothing waits behind them. */
const maxConnections = { payments: 6, searches: 2 };
/**
 * Prepared statements are planned once, perhaps while the table is empty. These settings make the plan use the indexes anyway.
 */
const plannedOnce = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
};
const usualStatementTimeoutMs = 3_000;
/** The server reports a cancelled statement within this time, unless the server or the network has failed. */
const marginMs = 1_000;
const usualStartTimeoutMs = 5_000;
const startPauseMs = 250;
/** A connection is replaced after this time, and so checked again. */
const maxLifetimeSeconds = 600;
/** How often an insert is tried while others store and delete the row. */
const maxRounds = 5;
/** The server stops or fails. It does not report whether a commit in progress is stored. */
const ending = /^(08|57P|58|XX)/;

/** pg's message for a statement that took longer than `query_timeout`. */
const queryTimeout = 'Query read timeout';

/** Ends backends, and waits until each is gone. */
const endBackends = `SELECT pg_terminate_backend(activity.pid, 500) FROM pg_stat_activity AS activity,
  unnest($1::int[], $2::text[]) AS left_behind (pid, started_at)
  WHERE activity.pid = left_behind.pid AND activity.backend_start::text = left_behind.started_at`;

type Settings = Readonly<Record<string, string>>;

/** The state of a connection. */
interface Session {
  readonly backend: Backend;
  timeline: number | null;
  loss: string | null;
  /** The server's warning during the last statement. */
  warning: string | null;
}

/** The connection ended under a statement. */
class ConnectionBroken extends WriteUncertain {}

/**
 * A payment store in PostgreSQL, which the processes of several machines may share. Each step is one statement, so that it is
 * atomic and leaves no transaction open.
 * A connection whose call failed is not used again. Its backend may still be running, because a commit waits for a standby
 * without a limit. Therefore the next call ends that backend first. Afterwards, its row is either visible or was not committed.
 * Errors: an Error that names the server and the remedy if it cannot be used.
 */
export async function createPostgresDriver(options: PostgresDriverOptions): Promise<StoreDriver> {
  const { address, retentionMs, allowVolatile = false, readOnly = false, onNotice = () => {} } = options;
  const { statementTimeoutMs = usualStatementTimeoutMs, startTimeoutMs = usualStartTimeoutMs } = options;
  const statements = statementsFor({ table: 'bankql.payment', mark: '$', now: postgresNow, retentionMs });
  const sessions = new WeakMap<ClientBase, Session>();
  const leftBehind = new Set<Backend>();
  const notices = new Set<string>();
  /** The store's row and its server, as last checked successfully. Null if there has been no row. */
  let known: StoreIdentity | null = null;
  const provisional = newIdentity();
  /** The loss that the last check of a connection found. */
  let loss: string | null = null;

  const unavailable = (reason: string) =>
    new StoreUnavailable(`The payment store ${shownAddress(address)} is not available: ${reason}.`);

  function notify(text: string): void {
    if (!notices.has(text)) onNotice(text);
    notices.add(text);
  }

  async function onConnect(client: ClientBase, settings: Settings): Promise<void> {
    const backend = await setUp(client, { timeoutMs: statementTimeoutMs, allowVolatile, settings });
    const session: Session = { backend, timeline: null, loss: null, warning: null };
    sessions.set(client, session);
    client.on('notice', ({ code, message }) => {
      // Compares the class of the code, because severities are in the server's language.
      if (code?.startsWith('01')) session.warning = message ?? code;
    });
    // A connection that breaks while it is in use also fails its call.
    client.on('error', () => {});
    await checkIdentity(client, session);
  }

  /** Finds out whether a connection leads to the server that the records were written to. */
  async function checkIdentity(client: ClientBase, session: Session): Promise<void> {
    const row = await readStore(client, shownAddress(address));
    const server = await readServer(client);
    session.timeline = server.timeline;
    session.loss = loss =
      row === null ? 'its row in bankql.store is missing' : await accept(client, row, server);
  }

  /** Shape: why the server is not accepted, or null. */
  async function accept(
    client: ClientBase,
    row: StoreIdentity,
    server: ServerIdentity,
  ): Promise<string | null> {
    known ??= row;
    if (row.id !== known.id) return 'another store was made in its place; if that is meant, restart bankql';
    const result = compareServers(expectedServer(row, known), server);
    if (result.loss !== null) return result.loss;
    if (result.change !== null)
      notify(`The payment store ${shownAddress(address)} goes on: ${result.change}.`);
    if (server.system_identifier === null)
      notify(
        'The server does not say which one it is: bankql does not notice if an older copy takes its place.',
      );
    const now = { ...row, ...withoutNulls(server) };
    const isWritten = readOnly || JSON.stringify(now) === JSON.stringify(row);
    known = isWritten ? now : await writeStore(client, row, server);
    return null;
  }

  /** A connection to the latest primary. Errors: ServerRefused; an Error that says why it cannot be made. */
  async function connect(pool: Pool): Promise<{ readonly client: PoolClient; readonly session: Session }> {
    for (;;) {
      const client = await pool.connect().catch((error) => Promise.reject(connectError(error, address)));
      const session = sessions.get(client);
      if (session === undefined) throw new Error('a connection was not checked');
      const isLatest =
        session.timeline === null || session.loss !== null || session.timeline === known?.timeline;
      if (isLatest) return { client, session };
      // A standby has replaced the connection's server.
      client.release(true);
    }
  }

  async function endLeftBehind(client: ClientBase): Promise<void> {
    const ended = [...leftBehind];
    if (ended.length === 0) return;
    await client.query(endBackends, [ended.map(({ pid }) => pid), ended.map(({ startedAt }) => startedAt)]);
    for (const backend of ended) leftBehind.delete(backend);
  }

  interface CallOptions {
    /** Whether the server's identity is checked first. */
    readonly check?: boolean;
    /** Whether the call fails if records may be missing. */
    readonly begins?: boolean;
  }

  /** Sends one statement. Errors: WriteUncertain if it may have been committed; StoreUnavailable if nothing is stored. */
  async function call(pool: Pool, statement: Statement, { check = false, begins = false }: CallOptions = {}) {
    const { client, session } = await connect(pool).catch((error) =>
      Promise.reject(unavailable(error.message)),
    );
    try {
      await endLeftBehind(client);
      if (check || loss !== null || session.loss !== null) await checkIdentity(client, session);
      if (begins && session.loss !== null) throw new ServerRefused(session.loss);
    } catch (error) {
      client.release(true);
      throw unavailable(reasonOf(error));
    }
    session.warning = null;
    let result: QueryResult;
    try {
      result = await client.query(statement);
    } catch (error) {
      // The connection is not used again. If the statement was not answered, the next one would wait for it.
      client.release(true);
      const reason = reasonOf(error, address.password);
      const { message } = unavailable(reason);
      if (error instanceof DatabaseError && !ending.test(error.code ?? ''))
        throw new StoreUnavailable(message);
      leftBehind.add(session.backend);
      throw reason === queryTimeout ? new WriteUncertain(message) : new ConnectionBroken(message);
    }
    client.release();
    // For example, the commit is on the disk, and an operator ended its wait for a standby.
    if (session.warning !== null && !allowVolatile)
      throw new WriteUncertain(unavailable(`the server warned: ${session.warning}`).message);
    return result;
  }

  /**
   * Like `call`, but repeats over another connection if the first one breaks. `isAgain`: the statement may already have been
   * committed.
   */
  async function callAgain(
    pool: Pool,
    statementOf: (isAgain: boolean) => Statement,
    callOptions?: CallOptions,
  ) {
    try {
      return await call(pool, statementOf(false), callOptions);
    } catch (error) {
      if (!(error instanceof ConnectionBroken)) throw error;
    }
    try {
      return await call(pool, statementOf(true), callOptions);
    } catch (error) {
      throw new WriteUncertain(messageOf(error));
    }
  }

  async function find(id: string): Promise<StoredRow | null> {
    const { rows } = await callAgain(payments, () => statements.find(id));
    return rows[0] === undefined ? null : storedRow.parse(rows[0]);
  }

  async function insertAll(
    rows: readonly NewRow[],
    options: CallOptions,
  ): Promise<(row: NewRow) => StoredRow | null> {
    const statementOf = (isAgain: boolean) => statements.insert(rows, known?.id ?? '', isAgain);
    const found = z.array(storedRow).parse((await callAgain(payments, statementOf, options)).rows);
    const byId = new Map(found.map((row) => [row.id, row] as const));
    return ({ id }) => byId.get(id) ?? null;
  }
  const insertOne = together((rows: readonly NewRow[]) => insertAll(rows, { begins: true }));

  async function insert(row: NewRow): Promise<StoredRow> {
    let stored = await insertOne(row);
    for (let round = 0; stored === null && round < maxRounds; round++) {
      // Another process has just stored a row with this id, or this is not the known server.
      stored = (await find(row.id)) ?? (await insertAll([row], { begins: true, check: true }))(row);
    }
    if (stored === null) throw unavailable('a record of it changes all the time');
    return stored;
  }

  const changeOne = together(async (changes: readonly Change[]) => {
    const { rows } = await callAgain(payments, () => statements.change(changes));
    const done = new Set(rows.map(({ version }) => version));
    return ({ version, change }: Change) => done.has(change?.version ?? version);
  });

  const connection = await clientOptions(address).catch(({ message }: Error) => {
    throw openError(new ServerRefused(`a file of STATE_URL cannot be used: ${message}`), address);
  });
  const createPool = (max: number, settings: Settings): Pool =>
    new Pool({
      ...connection,
      max,
      onConnect: (client) => onConnect(client, settings),
      // The server cancels a statement before this time, and then reports that nothing is stored.
      query_timeout: statementTimeoutMs + marginMs,
      maxLifetimeSeconds,
      // A store that nobody closed does not keep the process alive.
      allowExitOnIdle: true,
      // A connection that ends while nobody uses it leaves the pool.
    }).on('error', () => {});
  const payments = createPool(maxConnections.payments, plannedOnce);
  const searches = createPool(maxConnections.searches, {});

  async function close(): Promise<void> {
    const isOver = new AbortController();
    const ended = Promise.all([payments.end(), searches.end()]);
    // A server that does not answer would never confirm the end of a connection.
    await Promise.race([ended, delay(marginMs, undefined, { signal: isOver.signal })]);
    isOver.abort();
  }

  async function waitForServer(): Promise<void> {
    for (const start = performance.now(); ; ) {
      try {
        (await connect(payments)).client.release();
        return;
      } catch (error) {
        if (error instanceof ServerRefused || performance.now() - start >= startTimeoutMs) throw error;
        await delay(startPauseMs);
      }
    }
  }

  await waitForServer().catch(async (error: Error) => {
    await close();
    throw openError(error, address);
  });

  return {
    get secret() {
      return (known ?? provisional).secret;
    },
    get loss() {
      return loss;
    },
    uncertainMs: statementTimeoutMs + marginMs,

    insert,
    async recover(row, createdAt) {
      const { rows } = await callAgain(payments, () => statements.recover(row, createdAt));
      return rows.length > 0;
    },
    async compareAndSet(id, version, change) {
      const job = { id, version, change };
      if (await changeOne(job)) return true;
      // The first of two calls may have committed the change.
      return ((await find(id))?.version ?? null) === (change?.version ?? null);
    },
    find,
    async search(query) {
      const { rows } = await callAgain(searches, () => statements.search(query));
      return rows.map((row) => storedRow.parse(row));
    },
    async count() {
      const { rows } = await callAgain(payments, () => statements.count);
      return rowCounts.parse(rows[0]);
    },
    async purge() {
      const { rowCount } = await callAgain(searches, () => statements.purge);
      return rowCount ?? 0;
    },

    async acceptLoss(acceptedBy) {
      try {
        const { client, session } = await connect(payments);
        try {
          known = await writeStore(client, known ?? provisional, await readServer(client), acceptedBy);
          session.loss = loss = null;
        } finally {
          client.release(true);
        }
      } catch (error) {
        throw unavailable(messageOf(error));
      }
    },

    close,
  };
}

/**
 * The server that the store must be on. This process may know a later promotion than the row of an old primary, and
 * whether standbys had to confirm the last payments. After an operator's decision, the row counts.
 */
function expectedServer(row: StoreIdentity, known: StoreIdentity): ServerIdentity {
  const isDecided = row.loss_accepted_at?.getTime() !== known.loss_accepted_at?.getTime();
  if (isDecided || row.system_identifier !== known.system_identifier || row.timeline === null) return row;
  return {
    ...row,
    timeline: Math.max(row.timeline, known.timeline ?? 0),
    standbys_confirm: row.standbys_confirm && known.standbys_confirm,
  };
}

const withoutNulls = ({ system_identifier, timeline, standbys_confirm }: ServerIdentity) => ({
  ...(system_identifier === null ? {} : { system_identifier }),
  ...(timeline === null ? {} : { timeline }),
  standbys_confirm,
});
