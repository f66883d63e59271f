import { createQueue } from '../../queue.ts';
import { isUnreadable, type PaymentRecord } from '../payment-record.ts';
import { advance, type HeldPayment, type ProtocolEvent } from '../protocol.ts';
import { type RowCounts, type StoreDriver, type StoredRow, WriteUncertain } from './driver.ts';
import { pause } from './pause.ts';
import { heldPaymentIn, newRow, rowChange } from './payment-rows.ts';
import {
  type AttemptOutcome,
  type OnPage,
  type OnStoreEvent,
  type PaymentQuery,
  type PaymentStore,
  StoreUnavailable,
} from './store.ts';
import { UnwrittenOutcomes } from './unwritten-outcomes.ts';

interface PaymentStoreOptions {
  /** The store's name in messages. */
  readonly name: string;
  readonly driver: StoreDriver;
  /** The time for which a DONE or REJECTED record is kept after its last change. */
  readonly retentionMs: number;
  /** After the start and after a step of the database's clock, no record expires for this time (default: an hour). */
  readonly expiryPauseMs?: number;
  /**
   * Whether nothing is written (default: false). A change that is due, such as the end of a lease, then appears only
   * in results.
   */
  readonly readOnly?: boolean;
  readonly onEvent?: OnStoreEvent | undefined;
  /** The time in milliseconds since 1970, by a clock that cannot be set. */
  readonly clock?: () => number;
}

const steadyClock = () => performance.timeOrigin + performance.now();

/**
 * If the database's time changes by more than this relative to the time that passed here, the database's
 * clock was set.
 */
const maxDifferenceMs = 60_000;
/** The default of `expiryPauseMs`: within this time, a clock that is wrong after a machine's start is put right. */
const usualExpiryPauseMs = 60 * 60_000;
const pageSize = 128;
const purgeEveryMs = 60_000;
/** The pause between two steps of a purge, so that payments get most of the database's time. */
const purgePauseMs = 30;
/** How many times a change is tried while other processes change the record. */
const maxRounds = 20;
/**
 * The maximum numbers of lookups and of searches that a database has at a time. One caller may ask for
 * thousands at once: payments would wait behind them, and the database would seem to be unavailable. A search
 * among the payments of a busy caller takes up to 0.3 s.
 */
const maxLookups = 100;
const maxSearches = 16;
/** The maximum number of unwritten outcomes, which are kept in memory. At this number, no further payment begins. */
const maxUnwritten = 1_000;

/** A record, and when it was read. */
interface Seen {
  readonly held: HeldPayment;
  readonly version: string;
  /** The database's time when the record was read. */
  readonly now: number;
}

/**
 * A payment store: the protocol (protocol.ts) on top of a database. A change reads a record, asks the protocol for the next
 * one, and replaces the version that it has read. If another process was faster, the change starts again. An answer about a
 * record says only what the database already contains. An outcome that cannot be written stays in memory
 * (unwritten-outcomes.ts), and is answered from there.
 */
export function createPaymentStore(options: PaymentStoreOptions): PaymentStore {
  const { name, driver, retentionMs, expiryPauseMs = usualExpiryPauseMs, readOnly = false } = options;
  const { onEvent = () => {}, clock = steadyClock } = options;
  /** The records of attempts that this process has begun and not ended, which need not be read again. */
  const begun = new Map<string, Seen>();
  const [lookups, searches] = [createQueue(maxLookups), createQueue(maxSearches)];
  let purgedAt = Number.NEGATIVE_INFINITY;
  /**
   * How far the database's clock is ahead of this process's, in milliseconds; updated when a step of the clock is
   * noticed.
   */
  let ahead = 0;
  let clockSetAt = clock();
  let isTimeAhead = false;
  let loss: string | null = null;
  let closing: Promise<void> | null = null;

  const unwritten = new UnwrittenOutcomes(async ({ attempt, uncertainUntil }) => {
    const mayBeStoredLater = clock() < uncertainUntil;
    const { after, changed } = await apply(attempt.id, eventOf(attempt));
    // While the record is missing in the database, only this process's memory prevents the payment from being sent
    // again.
    return attempt.outcome === null ? changed || !mayBeStoredLater : after !== null;
  });

  const unavailable = (reason: string) =>
    new StoreUnavailable(`The payment store ${name} is not available: ${reason}.`);

  function assertOpen(): void {
    if (closing !== null) throw unavailable('it is closed');
  }

  /** Notices a step of the database's clock. */
  function compareClocks(now: number): void {
    const byMs = Math.round(now - clock() - ahead);
    if (Math.abs(byMs) <= maxDifferenceMs) return;
    ahead += byMs;
    clockSetAt = clock();
    onEvent({ kind: 'clock-step', byMs });
  }

  /**
   * Records whose last change was before this time have expired; 0 if no record counts as expired. It is
   * computed from this process's clock and `ahead`, so that a step of the database's clock deletes nothing
   * before it is noticed.
   */
  const expiredBefore = () =>
    clock() - clockSetAt < expiryPauseMs ? 0 : Math.floor(clock() + ahead - retentionMs);

  /** Notices records from the future: the clock was ahead when they were written, or is behind now. */
  function compareNewest({ newestAt, newestEndAt, now }: RowCounts): void {
    const byMs = Math.max(newestAt ?? 0, newestEndAt ?? 0) - now;
    if (byMs > maxDifferenceMs && !isTimeAhead) onEvent({ kind: 'records-ahead', byMs });
    isTimeAhead = byMs > maxDifferenceMs;
  }

  function noticeLoss(): string | null {
    if (driver.loss !== loss)
      onEvent(driver.loss === null ? { kind: 'loss-accepted' } : { kind: 'loss', loss: driver.loss });
    loss = driver.loss;
    return loss;
  }

  function see(row: StoredRow): Seen {
    compareClocks(row.now);
    const held = heldPaymentIn(row);
    if (isUnreadable(held.record)) onEvent({ kind: 'record-unreadable', id: row.id });
    return { held, version: row.version, now: row.now };
  }

  async function load(id: string): Promise<Seen | null> {
    const row = await driver.find(id);
    return row && see(row);
  }

  /**
   * Applies an event to a record. `first`: the record, if it has been read already.
   * Shape: the record after the event (null if it is deleted), and whether the event changed it.
   */
  async function apply(id: string, eventAt: (now: number) => ProtocolEvent, first?: Seen | null) {
    let before = first === undefined ? await load(id) : first;
    for (let round = 1; round <= maxRounds; round++) {
      const next = before === null ? undefined : advance(before.held, eventAt(before.now));
      if (before === null || next === undefined) return { after: before, changed: false };
      const change = next && rowChange(next);
      if (readOnly || (await driver.compareAndSet(id, before.version, change)))
        return {
          after: next && { held: next, version: change?.version ?? '', now: before.now },
          changed: true,
        };
      // Another process has changed the record in the meantime.
      before = await load(id);
    }
    throw unavailable('other processes keep changing one of its records');
  }

  /** The record after the changes that are due: the end of its lease or of its retention. Null if no record is left. */
  async function current(id: string, first?: Seen | null): Promise<Seen | null> {
    const { after } = await apply(id, (at) => ({ kind: 'asked about', at }), first);
    if (after === null) return null;
    return (await apply(id, () => ({ kind: 'retention over', before: expiredBefore() }), after)).after;
  }

  async function begin(given: PaymentRecord, leaseMs: number): Promise<PaymentRecord | null> {
    assertOpen();
    const { id, trackId } = given;
    const kept = unwritten.recordOf(id);
    if (kept !== null) return kept;
    if (unwritten.size >= maxUnwritten)
      throw unavailable(`it has not taken the outcomes of ${unwritten.size} payments`);
    const known = noticeLoss();
    if (known !== null) throw new StoreUnavailable(known);
    for (let round = 1; round <= maxRounds; round++) {
      const row = newRow(advance(null, { kind: 'begin', record: given }), leaseMs);
      const stored = await driver.insert(row).catch((error) => {
        const attempt = { id, trackId, outcome: null };
        if (error instanceof WriteUncertain)
          void unwritten.keep({ attempt, record: null, uncertainUntil: clock() + driver.uncertainMs });
        throw error;
      });
      const seen = see(stored);
      if (stored.version === row.version) {
        begun.set(id, seen);
        if (clock() - purgedAt >= purgeEveryMs) void purge();
        return null;
      }
      const found = await current(id, seen);
      if (found !== null) return found.held.record;
    }
    throw unavailable('other processes keep changing one of its records');
  }

  async function end(attempt: AttemptOutcome): Promise<boolean> {
    assertOpen();
    const { id, trackId, outcome } = attempt;
    const own = begun.get(id);
    const seen = own?.held.record.trackId === trackId ? own : undefined;
    if (seen !== undefined) begun.delete(id);
    try {
      const { after, changed } = await apply(id, eventOf(attempt), seen);
      if (after === null && outcome !== null) throw unavailable('a record of it is missing');
      return changed;
    } catch (error) {
      if (seen !== undefined) {
        const next = advance(seen.held, eventOf(attempt)(seen.now));
        void unwritten.keep({ attempt, record: next?.record ?? null, uncertainUntil: 0 });
      }
      throw error;
    }
  }

  /** Deletes expired rows. A failure is not reported, because payments fail for the same reason and report it. */
  async function purge(): Promise<void> {
    purgedAt = clock();
    while (closing === null && (await driver.purge(expiredBefore()).catch(() => 0)) > 0)
      await pause(purgePauseMs);
  }

  async function search({ limit = Number.POSITIVE_INFINITY, ...query }: PaymentQuery, onPage?: OnPage) {
    assertOpen();
    if (unwritten.size > 0) await unwritten.writeAll();
    const records: PaymentRecord[] = [];
    for (let { after } = query; records.length < limit; ) {
      const wanted = Math.min(pageSize, limit - records.length);
      const page = await driver.search({ ...query, after, limit: wanted, expiredBefore: expiredBefore() });
      onPage?.(
        page.length,
        page.reduce((sum, { json }) => sum + json.length, 0),
      );
      for (const row of page) {
        const seen = see(row);
        const asked = await apply(row.id, (at) => ({ kind: 'asked about', at }), seen);
        if (asked.after !== null) records.push(unwritten.recordOf(row.id) ?? asked.after.held.record);
      }
      after = page.at(-1);
      if (page.length < wanted) break;
    }
    return records;
  }

  return {
    get secret() {
      return driver.secret;
    },
    get loss() {
      return driver.loss;
    },
    get unwritten() {
      return unwritten.records;
    },
    unconfirmed: () => unwritten.attempts(),
    async recover(record, by) {
      assertOpen();
      const held = advance(null, { kind: 'found in a log', record, by, at: clock() });
      return driver.recover(newRow(held, 0), record.createdAt);
    },
    async acceptLoss(acceptedBy) {
      assertOpen();
      await driver.acceptLoss(acceptedBy);
    },
    async count() {
      assertOpen();
      const counts = await driver.count();
      compareClocks(counts.now);
      compareNewest(counts);
      noticeLoss();
      return counts;
    },
    begin,
    end,
    drain: (timeoutMs) => unwritten.drain(timeoutMs),
    find: (id) =>
      lookups.run(async () => {
        assertOpen();
        return unwritten.recordOf(id) ?? (await current(id))?.held.record ?? null;
      }),
    search: (query, onPage) => searches.run(() => search(query, onPage)),
    async settle(id, state, by) {
      assertOpen();
      const found = await current(id);
      return (await apply(id, (at) => ({ kind: 'settled', state, by, at }), found)).changed;
    },
    close() {
      unwritten.stop();
      closing ??= driver.close();
      return closing;
    },
  };
}

const eventOf =
  ({ trackId, outcome }: AttemptOutcome) =>
  (at: number): ProtocolEvent =>
    outcome === null ? { kind: 'taken back', trackId, at } : { kind: 'ended', trackId, outcome, at };
