import type { SQLOutputValue } from 'node:sqlite';
import { beginEvent, finishEvent, historyLine, leaseEndEvent, settleEvent } from '../../payment-history.ts';
import type { OnStoreEvent } from '../store-event.ts';
import type { SharedClock } from './clock.ts';
import type { OpenFile } from './database-file.ts';
import { acceptedMark, heldMark } from './mark-files.ts';
import type { Statements } from './statements.ts';
import type { StoreCall } from './worker-protocol.ts';

/** What the payment store's calls do in the SQLite file. For worker.ts. */

/** The calls that need the write lock, each in one transaction. */
export type WriteCall = Exclude<StoreCall, { readonly method: 'open' | 'close' | 'prepareRead' }>;

export interface CallsOptions {
  readonly retentionMs: number;
  readonly clock: SharedClock;
  readonly markFiles: readonly string[];
  readonly onEvent: OnStoreEvent;
}

const purgeEveryMs = 60_000;

/** A purge is reported to the operator if a greater share of the records than this has expired. */
const remarkableShare = 0.1;

/** How long a payment may wait for a purge's deletions, not counting the commit. */
const purgeSliceMs = 10;

export interface Purge {
  readonly before: number;
  readonly expired: number;
  /** Of all records, no more than are needed to tell whether `expired` is a remarkable share. */
  readonly records: number;
}

export function createStoreCalls({ retentionMs, clock, markFiles, onEvent }: CallsOptions) {
  let purgedAt = Number.NEGATIVE_INFINITY;

  /** Finished records that were last changed before this time have expired; none while the clocks do not agree. */
  function expiry(statements: Statements, now: number): number {
    const time = clock.agreedTime(statements, now);
    return time === null ? Number.MIN_SAFE_INTEGER : time - retentionMs;
  }

  /** What a due purge has to delete; null if none is due or nothing has expired. Reads only. */
  function duePurge({ statements }: OpenFile, now: number): Purge | null {
    // A clock that was set back must not stop the purge until it has caught up.
    if (Math.abs(now - purgedAt) < purgeEveryMs) return null;
    purgedAt = now;
    const before = expiry(statements, now);
    const expired = Number(statements.countExpired.get({ before })?.n);
    if (expired === 0) return null;
    const records = Number(statements.count.get({ limit: Math.ceil(expired / remarkableShare) })?.n);
    return { before, expired, records };
  }

  /** Deletes what a purge may, for a short time. In a transaction. Shape: how many; whether there may be more. */
  function purgeSlice({ statements }: OpenFile, { before }: Purge) {
    const until = performance.now() + purgeSliceMs;
    for (let deleted = 0; ; ) {
      const { changes } = statements.purge.run({ before });
      deleted += Number(changes);
      if (changes === 0) return { deleted, more: false };
      if (performance.now() >= until) return { deleted, more: true };
    }
  }

  function endPurge({ expired, records }: Purge, deleted: number): void {
    if (expired > records * remarkableShare) onEvent({ kind: 'purge', deleted, expired, records });
  }

  type Row = Record<string, SQLOutputValue>;

  /** The record as of now: its lease or its retention may have ended. */
  function current(statements: Statements, id: string, now: number): Row | null {
    const row = statements.read.get({ id });
    if (row === undefined) return null;
    const { state, leaseUntil, updatedAt } = row;
    if (state === 'PENDING' && Number(leaseUntil) <= now) {
      statements.endLease.run({ id, now, event: historyLine(leaseEndEvent(now)) });
      return statements.read.get({ id }) ?? null;
    }
    if (state === 'PENDING' || state === 'UNKNOWN' || Number(updatedAt) >= now - retentionMs) return row;
    return statements.forget.run({ id, before: expiry(statements, now) }).changes === 1 ? null : row;
  }

  return {
    /** In a transaction that has the write lock. */
    write({ statements }: OpenFile, call: WriteCall): unknown {
      if (call.method !== 'release') clock.set(statements, call.now);
      switch (call.method) {
        case 'begin': {
          const { record, now } = call;
          const found = current(statements, record.id, now);
          if (found === null) statements.insert.run({ ...record, history: historyLine(beginEvent(record)) });
          return found;
        }
        case 'finish': {
          const { id, trackId, now, outcome } = call;
          const event = historyLine(finishEvent(outcome, now));
          return statements.finish.run({ id, trackId, ...outcome, now, event }).changes === 1;
        }
        case 'release':
          return (
            statements.release.run({
              id: call.id,
              trackId: call.trackId,
              afterLease: Number(call.afterLease),
            }).changes === 1
          );
        case 'find':
          return current(statements, call.id, call.now);
        case 'settle': {
          const { id, state, settledBy, now } = call;
          current(statements, id, now);
          const event = historyLine(settleEvent(state, settledBy, now));
          return statements.settle.run({ id, state, settledBy, now, event }).changes === 1;
        }
        case 'acceptLoss': {
          const { by, now } = call;
          const held = heldMark(statements);
          const accepted = acceptedMark(held, markFiles);
          statements.setMark.run({ ...accepted });
          const what = `accepted the loss of records: ${JSON.stringify({ held, accepted })}`;
          statements.decide.run({ at: now, by, what });
          return true;
        }
      }
    },

    duePurge,
    purgeSlice,
    endPurge,

    /** Whether a lease has ended that nobody noticed: then endLeases has to come first, with the write lock. */
    hasEndedLease: ({ statements }: OpenFile, now: number): boolean =>
      statements.leaseEnded.get({ now }) !== undefined,

    endLeases({ statements }: OpenFile, now: number): void {
      statements.endLeases.run({ now, event: historyLine(leaseEndEvent(now)) });
    },

    /** The time before which finished records are no more to be read. */
    expiry: ({ statements }: OpenFile, now: number): number => expiry(statements, now),
  };
}
