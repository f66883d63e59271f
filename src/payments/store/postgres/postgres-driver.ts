import { setTimeout as delay } from 'node:timers/promises';
import { type ClientBase, DatabaseError, Pool, type PoolClient, type QueryResult } from 'pg';
import { messageOf, reasonOf } from '../../../errors.ts';
import {
  type NewRow,
  rowCounts,
  type StoreDriver,
  type StoredRow,
  storedRow,
  WriteUncertain,
} from '../driver.ts';
import { StoreUnavailable } from '../store.ts';
import { clientOptions, type PostgresAddress, shownAddress } from './address.ts';
import {
  asLogin,
  type Backend,
  compareServers,
  connectError,
  newIdentity,
  openError,
  readServer,
  readStore,
  type ServerIdentity,
  ServerRefused,
  type SetUpOptions,
  type StoreIdentity,
  setUp,
  writeLoss,
  writeStore,
} from './postgres-server.ts';
import { foundRow, plannedOnce, type Statement, statements } from './statements.ts';
import { lacks, lookFor, Witnesses } from './witness.ts';

export interface PostgresDriverOptions {
  readonly address: PostgresAddress;
  /** The time for which a finished row is kept after its last change. */
  readonly retentionMs: number;
  /** Whether a server that may lose payments is accepted (see setUp); false by default. */
  readonly allowVolatile?: boolean;
  /** Whether nothing is written; false by default. */
  readonly readOnly?: boolean;
  /** For `readOnly`: whether a role that could not write is refused; false by default. */
  readonly mustBeWritable?: boolean;
  /**
   * Called with a sentence for the operator if the server was replaced without a loss, or does not show its
   * identity.
   */
  readonly onNotice?: (text: string) => void;
  /** The time after which the server cancels a statement or its wait for a lock (default: 3 s). */
  readonly statementTimeoutMs?: number;
  /** How long the start tries to reach the server (default: 5 s). */
  readonly startTimeoutMs?: number;
  /** The interval of the checks of the server over a new connection (default: 10 s). */
  readonly lookEveryMs?: number;
}

/**
 * Commits that wait at the same time share one write to the disk, so more connections store more payments a second. Searches
 * and purges have connections of their own, so that payments do not wait behind them.
 */
const maxConnections = { payments: 10, searches: 2, looks: 1 };
const usualStatementTimeoutMs = 3_000;
/** The server reports a cancelled statement within this time, unless the server or the network has failed. */
const marginMs = 1_000;
const usualStartTimeoutMs = 5_000;
const startPauseMs = 250;
const usualLookEveryMs = 10_000;
/** The processes of a store delete a row after its retention, each by its own clock. The clocks differ by less than this. */
const retentionMarginMs = 10 * 60_000;
/** A connection is replaced after this time, and so checked again. */
const maxLifetimeSeconds = 600;
/** The number of attempts to insert a row while others store and delete it. */
const maxRounds = 5;
/** Codes of a server that stops or fails: a commit in progress may or may not be stored. */
const ending = /^(08|57P|58|XX)/;

/** The server's function that waits for standbys. Its warning says that none has confirmed a commit; other warnings do not matter. */
const commitsWait = 'SyncRepWaitForLSN';

/** Ends backends, and waits until each is gone. */
const endBackends = `SELECT pg_terminate_backend(activity.pid, 500) FROM pg_stat_activity AS activity,
  unnest($1::int[], $2::text[]) AS left_behind (pid, started_at)
  WHERE activity.pid = left_behind.pid AND activity.backend_start::text = left_behind.started_at`;

/** The state of a connection. */
interface Session {
  readonly backend: Backend;
  timeline: number | null;
  loss: string | null;
  /** The server's warning during the last statement. */
  warning: string | null;
}

/**
 * A payment store in PostgreSQL, which the processes of several machines may share. Each step is one statement, so that it is
 * atomic and leaves no transaction open. A connection whose call failed is not used again. Its backend may still be running,
 * because a commit waits for a standby without a limit. Therefore, the next call first ends that backend: after that, the
 * backend's row is either visible or never committed.
 * Errors: an Error that names the server and the remedy if it cannot be used.
 */
export async function createPostgresDriver(options: PostgresDriverOptions): Promise<StoreDriver> {
  const { address, retentionMs, allowVolatile = false, onNotice = () => {} } = options;
  const { readOnly = false, mustBeWritable = !readOnly } = options;
  const { statementTimeoutMs = usualStatementTimeoutMs, startTimeoutMs = usualStartTimeoutMs } = options;
  const { lookEveryMs = usualLookEveryMs } = options;
  const sessions = new WeakMap<ClientBase, Session>();
  const leftBehind = new Set<Backend>();
  const notices = new Set<string>();
  /** The row of bankql.store (the store's and its server's identity) at the last successful check; null if there was none. */
  let known: StoreIdentity | null = null;
  const provisional = newIdentity();
  /** The loss that the last check of a connection has found. */
  let loss: string | null = null;
  const witnesses = new Witnesses();

  const shown = shownAddress(address);
  const unavailable = (reason: string) =>
    new StoreUnavailable(`The payment store ${shown} is not available: ${reason}.`);

  function notify(text: string): void {
    if (!notices.has(text)) onNotice(text);
    notices.add(text);
  }

  async function onConnect(client: ClientBase, settings: SetUpOptions['settings']): Promise<void> {
    const backend = await setUp(client, { timeoutMs: statementTimeoutMs, allowVolatile, settings });
    const session: Session = { backend, timeline: null, loss: null, warning: null };
    sessions.set(client, session);
    client.on('notice', ({ routine = commitsWait, message }) => {
      if (routine === commitsWait) session.warning = message ?? routine;
    });
    // The error of a connection in use is ignored here, because the call that uses it fails with the error.
    client.on('error', () => {});
    await checkIdentity(client, session);
  }

  /**
   * Finds out whether a connection leads to the server to which the records were written, and whether that server has
   * them.
   */
  async function checkIdentity(client: ClientBase, session: Session): Promise<void> {
    const row = await readStore(client, shown, mustBeWritable);
    const server = await readServer(client);
    session.timeline = server.timeline;
    const reason = row === null ? 'its row in bankql.store is missing' : await accept(client, row, server);
    session.loss = loss = reason && `The payment store ${shown} may lack records: ${reason}.`;
  }

  /** Shape: the reason why the server is not accepted; null if it is accepted. */
  async function accept(
    client: ClientBase,
    row: StoreIdentity,
    server: ServerIdentity,
  ): Promise<string | null> {
    known ??= row;
    if (row.id !== known.id) return 'another store was made in its place; if that is meant, restart bankql';
    const isDecided = decidedAt(row) > decidedAt(known);
    if (isDecided) witnesses.forget();
    const witness = witnesses.newest;
    const { now, isThere, newest } = await lookFor(client, witness);
    const compared = compareServers(isDecided ? row : expectedServer(row, known), server, isThere);
    // The witness (witness.ts) may be missing without a loss: this process may have deleted its row, or any
    // process may have deleted it after the retention.
    const isMissing = witness !== null && !isThere && witnesses.has(witness);
    const isLost = isMissing && now - witness.updated_at < retentionMs - retentionMarginMs;
    const reason = row.loss ?? compared.loss ?? (isLost ? lacks(witness) : null);
    if (reason !== null) {
      if (isLost && !readOnly) await writeLoss(client, row, reason);
      return reason;
    }
    if (isMissing) witnesses.drop(witness.id);
    else if (newest !== null) witnesses.settled(newest);
    if (compared.change !== null) notify(`The payment store ${shown} goes on: ${compared.change}.`);
    if (server.system_identifier === null)
      notify(
        'The server does not show its system identifier: a bankql that starts does not notice if another server has taken its place.',
      );
    const current = { ...row, ...withoutNulls(server) };
    const isWritten = readOnly || JSON.stringify(current) === JSON.stringify(row);
    known = isWritten ? current : await writeStore(client, row, server);
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
      // The loop ends the connection and opens another one, because a standby has replaced the connection's
      // server.
      client.release(true);
    }
  }

  async function endLeftBehind(client: ClientBase): Promise<void> {
    const ended = [...leftBehind];
    if (ended.length === 0) return;
    const named = [ended.map(({ pid }) => pid), ended.map(({ startedAt }) => startedAt)];
    await asLogin(client, () => client.query(endBackends, named));
    for (const backend of ended) leftBehind.delete(backend);
  }

  /**
   * Sends one statement, and never repeats it. If it is unknown whether a payment's INSERT is stored, the payment is
   * refused, and the row is deleted later. `check`: the server's identity is checked first. `begins`: the call fails if
   * records may be missing.
   * Errors: WriteUncertain if it may have been committed; StoreUnavailable if nothing is stored.
   */
  async function call(pool: Pool, statementNow: () => Statement, { check = false, begins = false } = {}) {
    const { client, session } = await connect(pool).catch((error) =>
      Promise.reject(unavailable(error.message)),
    );
    try {
      await endLeftBehind(client);
      if (check || loss !== null || session.loss !== null) await checkIdentity(client, session);
    } catch (error) {
      client.release(true);
      throw unavailable(reasonOf(error));
    }
    if (begins && session.loss !== null) {
      client.release(true);
      throw new StoreUnavailable(session.loss);
    }
    session.warning = null;
    let result: QueryResult;
    try {
      result = await client.query(statementNow());
    } catch (error) {
      // The connection is not used again. If the statement was not answered, the next one would wait for it.
      client.release(true);
      const { message } = unavailable(reasonOf(error, address.password));
      if (error instanceof DatabaseError && !ending.test(error.code ?? ''))
        throw new StoreUnavailable(message);
      leftBehind.add(session.backend);
      throw new WriteUncertain(message);
    }
    client.release();
    // No standby has confirmed the commit, but it may be on the disk: an operator may have ended the wait for a standby.
    if (session.warning !== null && !allowVolatile)
      throw new WriteUncertain(unavailable(`the server warned: ${session.warning}`).message);
    const { rows, rowCount } = result;
    return { rows, rowCount, isTrusted: session.warning === null && session.loss === null };
  }

  /** A row that was found or inserted. `isTrusted`: whether the server is the right one, and has warned of nothing. */
  function see([found]: readonly unknown[], isTrusted: boolean): StoredRow | null {
    if (found === undefined) return null;
    const row = foundRow.parse(found);
    if (!row.is_witnessed) void look();
    // A PENDING row is not used as a witness, because other processes may delete it. Neither is a row from the future,
    // because it would stay the newest.
    else if (isTrusted && row.state !== 'PENDING' && row.created_at <= row.now) witnesses.settled(row);
    return row;
  }

  async function insert(row: NewRow): Promise<StoredRow> {
    const statementNow = () => statements.insert(row, known?.id ?? '', witnesses.newest?.id ?? null);
    for (let round = 0; round <= maxRounds; round++) {
      // The INSERT returns no row if another process has just stored one with this id, or if this is not the
      // known server.
      const { rows, isTrusted } = await call(payments, statementNow, { begins: true, check: round > 0 });
      const stored = see(rows, isTrusted);
      if (stored?.version === row.version && isTrusted) witnesses.begun(stored);
      if (stored !== null) return stored;
    }
    throw unavailable('other processes keep changing one of its records');
  }

  const connection = await clientOptions(address).catch(({ message }: Error) => {
    throw openError(new ServerRefused(`a file of STATE_URL cannot be used: ${message}`), address);
  });
  const createPool = (max: number, settings: SetUpOptions['settings']): Pool =>
    new Pool({
      ...connection,
      max,
      onConnect: (client) => onConnect(client, settings),
      // Before this time, the server itself cancels a statement, and reports that nothing is stored.
      query_timeout: statementTimeoutMs + marginMs,
      maxLifetimeSeconds,
      // A store that was not closed does not keep the process alive.
      allowExitOnIdle: true,
      // The error of an unused connection is ignored, because the connection only leaves the pool.
    }).on('error', () => {});
  const payments = createPool(maxConnections.payments, plannedOnce);
  const searches = createPool(maxConnections.searches, {});
  const looks = createPool(maxConnections.looks, {});

  /**
   * Checks the server over a new connection. If another server has replaced it, only a new connection leads
   * there.
   */
  async function look(): Promise<void> {
    await connect(looks).then(
      ({ client }) => client.release(true),
      // A failure is ignored, because every call of the server notices it as well.
      () => {},
    );
  }
  const looking = setInterval(() => void look(), lookEveryMs).unref();

  async function close(): Promise<void> {
    clearInterval(looking);
    const isOver = new AbortController();
    const ended = Promise.all([payments, searches, looks].map((pool) => pool.end()));
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
      const { rowCount } = await call(payments, () => statements.recover(row, createdAt));
      return rowCount === 1;
    },
    async compareAndSet(id, version, change) {
      // The row stops being the witness before it is deleted, so that no other call looks for it in the meantime.
      if (change === null) witnesses.drop(id);
      const { rowCount } = await call(payments, () => statements.change(id, version, change));
      if (rowCount !== 1) return false;
      if (change !== null && change.state !== 'PENDING') witnesses.ended(id);
      return true;
    },
    async find(id) {
      const { rows, isTrusted } = await call(payments, () =>
        statements.find(id, witnesses.newest?.id ?? null),
      );
      return see(rows, isTrusted);
    },
    async search(query) {
      const { rows } = await call(searches, () => statements.search(query));
      return rows.map((row) => storedRow.parse(row));
    },
    async count() {
      const { rows } = await call(payments, statements.count);
      return rowCounts.parse(rows[0]);
    },
    async purge(before) {
      const { rowCount } = await call(searches, () => statements.purge(before));
      return rowCount ?? 0;
    },

    async acceptLoss(acceptedBy) {
      try {
        const { client } = await connect(payments);
        const written = readServer(client).then((server) =>
          writeStore(client, known ?? provisional, server, acceptedBy),
        );
        known = await written.finally(() => client.release(true));
        witnesses.forget();
        loss = null;
      } catch (error) {
        throw unavailable(messageOf(error));
      }
    },

    close,
  };
}

/**
 * The last time at which an operator accepted a loss of records, in milliseconds since 1970; 0 if no operator
 * has accepted one.
 */
const decidedAt = ({ loss_accepted_at }: StoreIdentity): number => loss_accepted_at?.getTime() ?? 0;

/**
 * The identity of the server on which the store must be. The row on an old primary may be older than `known`, which then
 * shows a later promotion, or that no standby had to confirm the last payments.
 */
function expectedServer(row: StoreIdentity, known: StoreIdentity): ServerIdentity {
  if (row.system_identifier !== known.system_identifier || row.timeline === null) return row;
  return {
    ...row,
    timeline: Math.max(row.timeline, known.timeline ?? 0),
    standbys_confirm: row.standbys_confirm && known.standbys_confirm,
  };
}

const withoutNulls = (server: ServerIdentity): Partial<ServerIdentity> =>
  Object.fromEntries(Object.entries(server).filter(([, value]) => value !== null));
