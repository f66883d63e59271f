import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { hasRedis, startRedis } from './redis.ts';

/** Where payments are kept, as STATE_URL names it, with what a test does to it. */
export interface State extends AsyncDisposable {
  readonly url: string;
  /** Takes the store away from bankql, in one of its kind's ways; the answer gives it back, with all that it held. */
  takeAway(way: string): Promise<() => Promise<void>>;
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
    return {
      url: `sqlite:${path}`,
      async takeAway() {
        const other = new DatabaseSync(path, { timeout: 0 });
        // Without SQLite's own wait, which would stop this process.
        while (!locks(other)) await delay(2);
        return async () => other.close();
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

const redis: StateKind = {
  name: 'Redis',
  ways: ['killed', 'held up'],
  async start() {
    const server = await startRedis();
    return {
      url: server.url,
      async takeAway(way) {
        if (way === 'held up') {
          server.pause();
          return async () => server.resume();
        }
        await server.kill();
        return () => server.restart();
      },
      [Symbol.asyncDispose]: () => server.stop(),
    };
  },
};

/** The stores that several processes may share, as far as this machine has them. */
export const sharedStates: readonly StateKind[] = hasRedis ? [sqlite, redis] : [sqlite];
