import type { HighWaterMark } from '../high-water-mark.ts';
import type { StoreClock } from '../store-clock.ts';
import type { RedisConnection } from './connection.ts';

/** A connection to a server that has passed checkServer, and the name of the store on it. */
export interface RedisServer {
  readonly connection: RedisConnection;
  readonly name: string;
  readonly retentionMs: number;
  readonly clock: StoreClock;
  readonly meta: StoreMetadata;
  /** Why only this process refuses payments although the store accepts them: a mark of its own cannot be read. */
  readonly unreadable: string | null;
  /** Resolves when enough replicas have everything that was written; see createReplication. */
  readonly replicated: () => Promise<void>;
}

/**
 * A store's metadata, in one hash: `version`, `secret`, `began` and `newestAt` (its high-water mark), and
 * - `loss`: why payments are refused, in one sentence, for all that share the store. Written by the process that
 *   detects the loss.
 * - `missed:<store>`: the highest mark that did not fit, "began newestAt".
 * - `accepted:<store>`: who accepted that this other store, and what was begun in it, is lost.
 */
export interface StoreMetadata {
  readonly secret: string;
  readonly loss: string | null;
  /** What was begun in it. */
  readonly held: HighWaterMark;
}
