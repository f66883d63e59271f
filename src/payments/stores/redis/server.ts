import type { HighWaterMark } from '../high-water-mark.ts';
import type { RedisConnection } from './connection.ts';

/** A connection to a server that may keep payments, and the name of the store in it. */
export interface RedisServer {
  readonly connection: RedisConnection;
  readonly name: string;
  readonly retentionMs: number;
  readonly clock: StoreClock;
  readonly meta: StoreMetadata;
  /** Why this process alone refuses payments, although the store takes them: a mark of its own cannot be read. */
  readonly unreadable: string | null;
  /** Resolves when enough replicas have what was written; see createReplication. */
  readonly replicated: () => Promise<void>;
}

/**
 * What a store knows of itself, in one hash: `version`, `secret`, `began` and `newestAt` (its high-water mark), and
 * - `loss`: why payments are refused, in one sentence, for all that share the store. Whoever sees the loss writes it.
 * - `missed:<store>`: the highest mark that did not fit, "began newestAt".
 * - `accepted:<store>`: who accepted that this other store, and what was begun in it, is lost.
 */
export interface StoreMetadata {
  readonly secret: string;
  readonly loss: string | null;
  /** What was begun in it. */
  readonly held: HighWaterMark;
}

/**
 * Whose clock counts. `server`: Redis' own, the same for all processes that share the store; what a process says of a
 * time is moved by the difference between its clock and Redis'. `caller`: `now` of each call, for tests.
 */
export type StoreClock = 'server' | 'caller';
