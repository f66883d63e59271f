import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Attempt,
  type Row,
  type RowQuery,
  type StoreDriver,
  type StoredRow,
  WriteUncertain,
} from './driver.ts';
import { type CheckedStore, createLossGuard, type LossGuardOptions } from './lost-records.ts';
import { advance, type HeldPayment, type ProtocolEvent } from './protocol.ts';
import {
  type OnStoreEvent,
  type PaymentQuery,
  type PaymentRecord,
  type PaymentStore,
  StoreUnavailable,
  UnreadableRecord,
} from './store.ts';
import { type ClockSources, createStoreClock } from './store-clock.ts';
import { rowIn } from './stored-record.ts';

export interface ProtocolStoreOptions extends Omit<LossGuardOptions, 'now' | 'store' | 'readMetadata'> {
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

/** Versions are unique to this process and among its writes. (A random one for each write costs memory's store a third of its speed.) */
const writer = randomUUID();
let writes = 0;

const rowOf = (held: HeldPayment): Row => {
  const { id, createdAt } = held.record;
  return { id, version: `${writer}.${++writes}`, created_at: createdAt, held };
};

const pageSize = 500;
const purgeEveryMs = 60_000;
/** Between two steps of a purge, so that payments have most of the store. */
const purgePauseMs = 30;
/** A purge is reported to the operator if a greater share of the records than this has expired. */
const remarkableShare = 0.1;
/** How often a change is tried if others change the record meanwhile. */
const maxRounds = 20;
/** More beginnings to take back than this stay as they are, and become UNKNOWN. */
const maxUncertain = 1_000;
/** The delays before a beginning is taken back, once that has failed; the last one repeats. */
const takeBackPausesMs = [250, 1000, 4000];

/** Errors: those of `open`. */
export async function createProtocolStore({ open, ...options }: ProtocolStoreOptions): Promise<PaymentStore> {
  const { hooks, run, check } = prepareProtocol(options);
  const driver = await open(hooks);
  const store = run(driver);
  try {
    await check();
    return store;
  } catch (error) {
    await driver.close();
    throw error;
  }
}

/**
 * A payment store: the protocol (protocol.ts) over a database.
 *
 * A change reads a record, asks the protocol what becomes of it, and replaces the version that it has read; if another process
 * was faster, it begins again. An answer about a record says only what the record already holds.
 *
 * If it is not known whether a beginning was stored, the store takes it back as soon as that can be found out. If this process
 * dies before, a PENDING record stays, which becomes UNKNOWN although nothing was sent: safe, but the key is used up.
 * Shape: `hooks` for the driver; `run` gives the store over the driver; `check` has to have been awaited before a payment.
 */
export function prepareProtocol(options: Omit<ProtocolStoreOptions, 'open'>) {
  const { name, retentionMs, onEvent = () => {}, readOnly = false } = options;
  const clock = createStoreClock(onEvent, options.clocks);
  /** Attempts that this process has begun and not ended: they save reading the record again. */
  const begun = new Map<string, Row>();
  const uncertain = new Map<string, Attempt>();
  let lastNow = Date.now();
  let takingBack = false;
  /** Whether there are records of bankql 0.2.0; null: not known yet. */
  let hasOlder: boolean | null = null;
  let purgedAt = Number.NEGATIVE_INFINITY;
  let closing: Promise<void> | null = null;
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
        const heard = clock.ask();
        const snapshot = await store.readMetadata();
        heard(snapshot.serverTime);
        if (snapshot.serverTime === null || clock.isMeasured || round === maxRounds) return snapshot;
      }
    },
  });
  const hooks: DriverHooks = { onConnect: guard.check, onReady: () => void takeBackUncertain() };

  function read(stored: StoredRow): Row {
    try {
      return rowIn(stored);
    } catch (error) {
      onEvent({ kind: 'record-unreadable', id: stored.id });
      throw error;
    }
  }

  /** Null if it cannot be read, and that is reported. */
  function readOrReport(stored: StoredRow, onUnreadable?: (error: UnreadableRecord) => void): Row | null {
    try {
      return read(stored);
    } catch (error) {
      if (!(error instanceof UnreadableRecord) || onUnreadable === undefined) throw error;
      onUnreadable(error);
      return null;
    }
  }

  async function load(id: string): Promise<Row | null> {
    const stored = await driver.find(id);
    return stored === null ? null : read(stored);
  }

  /**
   * Applies an event to a record. `first`: the record as it was read, if it was.
   * Shape: the record after it, null if there is none, and whether it changed.
   */
  async function apply(id: string, event: ProtocolEvent, first?: Row | null) {
    let before = first === undefined ? await load(id) : first;
    for (let round = 1; round <= maxRounds; round++) {
      const { next } = advance(before?.held ?? null, event);
      if (before === null || next === undefined) return { after: before, changed: false };
      const after = next === null ? null : rowOf(next);
      if (begun.get(id)?.version === before.version) begun.delete(id);
      if (readOnly || (await driver.compareAndSet(id, before.version, after)))
        return { after, changed: true };
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

  function assertOpen(): void {
    if (closing !== null) throw unavailable('it is closed');
  }

  /** Deletes what may be stored of beginnings that were refused, or, if somebody may know of them, ends them. */
  async function takeBackUncertain(): Promise<void> {
    if (takingBack) return;
    takingBack = true;
    for (let n = 0; uncertain.size > 0 && closing === null; n++) {
      const attempts = [...uncertain];
      try {
        // Until then a beginning that is not found may still be stored.
        await driver.settleWrites();
        const { effects } = advance(null, { kind: 'store back', during: 'begin' });
        for (const [key, { id, trackId }] of attempts) {
          if (!effects.includes('take it back')) break;
          await apply(id, { kind: 'taken back', trackId, at: clock.toStore(Date.now()) });
          uncertain.delete(key);
        }
      } catch {
        await delay(takeBackPausesMs[Math.min(n, takeBackPausesMs.length - 1)], undefined, { ref: false });
      }
    }
    takingBack = false;
  }

  /** It is not known whether the database stored a beginning: the answer to its caller is that nothing was sent. */
  function loseBegin({ id, trackId }: Attempt): void {
    guard.forget(id);
    const { effects } = advance(null, { kind: 'store lost', during: 'begin' });
    if (!effects.includes('take it back when the store is back') || uncertain.size >= maxUncertain) return;
    uncertain.set(`${id} ${trackId}`, { id, trackId });
    void takeBackUncertain();
  }

  /** Stores a beginning. Shape: null if it is stored, and may be sent; else the row that was there. */
  async function insert(record: PaymentRecord): Promise<StoredRow | null> {
    const { next } = advance(null, { kind: 'begin', record });
    if (next === null || next === undefined) throw new Error('a beginning stores a record');
    const row = rowOf(next);
    let mayBeStored = false;
    try {
      const heard = clock.ask();
      const counts = await driver.insertIfAbsent(row);
      heard(counts.serverTime);
      const { existing } = counts;
      mayBeStored = existing === null;
      // Another process has noticed a loss, or the store is another one than before.
      if (counts.metadataVersion !== guard.metadataVersion) await guard.check(driver);
      if (guard.loss !== null) throw new StoreUnavailable(guard.loss);
      if (existing !== null) return existing;
      guard.noteBegin(counts, record);
      begun.set(record.id, row);
      return null;
    } catch (error) {
      if (mayBeStored || error instanceof WriteUncertain) loseBegin(record);
      throw error;
    }
  }

  async function purge(now: number): Promise<void> {
    purgedAt = now;
    const expiry = clock.forRetention(now);
    if (expiry === null) return;
    const before = expiry - retentionMs;
    const { records, expired } = await driver.count(before);
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

  /** Changes the records whose lease is over, before several records are read for an answer. */
  async function endLeases(now: number): Promise<void> {
    const at = clock.forLeases(now);
    const query = { states: ['PENDING'], leaseUntil: at, limit: pageSize } as const;
    for (let page = await driver.search(query); page.length > 0; page = await driver.search(query)) {
      const ended = await Promise.all(
        page.map(async (stored) => {
          const known = readOrReport(stored, () => {});
          return known !== null && (await apply(stored.id, { kind: 'lease over', at }, known)).changed;
        }),
      );
      // The remaining records are damaged.
      if (!ended.includes(true)) return;
    }
  }

  /** All pages of a query. */
  async function readAll(
    query: Omit<RowQuery, 'limit'>,
    now: number,
    limit: number,
    onUnreadable: ((error: UnreadableRecord) => void) | undefined,
  ): Promise<PaymentRecord[]> {
    const records: PaymentRecord[] = [];
    const expiry = clock.forRetention(now);
    const at = clock.forLeases(now);
    // If nothing may be written, PENDING records are read too: their lease may be over.
    const { states } = query;
    const seen =
      readOnly && states?.includes('UNKNOWN') ? [...new Set([...states, 'PENDING' as const])] : states;
    for (let after: PaymentQuery['after'] = query.after; records.length < limit; ) {
      const wanted = Math.min(pageSize, limit - records.length);
      const page = await driver.search({ ...query, states: seen, limit: wanted, after });
      after = page.at(-1);
      for (const stored of page) {
        const known = readOrReport(stored, onUnreadable);
        if (known === null) continue;
        const held = readOnly
          ? (advance(known.held, { kind: 'asked about', at }).next ?? known.held)
          : known.held;
        if (states !== undefined && !states.includes(held.record.state)) continue;
        const over = { kind: 'retention over', before: (expiry ?? 0) - retentionMs } as const;
        if (expiry === null || advance(held, over).next !== null) records.push(held.record);
      }
      if (page.length < wanted) break;
    }
    return records;
  }

  async function search(
    { limit = Number.POSITIVE_INFINITY, ...query }: PaymentQuery,
    now: number,
    onUnreadable?: (error: UnreadableRecord) => void,
  ) {
    if (!readOnly) await endLeases(now);
    const found = await readAll(query, now, limit, onUnreadable);
    if (query.payer === undefined) return found;
    // There will be no more of them than there were at the start.
    hasOlder ??= (await driver.search({ payer: null, limit: 1 })).length > 0;
    if (!hasOlder) return found;
    const older = await readAll({ ...query, payer: null }, now, limit, onUnreadable);
    const direction = query.newestFirst ? -1 : 1;
    return [...found, ...older]
      .sort((a, b) => direction * (a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1)))
      .slice(0, limit);
  }

  const store: PaymentStore = {
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
      assertOpen();
      if (!readOnly) await endLeases(now);
      const expiry = clock.forRetention(now);
      const { expired: _, ...status } = await driver.count(
        expiry === null ? Number.MIN_SAFE_INTEGER : expiry - retentionMs,
      );
      return status;
    },
    async begin(given, now) {
      assertOpen();
      lastNow = now;
      if (guard.loss !== null) await guard.check(driver);
      if (guard.loss !== null) throw new StoreUnavailable(guard.loss);
      const record = inStoreTime(given, clock.toStore(now) - now);
      // Long before its lease ends no other process takes it for over, whatever its clock says.
      const isUnderWay = ({ createdAt, leaseUntil }: PaymentRecord) =>
        clock.forLeases(now) < (createdAt + leaseUntil) / 2;
      for (let round = 1; round <= maxRounds; round++) {
        // The database need not be asked about an attempt that this process has begun.
        const own = begun.get(record.id)?.held.record;
        if (own !== undefined && isUnderWay(own)) return own;
        const existing = await insert(record);
        if (existing === null) {
          // A clock that was set back must not stop the purge until it has caught up. If it fails, so do payments, which report it.
          if (Math.abs(now - purgedAt) >= purgeEveryMs) purge(now).catch(() => {});
          return null;
        }
        const found = await current(record.id, now, read(existing));
        if (found !== null) return found.held.record;
      }
      throw unavailable('a record of it changes all the time');
    },
    async finish(id, trackId, outcome, now) {
      assertOpen();
      const { changed } = await apply(
        id,
        { kind: 'answered', trackId, outcome, at: clock.toStore(now) },
        taken(id, trackId),
      );
      return changed;
    },
    async release(id, trackId, now) {
      assertOpen();
      const known = taken(id, trackId);
      guard.forget(id);
      const { after, changed } = await apply(
        id,
        { kind: 'taken back', trackId, at: clock.toStore(now) },
        known,
      );
      if (!changed) return 'unchanged';
      return after === null ? 'released' : 'rejected';
    },
    async find(id, now) {
      assertOpen();
      return (await current(id, now))?.held.record ?? null;
    },
    async search(query, now, onUnreadable) {
      assertOpen();
      return search(query, now, onUnreadable);
    },
    async settle(id, state, by, now) {
      assertOpen();
      const found = await current(id, now);
      const event = { kind: 'settled', state, by, at: clock.toStore(now) } as const;
      return (await apply(id, event, found)).changed;
    },
    close() {
      closing ??= (async () => {
        await guard.close();
        await driver.close();
      })();
      return closing;
    },
  };

  return {
    hooks,
    run(opened: StoreDriver): PaymentStore {
      driver = opened;
      return store;
    },
    check: async () => {
      if (guard.metadataVersion === null) await guard.check(driver);
    },
  };

  /** The attempt that this process has begun; its version is used once. */
  function taken(id: string, trackId: string): Row | undefined {
    const known = begun.get(id);
    if (known?.held.record.trackId !== trackId) return undefined;
    begun.delete(id);
    return known;
  }
}
