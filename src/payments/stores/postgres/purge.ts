import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { OnStoreEvent } from '../store-event.ts';
import { batch, statements } from './statements.ts';
import type { TimedPool } from './timed-pool.ts';

export interface PurgeOptions {
  readonly pool: TimedPool;
  readonly retentionMs: number;
  readonly timeOf: (now: number) => number | null;
  readonly onEvent: OnStoreEvent;
}

const purgeEveryMs = 60_000;
/** Between two batches, so that payments have most of the server. */
const pauseMs = 30;
/** A purge that finds a greater share of the records expired than this is told to the operator. */
const remarkableShare = 0.1;

const counts = z.object({ records: z.coerce.number(), expired: z.coerce.number() });

/**
 * Deletes what has outlived its retention, by the server's time, in short statements; once a minute at most, after a payment
 * has begun. Those that share the store may do it at once.
 */
export function createPurge({ pool, retentionMs, timeOf, onEvent }: PurgeOptions): (now: number) => void {
  let purgedAt = Number.NEGATIVE_INFINITY;

  async function purge(now: number): Promise<void> {
    const at = timeOf(now);
    const { rows } = await pool.run((connection) => connection.query(statements.status([at, retentionMs])));
    const { records, expired } = counts.parse(rows[0]);
    let deleted = 0;
    for (let more = expired > 0; more; await delay(pauseMs, undefined, { ref: false })) {
      const removed = await pool.run((connection) =>
        connection.query(statements.forget([at, retentionMs, null])),
      );
      deleted += removed.rows.length;
      more = removed.rows.length === batch;
    }
    if (expired > (records + expired) * remarkableShare)
      onEvent({ kind: 'purge', deleted, expired, records: records + expired });
  }

  return (now) => {
    if (performance.now() - purgedAt < purgeEveryMs) return;
    purgedAt = performance.now();
    // Whatever hinders it is told by the payments that it hinders as well.
    purge(now).catch(() => {});
  };
}
