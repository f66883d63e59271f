import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { atOnce, forEachInSteps, type Steps } from '../steps.ts';
import {
  type Row,
  type RowQuery,
  rowIn,
  type StoreDriver,
  type StoredRow,
  WriteUncertain,
} from './driver.ts';
import { type CheckedStore, createLossGuard, type LossGuardOptions } from './lost-records.ts';
import { advance, type HeldPayment, type ProtocolEvent } from './protocol.ts';
import {
  type AttemptOutcome,
  type InTurns,
  type OnStoreEvent,
  type PaymentQuery,
  type PaymentRecord,
  type PaymentStore,
  StoreUnavailable,
  UnreadableRecord,
} from './store.ts';
import { type ClockSources, createStoreClock } from './store-clock.ts';
import { createUnwrittenEnds } from './unwritten-ends.ts';

interface ProtocolStoreOptions extends Omit<LossGuardOptions, 'now' | 'store' | 'readMetadata'> {
  /** Opens the database. `onConnect` has to be awaited for each new connection, before a payment uses it. */
  readonly open: (hooks: DriverHooks) => Promise<StoreDriver>;
  readonly clocks?: ClockSources | undefined;
}

/** The options of a store in a database. */
export interface StoreOptions {
  /** How long a DONE or REJECTED record is kept after its last change. */
  readonly retentionMs: number;
  /** How long a call may take, in milliseconds; a search has more. */
  readonly timeoutMs: number;
  /** How long the start may wait for a server, or for another process's lock on a file. */
  readonly startTimeoutMs?: number;
  /** Whether the store is only read: nothing is written to it, or to its folder. False by default. */
  readonly readOnly?: boolean;
  /** Whether to create a missing store; true by default, unless it is only read. */
  readonly create?: boolean;
  /** A file, away from the store, that holds its high-water mark as well; see lost-records.ts. */
  readonly witness?: string | undefined;
  readonly onEvent?: OnStoreEvent | undefined;
  /** For tests. */
  readonly clocks?: ClockSources;
}

/**
 * How long the start waits by default: creating a file or its log takes seconds on a busy machine with a slow disk, as does connecting
 * to a server there, and other processes that start meanwhile wait for it.
 */
export const usualStartTimeoutMs = 30_000;

export interface DriverHooks {
  /** Compares the store with what is known of it. Errors: those of the store's methods. */
  readonly onConnect: (store: CheckedStore) => Promise<void>;
  /** The store answers, after it was opened or has been away. */
  readonly onReady: () => void;
}

/** A record with the times of the store's server, whose clock is ahead by so many milliseconds. */
const inStoreTime = (record: PaymentRecord, aheadMs: number): PaymentRecord =>
  aheadMs === 0
    ? record
    : {
        ...record,
        createdAt: record.createdAt + aheadMs,
        updatedAt: record.updatedAt + aheadMs,
        leaseUntil: record.leaseUntil + aheadMs,
      };

const rowOf = (held: HeldPayment): Row => {
  const { id, createdAt } = held.record;
  return { id, version: randomUUID(), created_at: createdAt, held };
};

/** Of several searches at once, pages may arrive in one event. */
const pageSize = 128;
/** How many records are read in a step. */
const recordsPerStep = 32;
const purgeEveryMs = 60_000;
/** Between two steps of a purge, so that payments have most of the store. */
const purgePauseMs = 30;
/** A purge is reported to the operator if a greater share of the records than this has expired. */
const remarkableShare = 0.1;
/** How often a change is tried if others change the record meanwhile. */
const maxRounds = 20;
/** With this many unwritten ends no further payment begins: they are held in memory. */
const maxUnwritten = 1_000;

const withoutWaiting: InTurns = async (_records, _characters, steps) => atOnce(steps);

/**
 * A payment store: the protocol (protocol.ts) over a database.
 *
 * A change reads a record, asks the protocol what becomes of it, and replaces the version that it has read; if another process
 * was faster, it begins again. An answer about a record says only what the record already holds.
 *
 * If an end cannot be written, the process keeps it in memory, tells it from there, and writes it when the store is back. If it is
 * not known whether a beginning was stored, the store takes it back in the same way. If this process dies first, a PENDING record
 * stays, which becomes UNKNOWN although nothing was sent: safe, but the key is used up.
 * Errors: those of `open`, and those of the first look at what the store holds.
 */
export async function createProtocolStore(options: ProtocolStoreOptions): Promise<PaymentStore> {
  const { name, retentionMs, onEvent = () => {}, readOnly = false } = options;
  const clock = createStoreClock(onEvent, options.clocks);
  /** Attempts that this process has begun and not ended, as they were stored: they save reading the record again. */
  const begun = new Map<string, Row>();
  const unwritten = createUnwrittenEnds(async (end) => {
    // Until then a beginning that is not found may still be stored.
    if (end.outcome === null) await driver.settleWrites();
    const { after } = await apply(end.id, eventOf(end));
    // Only the end that is kept here keeps the payment from being sent again.
    if (after === null && end.outcome !== null) throw unavailable('it has lost a record');
  });
  let lastNow = Date.now();
  /** Whether there are records of bankql 0.2.0; null: not known yet. */
  let hasOlder: boolean | null = null;
  let purgedAt = Number.NEGATIVE_INFINITY;
  let closing: Promise<void> | null = null;
  let measuring: Promise<void> | null = null;
  let driver: StoreDriver;

  const unavailable = (reason: string) =>
    new StoreUnavailable(`The payment store ${name} is not available: ${reason}.`);

  const guard = createLossGuard({
    ...options,
    onEvent,
    now: () => clock.toStore(lastNow),
    store: () => driver,
    async readMetadata(store) {
      // The first answer says how the clocks differ: if it took long, the store is asked again.
      for (let round = 1; ; round++) {
        const asked = clock.ask();
        const snapshot = await store.readMetadata();
        if (snapshot.serverTime !== null) clock.hear(asked, snapshot.serverTime);
        if (snapshot.serverTime === null || clock.isMeasured || round === maxRounds) return snapshot;
      }
    },
  });

  /** Calls `onUnreadable` for a damaged record, and returns null. Errors: UnreadableRecord without `onUnreadable`. */
  function read(stored: StoredRow, onUnreadable?: (error: UnreadableRecord) => void): Row | null {
    try {
      return rowIn(stored);
    } catch (error) {
      onEvent({ kind: 'record-unreadable', id: stored.id });
      if (!(error instanceof UnreadableRecord) || onUnreadable === undefined) throw error;
      onUnreadable(error);
      return null;
    }
  }

  function* readPage(
    page: readonly StoredRow[],
    onUnreadable: ((error: UnreadableRecord) => void) | undefined,
  ): Steps<Row[]> {
    const rows: Row[] = [];
    const readRow = (stored: StoredRow) => {
      const row = read(stored, onUnreadable);
      if (row !== null) rows.push(row);
    };
    yield* forEachInSteps(page, readRow, recordsPerStep);
    return rows;
  }

  async function load(id: string): Promise<Row | null> {
    const stored = await driver.find(id);
    return stored === null ? null : read(stored);
  }

  /**
   * Applies an event to a record. `first`: the record as it was read, if it was.
   * Shape: the record after it, null if it is gone, and whether it changed.
   */
  async function apply(id: string, event: ProtocolEvent, first?: Row | null) {
    let before = first === undefined ? await load(id) : first;
    for (let round = 1; round <= maxRounds; round++) {
      const next = advance(before?.held ?? null, event);
      if (before === null || next === undefined) return { after: before, changed: false };
      const after = next === null ? null : rowOf(next);
      if (readOnly || (await driver.compareAndSet(id, before.version, after))) {
        if (after !== null && begun.get(id)?.version === before.version) begun.set(id, after);
        return { after, changed: true };
      }
      // Another process has changed it meanwhile.
      before = await load(id);
    }
    throw unavailable('a record of it changes all the time');
  }

  /** The record as it is now: its lease or its retention may be over. Null if there is no record. */
  async function current(id: string, now: number, first?: Row | null): Promise<Row | null> {
    const { after } = await apply(id, { kind: 'asked about', at: clock.forLeases(now) }, first);
    const expiry = clock.forRetention(now);
    if (after === null || expiry === null) return after;
    return (await apply(id, { kind: 'retention over', before: expiry - retentionMs }, after)).after;
  }

  /** Long before its lease ends no other process takes it for over, whatever its clock says. */
  const isUnderWay = ({ state, createdAt, leaseUntil }: PaymentRecord, now: number) =>
    state === 'PENDING' && clock.forLeases(now) < (createdAt + leaseUntil) / 2;

  function assertOpen(): void {
    if (closing !== null) throw unavailable('it is closed');
  }

  /**
   * Before times are compared: if this process's clock was set, the store is asked for its time. Errors: StoreUnavailable if the store is
   * closed; those of the store.
   */
  async function ready(): Promise<void> {
    assertOpen();
    if (!clock.wasSet) return;
    measuring ??= guard.check(driver).finally(() => {
      measuring = null;
    });
    await measuring;
  }

  const eventOf = ({ trackId, outcome, at }: AttemptOutcome): ProtocolEvent =>
    outcome === null
      ? { kind: 'taken back', trackId, at: clock.ofEnd(at) }
      : { kind: 'ended', trackId, outcome, at: clock.ofEnd(at) };

  async function end(attempt: AttemptOutcome): Promise<boolean> {
    assertOpen();
    const { id, trackId, outcome } = attempt;
    const own = begun.get(id);
    const row = own?.held.record.trackId === trackId ? own : undefined;
    if (row !== undefined) begun.delete(id);
    if (outcome === null) guard.forget(id);
    try {
      const { after, changed } = await apply(id, eventOf(attempt), row);
      // The store has lost the record: only the end that is kept keeps the payment from being sent again.
      if (after === null && outcome !== null) keepEnd(attempt, row);
      return changed;
    } catch (error) {
      keepEnd(attempt, row);
      throw error;
    }
  }

  function keepEnd(end: AttemptOutcome, row: Row | undefined): void {
    if (row === undefined) return;
    const { record } = advance(row.held, eventOf(end)) ?? row.held;
    unwritten.keep({ end, record });
  }

  /**
   * Stores a beginning, unless there is a record. If that fails and it may be stored, it is taken back: the answer to its caller is
   * that nothing was sent. `aheadMs`: how far the server's clock is ahead, for the times of the row.
   * Shape: what is there; null if it was stored.
   */
  async function insert(row: Row, aheadMs: number): Promise<StoredRow | null> {
    const { record } = row.held;
    let mayBeStored = false;
    const { began } = guard;
    try {
      const asked = clock.ask();
      const { existing, ...counts } = await driver.insertIfAbsent(row);
      if (counts.serverTime !== null) clock.hear(asked, counts.serverTime);
      mayBeStored = existing === null;
      if (mayBeStored && clock.toStore(0) > aheadMs)
        throw unavailable('its clock was set, and the lease of the payment would end too early');
      if (guard.needsCheck(counts, mayBeStored ? began + 1 : began)) await guard.check(driver);
      if (guard.loss !== null) throw new StoreUnavailable(guard.loss);
      if (mayBeStored) guard.noteBegin(counts, record);
      return existing;
    } catch (error) {
      if (mayBeStored || error instanceof WriteUncertain) {
        const { id, trackId, createdAt: at } = record;
        guard.forget(id);
        unwritten.keep({ end: { id, trackId, outcome: null, at }, record: null });
      }
      throw error;
    }
  }

  async function begin(given: PaymentRecord, now: number): Promise<PaymentRecord | null> {
    await ready();
    lastNow = now;
    if (unwritten.size > 0) {
      const known = await unwritten.find(given.id);
      if (known !== null) return known;
      if (unwritten.size >= maxUnwritten)
        throw unavailable(`it has not taken the ends of ${unwritten.size} payments`);
    }
    if (guard.loss !== null) {
      await guard.check(driver);
      if (guard.loss !== null) throw new StoreUnavailable(guard.loss);
    }
    const { id, trackId } = given;
    for (let round = 1; round <= maxRounds; round++) {
      // The database need not be asked about an attempt that this process has begun.
      const own = begun.get(id)?.held.record;
      if (own !== undefined && isUnderWay(own, now)) return own;
      const aheadMs = clock.toStore(0);
      const next = advance(null, { kind: 'begin', record: inStoreTime(given, aheadMs) });
      if (next == null) throw new Error('a beginning stores a record');
      const row = rowOf(next);
      const existing = await insert(row, aheadMs);
      if (existing === null) {
        begun.set(id, row);
        // A clock that was set back must not stop the purge until it has caught up. If it fails, so do payments, which report it.
        if (Math.abs(now - purgedAt) >= purgeEveryMs) purge(now).catch(() => {});
        return null;
      }
      let found = read(existing);
      // A lost connection has stored this beginning, and another process has changed it since. It is not sent any more.
      if (found?.held.record.trackId === trackId)
        found = (await apply(id, eventOf({ id, trackId, outcome: null, at: now }), found)).after;
      else found = await current(id, now, found);
      if (found !== null) return found.held.record;
    }
    throw unavailable('a record of it changes all the time');
  }

  async function purge(now: number): Promise<void> {
    purgedAt = now;
    const expiry = clock.forRetention(now);
    if (expiry === null) return;
    const before = expiry - retentionMs;
    const { records, expired } = await driver.count(before, clock.forLeases(now));
    let deleted = 0;
    for (let more = expired > 0; more && closing === null; ) {
      const step = await driver.purge(before);
      deleted += step;
      more = step > 0;
      await delay(purgePauseMs, undefined, { ref: false });
    }
    if (expired > (records + expired) * remarkableShare)
      onEvent({ kind: 'purge', deleted, expired, records: records + expired });
  }

  /** All pages of a query. */
  async function readAll(
    query: Omit<RowQuery, 'limit'>,
    now: number,
    limit: number,
    onUnreadable: ((error: UnreadableRecord) => void) | undefined,
    inTurns: InTurns,
  ): Promise<PaymentRecord[]> {
    const records: PaymentRecord[] = [];
    const expiry = clock.forRetention(now);
    const asked = { kind: 'asked about', at: clock.forLeases(now) } as const;
    // Records of another state than the store says: their lease is over, or their end is not written.
    const { states } = query;
    const isBehind = unwritten.size > 0 || states?.includes('UNKNOWN');
    const seen = isBehind
      ? states && [...new Set([...states, 'PENDING' as const, 'UNKNOWN' as const])]
      : states;
    for (let after: PaymentQuery['after'] = query.after; records.length < limit; ) {
      const wanted = Math.min(pageSize, limit - records.length);
      const page = await driver.search({ ...query, states: seen, limit: wanted, after });
      after = page.at(-1);
      const characters = page.reduce((sum, { json }) => sum + json.length, 0);
      const known = await inTurns(page.length, characters, readPage(page, onUnreadable));
      const found = await Promise.all(
        known.map((row) =>
          advance(row.held, asked) === undefined ? row : apply(row.id, asked, row).then(({ after }) => after),
        ),
      );
      for (const row of found) {
        if (row === null) continue;
        const record = unwritten.latest(row.held.record);
        if (states !== undefined && !states.includes(record.state)) continue;
        const over = { kind: 'retention over', before: (expiry ?? 0) - retentionMs } as const;
        if (expiry === null || advance(row.held, over) !== null) records.push(record);
      }
      if (page.length < wanted) break;
    }
    return records;
  }

  async function search(
    { limit = Number.POSITIVE_INFINITY, ...query }: PaymentQuery,
    now: number,
    onUnreadable?: (error: UnreadableRecord) => void,
    inTurns: InTurns = withoutWaiting,
  ) {
    await ready();
    const found = await readAll(query, now, limit, onUnreadable, inTurns);
    if (query.payer === undefined) return found;
    // There will be no more of them than there were at the start.
    hasOlder ??= (await driver.search({ payer: null, limit: 1 })).length > 0;
    if (!hasOlder) return found;
    const older = await readAll({ ...query, payer: null }, now, limit, onUnreadable, inTurns);
    const direction = query.newestFirst ? -1 : 1;
    return [...found, ...older]
      .sort((a, b) => direction * (a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1)))
      .slice(0, limit);
  }

  driver = await options.open({ onConnect: guard.checkConnection, onReady: () => void unwritten.makeAll() });
  try {
    if (!guard.hasMetadata) await guard.check(driver);
  } catch (error) {
    await driver.close();
    throw error;
  }

  return {
    get secret() {
      return guard.secret;
    },
    get loss() {
      return guard.loss;
    },
    async acceptLoss(by, now) {
      assertOpen();
      await guard.accept(driver, by, clock.toStore(now));
      if (guard.loss !== null) throw new StoreUnavailable(guard.loss);
    },
    async status(now) {
      await ready();
      const expiry = clock.forRetention(now);
      const { expired: _, ...status } = await driver.count(
        expiry === null ? Number.MIN_SAFE_INTEGER : expiry - retentionMs,
        clock.forLeases(now),
      );
      return status;
    },
    begin,
    end,
    unwritten: () => unwritten.all().flatMap(({ end, record }) => (record === null ? [] : [{ end, record }])),
    drain: (timeoutMs) => unwritten.drain(timeoutMs),
    async find(id, now) {
      await ready();
      return (await unwritten.find(id)) ?? (await current(id, now))?.held.record ?? null;
    },
    search,
    async settle(id, state, by, now) {
      await ready();
      const found = await current(id, now);
      const event = { kind: 'settled', state, by, at: clock.ofEnd(now) } as const;
      return (await apply(id, event, found)).changed;
    },
    close() {
      closing ??= (async () => {
        unwritten.stop();
        await guard.close();
        await driver.close();
      })();
      return closing;
    },
  };
}
