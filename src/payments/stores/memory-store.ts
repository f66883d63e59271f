import { randomBytes } from 'node:crypto';
import { beginEvent, finishEvent, leaseEndEvent, settleEvent } from '../payment-history.ts';
import { applyQuery, statusOf } from '../payment-query.ts';
import { leaseEnded, type PaymentRecord, type PaymentStore, StoreUnavailable } from '../store.ts';

const purgeEveryMs = 60_000;

interface Entry {
  readonly record: PaymentRecord;
  /** Whether the attempt that began the payment may still write its outcome. */
  readonly awaited: boolean;
}

/**
 * A payment store that forgets everything when the process ends: for the sandbox and for tests only.
 * Shape:  a PaymentStore; it belongs to one process. A record's age is counted from its last change.
 * Errors: StoreUnavailable after close, and never before.
 */
export function createMemoryStore({ retentionMs }: { readonly retentionMs: number }): PaymentStore {
  const entries = new Map<string, Entry>();
  let purgedAt = Number.NEGATIVE_INFINITY;
  let closed = false;

  function assertOpen(): void {
    if (closed) throw new StoreUnavailable('The payment store in memory is closed.');
  }

  function outlived({ state, updatedAt }: PaymentRecord, now: number): boolean {
    return (state === 'DONE' || state === 'REJECTED') && updatedAt < now - retentionMs;
  }

  function purge(now: number): void {
    // A clock that was set back must not stop the purge until it has caught up.
    if (Math.abs(now - purgedAt) < purgeEveryMs) return;
    purgedAt = now;
    for (const [id, { record }] of entries) if (outlived(record, now)) entries.delete(id);
  }

  function change(entry: Entry, change: Partial<PaymentRecord>, awaited: boolean): Entry {
    const changed = { record: { ...entry.record, ...change }, awaited };
    entries.set(entry.record.id, changed);
    return changed;
  }

  function current(id: string, now: number): Entry | undefined {
    const entry = entries.get(id);
    if (entry === undefined || outlived(entry.record, now)) return undefined;
    if (entry.record.state !== 'PENDING' || entry.record.leaseUntil > now) return entry;
    const history = [...entry.record.history, leaseEndEvent(now)];
    return change(entry, { ...leaseEnded, history, updatedAt: now }, entry.awaited);
  }

  const all = (now: number) => [...entries.keys()].flatMap((id) => current(id, now)?.record ?? []);

  return {
    secret: randomBytes(32).toString('hex'),
    // Memory is lost with the process, and so is any mark that could reveal the loss.
    loss: null,
    async acceptLoss() {},

    async status(now) {
      assertOpen();
      return statusOf(all(now));
    },

    async begin(record, now) {
      assertOpen();
      purge(now);
      const found = current(record.id, now);
      if (found === undefined)
        entries.set(record.id, { record: { ...record, history: [beginEvent(record)] }, awaited: true });
      return found?.record ?? null;
    },

    async finish(id, trackId, outcome, now) {
      assertOpen();
      const entry = entries.get(id);
      if (entry?.record.trackId !== trackId || !entry.awaited) return false;
      const { state, answer, code, status, message, bankText } = outcome;
      const history = [...entry.record.history, finishEvent(outcome, now)];
      change(entry, { state, answer, code, status, message, bankText, history, updatedAt: now }, false);
      return true;
    },

    async release(id, trackId, { afterLease = false } = {}) {
      assertOpen();
      const entry = entries.get(id);
      if (entry?.record.trackId !== trackId || !entry.awaited) return false;
      if (entry.record.state !== 'PENDING' && !afterLease) return false;
      return entries.delete(id);
    },

    async find(id, now) {
      assertOpen();
      return current(id, now)?.record ?? null;
    },

    async search(query, now) {
      assertOpen();
      return applyQuery(all(now), query);
    },

    async settle(id, state, settledBy, now) {
      assertOpen();
      const entry = current(id, now);
      if (entry?.record.state !== 'UNKNOWN' || entry.record.settledBy !== null) return false;
      // OUTCOME_UNKNOWN and its message no longer apply, and would be replayed.
      const history = [...entry.record.history, settleEvent(state, settledBy, now)];
      change(entry, { state, code: null, message: null, settledBy, history, updatedAt: now }, false);
      return true;
    },

    async close() {
      closed = true;
      entries.clear();
    },
  };
}
