import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { initStore, openStore } from '../../src/payments/store/open-store.ts';
import {
  durable as durablePostgres,
  hasPostgres,
  startPostgres,
  startStandby,
  type TestPostgres,
} from './postgres.ts';
import { openTcpGate } from './tcp-gate.ts';
import { lateBy, until } from './waits.ts';

const laterBy = (table: string, ms: string) =>
  `UPDATE ${table} SET created_at = created_at - ${ms}, updated_at = updated_at - ${ms}, lease_until = lease_until - ${ms}`;

const damaged = (accountId: string, table = 'payment') =>
  `UPDATE ${table} SET json = substr(json, 1, 40) WHERE account_id = ${accountId}`;

/** A store of payments, with its STATE_URL and the faults that tests can cause. */
export interface State extends AsyncDisposable {
  readonly url: string;
  /**
   * Makes the store unavailable for bankql, in one of the ways of its kind. The returned function makes it available again, with
   * all its records.
   */
  takeAway(way: string): Promise<() => Promise<void>>;
  /** Moves the times of all records back, as if time had passed. */
  pass(ms: number): Promise<void>;
  /** Damages the record of the payment from this account. */
  damage(accountId: string): Promise<void>;
}

export interface StateKind {
  readonly name: string;
  readonly ways: readonly string[];
  readonly start: () => Promise<State>;
}

const sqlite: StateKind = {
  name: 'SQLite',
  ways: ['locked'],
  async start() {
    const folder = await mkdtemp(join(tmpdir(), 'bankql-payments-'));
    const path = join(folder, 'state.db');
    await initStore(`sqlite:${path}`);
    return {
      url: `sqlite:${path}`,
      async takeAway() {
        const other = new DatabaseSync(path, { timeout: 0 });
        // SQLite's own wait for the lock is off, because it would block this process.
        await until(() => locks(other));
        return async () => other.close();
      },
      async pass(ms) {
        using database = new DatabaseSync(path, { timeout: 60_000 });
        database.prepare(laterBy('payment', '?1')).run(ms);
      },
      async damage(accountId) {
        using database = new DatabaseSync(path, { timeout: 60_000 });
        database.prepare(damaged('?1')).run(accountId);
      },
      [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
    };
  },
};

function locks(database: DatabaseSync): boolean {
  try {
    database.exec('BEGIN IMMEDIATE');
    return true;
  } catch (error) {
    if (error instanceof Error && error.message.includes('locked')) return false;
    throw error;
  }
}

const readOnly = (server: TestPostgres, value: 'on' | 'off') =>
  server
    .query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`)
    .then(() => server.query('SELECT pg_reload_conf()'));

const postgres: StateKind = {
  name: 'PostgreSQL',
  ways: ['killed', 'held up'],
  async start() {
    const server = await startPostgres(durablePostgres);
    await initStore(server.url);
    return {
      url: server.url,
      async takeAway(way) {
        if (way === 'held up') {
          await server.pause();
          return () => server.resume();
        }
        if (way === 'cut off') {
          await server.cut();
          return async () => {};
        }
        if (way === 'read-only') {
          await readOnly(server, 'on');
          return async () => void (await readOnly(server, 'off'));
        }
        await server.kill();
        return () => server.restart();
      },
      pass: async (ms) => void (await server.query(laterBy('bankql.payment', '$1::bigint'), [ms])),
      damage: async (accountId) => void (await server.query(damaged('$1', 'bankql.payment'), [accountId])),
      [Symbol.asyncDispose]: () => server.stop(),
    };
  },
};

/** A primary and a standby that confirms each payment, behind one address. Either may end. */
const standby: StateKind = {
  name: 'PostgreSQL with a standby',
  ways: ['failed over', 'without its standby'],
  async start() {
    await using made = new AsyncDisposableStack();
    const confirming = { ...durablePostgres, synchronous_standby_names: '*' };
    // The server starts without this setting, because no standby could confirm the creation of the role and the
    // database yet.
    let primary = made.use(await startPostgres(durablePostgres));
    let other = made.use(await startStandby(primary, confirming));
    await primary.restart(confirming);
    const untilFollowed = () =>
      until(async () => {
        const states = await primary.query('SELECT sync_state FROM pg_stat_replication').catch(() => []);
        return states.some(({ sync_state: state }) => state === 'sync');
      });
    await untilFollowed();
    const forwarder = made.use(await openTcpGate(primary.port));
    const url = `postgres://bankql@127.0.0.1:${forwarder.port}/bankql`;
    await initStore(url);
    const resources = made.move();
    return {
      url,
      async takeAway(way) {
        if (way === 'without its standby') {
          await other.kill();
          return async () => {
            await other.restart();
            await untilFollowed();
          };
        }
        await primary.kill();
        return async () => {
          await other.query('SELECT pg_promote()');
          [primary, other] = [other, primary];
          forwarder.leadTo(primary.port);
          await other.follow(primary);
          await untilFollowed();
          // First, the processes check the server. If none of them has seen a payment before, an operator confirms that the
          // server is the standby.
          await lateBy(2_000);
          const operator = await openStore(url, { retentionMs: Number.MAX_SAFE_INTEGER });
          if (operator.loss?.includes('while no bankql ran')) await operator.acceptLoss('Ada: the standby');
          await operator.close();
        };
      },
      pass: async (ms) => void (await primary.query(laterBy('bankql.payment', '$1::bigint'), [ms])),
      damage: async (accountId) => void (await primary.query(damaged('$1', 'bankql.payment'), [accountId])),
      [Symbol.asyncDispose]: () => resources.disposeAsync(),
    };
  },
};

/** Only `check:payments` uses this state, because a failover takes seconds. */
export const postgresStates: readonly StateKind[] = hasPostgres
  ? [{ ...postgres, ways: [...postgres.ways, 'cut off', 'read-only'] }, standby]
  : [];

/** The stores that several processes can share, as far as they are installed here. */
export const sharedStates: readonly StateKind[] = [sqlite, ...(hasPostgres ? [postgres] : [])];
