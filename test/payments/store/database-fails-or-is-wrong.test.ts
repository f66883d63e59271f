import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { PaymentOutcome } from '../../../src/payments/payment-record.ts';
import { type NewRow, type StoreDriver, WriteUncertain } from '../../../src/payments/store/driver.ts';
import { createMemoryDriver, createMemoryStore } from '../../../src/payments/store/memory-store.ts';
import { createPaymentStore } from '../../../src/payments/store/payment-store.ts';
import { type StoreEvent, StoreUnavailable } from '../../../src/payments/store/store.ts';
import {
  describePaymentStore,
  done,
  lease,
  pending,
  rejected,
  retentionMs,
  start,
  stored,
} from './store-conformance.ts';

/** The protocol over a driver that fails on demand. */

const { id, trackId } = pending();
const day = 24 * 60 * 60 * 1000;
let now = start;
beforeEach(() => {
  now = start;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => void vi.useRealTimers());

/** A store over a database whose methods the test replaces. `ahead`: the lead of the database's clock, in milliseconds. */
function setUp({ uncertainMs = 0, ahead = 0 } = {}) {
  const clocks = { ahead };
  const database = createMemoryDriver({ now: () => now + clocks.ahead });
  const broken: Partial<StoreDriver> = {};
  const driver: StoreDriver = {
    ...database,
    uncertainMs,
    insert: (row) => (broken.insert ?? database.insert)(row),
    compareAndSet: (...args) => (broken.compareAndSet ?? database.compareAndSet)(...args),
    find: (key) => (broken.find ?? database.find)(key),
  };
  const away = () => Promise.reject(new StoreUnavailable('It is away.'));
  return { ...openOver(driver), database, broken, clocks, away };
}

/** A store over a driver, with the events that it reports. */
function openOver(driver: StoreDriver) {
  const events: StoreEvent[] = [];
  const onEvent = (event: StoreEvent) => void events.push(event);
  const store = createPaymentStore({ name: 'of the test', driver, retentionMs, onEvent, clock: () => now });
  onTestFinished(() => store.close());
  return { store, events };
}
const pass = async (ms: number) => {
  now += ms;
  await vi.advanceTimersByTimeAsync(ms);
};
type Made = ReturnType<typeof setUp>;
const begin = ({ store }: Pick<Made, 'store'>, change = {}) => store.begin(pending(change), lease);

/** A store with a payment whose outcome the database did not accept. */
async function leaveUnwritten(outcome: PaymentOutcome | null = done): Promise<Made> {
  const made = setUp();
  await begin(made);
  made.broken.compareAndSet = made.away;
  await made.store.end({ id, trackId, outcome }).catch(() => {});
  return made;
}

describe('a payment whose beginning may or may not have been stored', () => {
  /** Begins a payment whose INSERT has an uncertain result: `insert` does what really happens to the row. */
  async function beginUncertainly(insert: (made: Made, row: NewRow) => unknown): Promise<Made> {
    const made = setUp({ uncertainMs: 5_000 });
    made.broken.insert = async (row) => {
      await insert(made, row);
      throw new WriteUncertain('no answer');
    };
    await expect(begin(made)).rejects.toThrow(WriteUncertain);
    delete made.broken.insert;
    return made;
  }

  test('is taken back if it was, so that its key is free', async () => {
    const made = await beginUncertainly(({ database }, row) => database.insert(row));
    expect(await made.database.find(id)).not.toBeNull();
    await pass(250);
    expect(await made.database.find(id)).toBeNull();
    expect(await begin(made, { trackId: 'again' })).toBeNull();
  });

  test('is searched for until it can no longer be stored', async () => {
    const late = Promise.withResolvers<void>();
    const made = await beginUncertainly(({ database }, row) => {
      void late.promise.then(() => database.insert(row));
    });
    await pass(4_500);
    late.resolve();
    await pass(250);
    expect(await made.database.find(id)).not.toBeNull();
    await pass(2_000);
    expect(await made.database.find(id)).toBeNull();
  });

  test('is looked for once more after that time, however slow the lookup before it was', async () => {
    let lookups = 0;
    await beginUncertainly(({ broken, database }) => {
      broken.find = async (key) => {
        lookups++;
        // Some time passes during the call of the database.
        now += 6_000;
        return database.find(key);
      };
    });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(lookups).toBe(2);
  });

  test('leaves another attempt of the same key alone', async () => {
    const made = await beginUncertainly(() => {});
    expect(await begin(made, { trackId: 'again' })).toBeNull();
    await pass(60_000);
    expect(await made.store.find(id)).toEqual(stored({ trackId: 'again' }));
  });

  test('is an end, not a release, once a client was informed that it may have been sent', async () => {
    const made = await beginUncertainly(({ database }, row) => database.insert(row));
    now += lease;
    expect(await made.store.find(id)).toMatchObject({ state: 'UNKNOWN' });
    await pass(250);
    expect(await made.store.find(id)).toMatchObject({ state: 'REJECTED', code: 'BANK_REJECTED' });
  });
});

describe('an outcome that cannot be written', () => {
  test('is answered from memory, and written when the database is back', async () => {
    const made = setUp();
    const { store, broken, away, database } = made;
    await begin(made);
    broken.compareAndSet = away;
    await expect(store.end({ id, trackId, outcome: done })).rejects.toThrow(StoreUnavailable);
    expect(store.unwritten).toBe(1);
    broken.find = broken.insert = away;
    expect(await begin(made, { trackId: 'again' })).toMatchObject(done);
    expect(await store.find(id)).toMatchObject({ ...done, history: [{}, { state: 'DONE' }] });
    // Other callers get the answer of the database.
    await expect(begin(made, { id: 'b' })).rejects.toThrow(StoreUnavailable);
    await pass(3_600_000);
    expect(store.unwritten).toBe(1);
    delete broken.compareAndSet;
    delete broken.find;
    delete broken.insert;
    await pass(2_000);
    expect(store.unwritten).toBe(0);
    expect((await database.find(id))?.json).toContain('"state":"DONE"');
  });

  test('is written before a search, or shown in it', async () => {
    const made = await leaveUnwritten();
    expect(await made.store.search({})).toMatchObject([{ state: 'DONE' }]);
    delete made.broken.compareAndSet;
    expect(await made.store.search({ states: ['PENDING'] })).toEqual([]);
    expect(made.store.unwritten).toBe(0);
  });

  test('gives way to what an operator settled meanwhile', async () => {
    const made = await leaveUnwritten();
    delete made.broken.compareAndSet;
    now += lease;
    const other = createPaymentStore({ name: 'other', driver: made.database, retentionMs, clock: () => now });
    expect(await other.settle(id, 'REJECTED', 'Ada')).toBe(true);
    await pass(250);
    expect(await made.store.find(id)).toMatchObject({ state: 'REJECTED', settledBy: 'Ada' });
    expect(made.store.unwritten).toBe(0);
  });

  test('may have been written although the database did not say so', async () => {
    const made = setUp();
    await begin(made);
    made.broken.compareAndSet = async (...args) => {
      await made.database.compareAndSet(...args);
      throw new WriteUncertain('no answer');
    };
    await made.store.end({ id, trackId, outcome: rejected }).catch(() => {});
    delete made.broken.compareAndSet;
    await pass(250);
    expect(made.store.unwritten).toBe(0);
    expect((await made.store.find(id))?.history).toHaveLength(2);
  });

  test('is kept if the record is gone, so that its key sends nothing again', async () => {
    const made = setUp();
    await begin(made);
    const row = await made.database.find(id);
    await made.database.compareAndSet(id, row?.version ?? '', null);
    await expect(made.store.end({ id, trackId, outcome: done })).rejects.toThrow('is missing');
    await pass(60_000);
    expect(await begin(made, { trackId: 'again' })).toMatchObject(done);
  });

  test('of a payment that was not sent frees its key when the database is back', async () => {
    const made = await leaveUnwritten(null);
    expect(made.store.unwritten).toBe(0);
    expect(await begin(made, { trackId: 'again' })).toMatchObject({ state: 'PENDING', trackId });
    delete made.broken.compareAndSet;
    await pass(2_000);
    expect(await begin(made, { trackId: 'again' })).toBeNull();
  });

  test('is retried by drain for a limited time, and reported after close if it is left', async () => {
    const made = setUp();
    await begin(made);
    await begin(made, { id: 'b', trackId: 'not sent' });
    made.broken.compareAndSet = made.away;
    await made.store.end({ id, trackId, outcome: done }).catch(() => {});
    await made.store.end({ id: 'b', trackId: 'not sent', outcome: null }).catch(() => {});
    let tries = 0;
    made.broken.compareAndSet = () => {
      tries++;
      return made.away();
    };
    const drained = made.store.drain(1_000);
    await pass(1_000);
    await drained;
    expect(made.store.unwritten).toBe(1);
    expect(tries).toBeGreaterThan(6);
    // A database that never answers.
    made.broken.compareAndSet = () => new Promise(() => {});
    const again = made.store.drain(1_000);
    await pass(1_000);
    await again;
    await made.store.close();
    const left = made.store.unconfirmed();
    expect(left).toHaveLength(2);
    expect(left).toContainEqual({ id, trackId, outcome: done });
    expect(left).toContainEqual({ id: 'b', trackId: 'not sent', outcome: null });
  });

  test('is written by drain as soon as the database is back', async () => {
    const made = await leaveUnwritten();
    const drained = made.store.drain(10_000);
    await pass(5_000);
    delete made.broken.compareAndSet;
    await pass(250);
    await drained;
    expect(made.store.unwritten).toBe(0);
    expect((await made.database.find(id))?.json).toContain('"state":"DONE"');
  });

  test('stops further payments once there are a thousand', async () => {
    const made = setUp();
    const keys = Array.from({ length: 1_000 }, (_, n) => ({ id: `p-${n}`, trackId: `t-${n}` }));
    for (const key of keys) await begin(made, key);
    made.broken.compareAndSet = made.away;
    for (const key of keys) await made.store.end({ ...key, outcome: done }).catch(() => {});
    await expect(begin(made)).rejects.toThrow('it has not taken the outcomes of 1000 payments');
    delete made.broken.compareAndSet;
    await pass(2_000);
    expect(await begin(made)).toBeNull();
  });
});

test('a change that another process overtakes starts again from the new record', async () => {
  const made = setUp();
  await begin(made);
  now += lease;
  const other = createPaymentStore({ name: 'other', driver: made.database, retentionMs, clock: () => now });
  expect(await other.find(id)).toMatchObject({ state: 'UNKNOWN' });
  // This process still has the version from before the damage.
  expect(await made.store.end({ id, trackId, outcome: done })).toBe(true);
  expect(await other.find(id)).toMatchObject(done);
});

describe('a clock that is wrong', () => {
  const hour = 60 * 60 * 1000;

  /**
   * A payment that is done, in a store that another process opens again. `later`: the milliseconds that have passed
   * until then; `ahead`: the lead of the database's clock.
   */
  async function reopened({ later = 0, ahead = 0 }) {
    const made = setUp();
    await begin(made);
    await made.store.end({ id, trackId, outcome: done });
    now += later;
    made.clocks.ahead = ahead;
    const driver = { ...made.database, close: async () => {} };
    return { ...made, driver, ...openOver(driver) };
  }
  type Reopened = Awaited<ReturnType<typeof reopened>>;

  /** Expects that the key is not free, that its record is found and listed, and that no purge deletes it. */
  async function expectKept(made: Reopened, other: string) {
    expect(await begin(made, { trackId: 'again' })).toMatchObject({ ...done, trackId });
    expect(await begin(made, { id: other })).toBeNull();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await made.store.find(id)).toMatchObject(done);
    expect(await made.store.search({ states: ['DONE'] })).toMatchObject([{ id }]);
    expect(await made.database.find(id)).toMatchObject({ id });
  }

  test.each([
    ['of the machine: the process and the database have the same', { later: retentionMs + day }],
    ['of the database alone', { ahead: retentionMs + day }],
  ])('at the start expires nothing for an hour, then what is old: %s', async (_, wrong) => {
    const made = await reopened(wrong);
    await expectKept(made, 'b');
    now += hour - 1;
    await expectKept(made, 'c');
    now += 1;
    expect(await made.store.search({ states: ['DONE'] })).toEqual([]);
    // At most one purge begins in a minute.
    now += 60_000;
    expect(await begin(made, { id: 'd' })).toBeNull();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await made.database.find(id)).toBeNull();
    expect(await begin(made, { trackId: 'again' })).toBeNull();
  });

  test('is noticed at the first answer after a step, before anything expires, and expires nothing for an hour', async () => {
    const made = await reopened({ later: 2 * hour });
    now += 2 * hour;
    expect(await made.store.find(id)).toMatchObject(done);
    expect(made.events).toEqual([]);
    made.clocks.ahead = retentionMs + day;
    await expectKept(made, 'b');
    expect(made.events).toEqual([{ kind: 'clock-step', byMs: retentionMs + day }]);
    now += hour - 1;
    await expectKept(made, 'c');
    // The clock was corrected within the hour in which nothing expires: nothing is lost, and another such hour begins.
    made.clocks.ahead = 0;
    now += 1;
    await expectKept(made, 'd');
    expect(made.events).toHaveLength(2);
    now += hour;
    expect(await begin(made, { trackId: 'again' })).toMatchObject(done);
  });

  test('that steps during a purge deletes nothing that was not old before', async () => {
    const made = await reopened({});
    now += 2 * hour;
    const { purge } = made.driver;
    const asked: number[] = [];
    made.driver.purge = (before) => {
      // The clock changes between the last answer and the purge.
      made.clocks.ahead = retentionMs + day;
      asked.push(before);
      return purge(before);
    };
    expect(await begin(made, { id: 'b' })).toBeNull();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(asked).toEqual([now - retentionMs]);
    expect(await made.database.find(id)).toMatchObject({ id });
  });

  test('by less than a minute is not reported', async () => {
    const made = await reopened({ ahead: 59_000 });
    await made.store.count();
    made.clocks.ahead = -59_000;
    await made.store.count();
    expect(made.events).toEqual([]);
  });

  test('or was, so that the newest record is from the future, is reported once, until it is right', async () => {
    const made = await reopened({ ahead: -3 * day });
    const told = () => made.events.filter(({ kind }) => kind === 'records-ahead');
    await made.store.count();
    await made.store.count();
    expect(told()).toEqual([{ kind: 'records-ahead', byMs: 3 * day }]);
    made.clocks.ahead = -59_000;
    await made.store.count();
    made.clocks.ahead = -61_000;
    await made.store.count();
    expect(told()).toHaveLength(2);
  });
});

describe('a damaged record', () => {
  const damaged = { id: 'a', trackId, accountId: pending().accountId, damaged: true, operation: '' };

  /** A payment `a` in this state, whose record is damaged in the database, and a payment `b`. */
  async function damage(state: 'PENDING' | 'UNKNOWN' | 'DONE', json = '{"state"') {
    const made = setUp();
    await begin(made, { id: 'a' });
    await begin(made, { id: 'b', trackId: 'other' });
    const row = await made.database.find('a');
    await made.database.compareAndSet('a', row?.version ?? '', { version: 'x', state, json });
    return made;
  }

  test.each(['{"state"', '{}', '', JSON.stringify(pending({ id: 'other' }))])(
    'is what its columns say, UNKNOWN, and is told as damaged: %j',
    async (json) => {
      const made = await damage('DONE', json);
      expect(await made.store.find('a')).toMatchObject({
        ...damaged,
        state: 'UNKNOWN',
        code: 'OUTCOME_UNKNOWN',
      });
      expect(await begin(made, { id: 'a', trackId: 'again' })).toMatchObject({
        ...damaged,
        state: 'UNKNOWN',
      });
      expect(await made.store.search({})).toMatchObject([damaged, { id: 'b', state: 'PENDING' }]);
      expect(made.events).toContainEqual({ kind: 'record-unreadable', id: 'a' });
      expect(await made.store.end({ id: 'b', trackId: 'other', outcome: done })).toBe(true);
      expect(await begin(made, { id: 'c' })).toBeNull();
      // The damaged record was not changed.
      expect((await made.database.find('a'))?.json).toBe(json);
    },
  );

  test('may be under way until its lease is over; then it can be settled, once and for good', async () => {
    const made = await damage('PENDING');
    expect(await made.store.find('a')).toMatchObject({ ...damaged, state: 'PENDING' });
    expect(await made.store.settle('a', 'DONE', 'Ada')).toBe(false);
    now += lease;
    expect(await made.store.settle('a', 'DONE', 'Ada')).toBe(true);
    expect(await made.store.settle('a', 'REJECTED', 'Ada')).toBe(false);
    made.events.length = 0;
    const settled = { ...damaged, state: 'DONE', settledBy: 'Ada', code: null, message: null };
    expect(await made.store.find('a')).toMatchObject(settled);
    expect(await begin(made, { id: 'a', trackId: 'again' })).toMatchObject(settled);
    expect(made.events).toEqual([]);
    expect((await made.store.find('a'))?.history).toMatchObject([
      { state: 'PENDING' },
      { state: 'DONE', settledBy: 'Ada' },
    ]);
  });

  test('gets the outcome of its own attempt, which is the truth', async () => {
    const made = await damage('PENDING');
    expect(await made.store.end({ id: 'a', trackId: 'other', outcome: done })).toBe(false);
    expect(await made.store.end({ id: 'a', trackId, outcome: done })).toBe(true);
    expect(await made.store.find('a')).toMatchObject({ ...done, id: 'a' });
  });

  test('of a finished payment takes no outcome', async () => {
    const made = await damage('DONE');
    expect(await made.store.end({ id: 'a', trackId, outcome: rejected })).toBe(false);
    expect(await made.store.end({ id: 'a', trackId, outcome: null })).toBe(false);
    expect(await made.store.find('a')).toMatchObject({ state: 'UNKNOWN' });
  });
});

test('a store that lost records begins no payment, still answers about others, and is logged once', async () => {
  const driver = createMemoryDriver({ now: () => now });
  let loss: string | null = null;
  const { store, events } = openOver({
    ...driver,
    get loss() {
      return loss;
    },
  });
  await store.begin(pending(), lease);
  loss = 'It is another server.';
  await expect(store.begin(pending({ id: 'b' }), lease)).rejects.toThrow('It is another server.');
  await expect(store.begin(pending({ id: 'b' }), lease)).rejects.toThrow(StoreUnavailable);
  expect(await store.end({ id, trackId, outcome: done })).toBe(true);
  expect(await store.find(id)).toMatchObject(done);
  loss = null;
  expect(await store.begin(pending({ id: 'b' }), lease)).toBeNull();
  expect(events).toEqual([{ kind: 'loss', loss: 'It is another server.' }, { kind: 'loss-accepted' }]);
});

describePaymentStore('the memory store', async () => {
  let time = start;
  const store = createMemoryStore({ retentionMs, now: () => time });
  return {
    store,
    async pass(ms) {
      time += ms;
    },
  };
});
