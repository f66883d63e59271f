import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import type { PaymentStore } from '../../../../src/payments/store.ts';
import { createSharedClock } from '../../../../src/payments/stores/sqlite/clock.ts';
import { upgradeSchema } from '../../../../src/payments/stores/sqlite/schema.ts';
import { createSqliteStore } from '../../../../src/payments/stores/sqlite/sqlite-store.ts';
import { prepareStatements } from '../../../../src/payments/stores/sqlite/statements.ts';
import type { StoreEvent } from '../../../../src/payments/stores/store-event.ts';
import { done, pending, retentionMs, start } from '../store-conformance.ts';

const hour = 60 * 60 * 1000;
const day = 24 * hour;
const ahead = start + 31 * day;

describe('the clock that processes share', () => {
  function setUp() {
    const database = new DatabaseSync(':memory:');
    upgradeSchema(database, true);
    const statements = prepareStatements(database);
    const events: StoreEvent[] = [];
    const join = (now: number) => {
      const clock = createSharedClock((event) => events.push(event));
      clock.set(statements, now);
      clock.beat(statements);
      return clock;
    };
    const rows = () => statements.clocks.all().length;
    return { statements, events, join, rows };
  }

  test('is the own one of whoever is alone', () => {
    const { statements, join } = setUp();
    expect(join(start).agreedTime(statements, ahead)).toBe(ahead);
  });

  /** A process of its own clocks, which a test moves. */
  function joinWithClocks() {
    const { statements, events } = setUp();
    const clocks = { wall: start, monotonic: 5_000 };
    const clock = createSharedClock((event) => events.push(event), {
      wallClock: () => clocks.wall,
      monotonic: () => clocks.monotonic,
    });
    const written = () => statements.clocks.all().map(({ time }) => time);
    return { statements, events, clocks, clock, written };
  }

  test('is nobody’s where that of whoever is alone jumps ahead by over an hour, which is told, until it is put right', () => {
    const { statements, events, clocks, clock } = joinWithClocks();
    clocks.wall += 31 * day;
    clock.set(statements, clocks.wall);
    expect(clock.agreedTime(statements, clocks.wall)).toBeNull();
    expect(clock.agreedTime(statements, clocks.wall)).toBeNull();
    expect(events).toEqual([{ kind: 'clocks-differ', byMs: 31 * day }]);
    clocks.wall = start + hour;
    expect(clock.agreedTime(statements, clocks.wall)).toBe(start + hour);
    expect(events.slice(1)).toEqual([{ kind: 'clocks-agree' }]);
  });

  test('goes on with a clock that cannot be set, for years', () => {
    const { statements, events, clocks, clock } = joinWithClocks();
    clocks.wall += 500 * day;
    clocks.monotonic += 500 * day;
    expect(clock.agreedTime(statements, clocks.wall)).toBe(start + 500 * day);
    expect(events).toEqual([]);
  });

  test('is read at each beat, also where no payment brings the time, and a jump is told', () => {
    const { statements, events, clocks, clock, written } = joinWithClocks();
    clock.beat(statements);
    expect(written()).toEqual([start]);
    clocks.wall -= 3 * hour;
    clock.beat(statements);
    expect(written()).toEqual([start - 3 * hour]);
    clocks.wall += 3 * hour + 2 * day;
    clock.beat(statements);
    expect(written()).toEqual([start + 2 * day]);
    expect(events).toEqual([{ kind: 'clocks-differ', byMs: 2 * day }]);
  });

  test('is written at once where a call brings one that jumped', () => {
    const { statements, clocks, clock, written } = joinWithClocks();
    clock.beat(statements);
    clocks.wall -= 2 * hour;
    clock.set(statements, clocks.wall);
    expect(written()).toEqual([start - 2 * hour]);
  });

  test('is nobody’s until the others were watched, then the lowest', () => {
    const { statements, join } = setUp();
    const first = join(start);
    const second = join(start + 60_000);
    expect(second.agreedTime(statements, start + 60_000)).toBeNull();
    first.beat(statements);
    const agreed = second.agreedTime(statements, start + 60_000);
    // The first one's time goes on with the time that the test takes.
    expect(agreed).toBeGreaterThanOrEqual(start);
    expect(agreed).toBeLessThan(start + 60_000);
    // To the first one the second is new as well, until it beats.
    expect(first.agreedTime(statements, start)).toBeNull();
    second.beat(statements);
    expect(first.agreedTime(statements, start)).toBe(start);
  });

  test('is nobody’s while they differ by over an hour, which is told once', () => {
    const { statements, events, join } = setUp();
    const good = join(start);
    const bad = join(ahead);
    for (let n = 0; n < 3; n++) for (const clock of [good, bad]) clock.beat(statements);
    expect(bad.agreedTime(statements, ahead)).toBeNull();
    expect(good.agreedTime(statements, start)).toBeNull();
    const differ = { kind: 'clocks-differ', byMs: expect.any(Number) };
    // Once by each of them.
    expect(events).toEqual([differ, differ]);
    bad.set(statements, start + 1000);
    expect(good.agreedTime(statements, start + 1000)).not.toBeNull();
    expect(events.at(-1)).toEqual({ kind: 'clocks-agree' });
  });

  test('passes over whoever beats no more, and forgets it', () => {
    const { statements, join, rows } = setUp();
    join(start);
    const living = join(ahead);
    expect(rows()).toBe(2);
    for (let n = 0; n < 14; n++) living.beat(statements);
    expect(living.agreedTime(statements, ahead)).toBeNull();
    living.beat(statements);
    expect(living.agreedTime(statements, ahead)).toBe(ahead);
    expect(rows()).toBe(1);
  });

  test('counts a sleeper again when it wakes up', () => {
    const { statements, join } = setUp();
    const sleeper = join(start);
    const living = join(ahead);
    for (let n = 0; n < 20; n++) living.beat(statements);
    sleeper.beat(statements);
    expect(living.agreedTime(statements, ahead)).toBeNull();
  });

  test('is told at once of a clock that was moved', () => {
    const { statements, join } = setUp();
    const first = join(start);
    const second = join(start);
    first.beat(statements);
    second.agreedTime(statements, start);
    first.set(statements, start - 2 * hour);
    expect(second.agreedTime(statements, start)).toBeNull();
  });

  test('is without those that left', () => {
    const { statements, join, rows } = setUp();
    const first = join(start);
    const second = join(ahead);
    first.leave(statements);
    expect(second.agreedTime(statements, ahead)).toBe(ahead);
    expect(rows()).toBe(1);
  });
});

describe('a process whose clock is 31 days ahead', () => {
  const root = mkdtempSync(join(tmpdir(), 'bankql-sqlite-clock-'));
  afterAll(() => rmSync(root, { recursive: true, force: true }));
  const opened: PaymentStore[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()));
  });
  let files = 0;

  async function open(path: string, events: StoreEvent[] = []): Promise<PaymentStore> {
    const onEvent = (event: StoreEvent) => events.push(event);
    const store = await createSqliteStore({ path, retentionMs, timeoutMs: 10_000, beatMs: 20, onEvent });
    opened.push(store);
    return store;
  }

  const countDone = (path: string) => {
    using database = new DatabaseSync(path, { readOnly: true });
    return database.prepare("SELECT count(*) AS n FROM payment WHERE state = 'DONE'").get()?.n;
  };

  test('forgets nothing of what the others finished, nor pays it again, whoever comes first', async () => {
    const path = join(root, `${++files}.db`);
    const good = await open(path);
    const ids = Array.from({ length: 20 }, (_, n) => `p-${n}`);
    await Promise.all(ids.map((id) => good.begin(pending({ id }), start)));
    await Promise.all(ids.map((id) => good.finish(id, pending().trackId, done, start)));
    const events: StoreEvent[] = [];
    const bad = await open(path, events);
    for (let round = 0; round < 3; round++) {
      // The first round comes before the others were watched, the others after.
      expect(await bad.begin(pending({ id: `new-${round}`, leaseUntil: ahead + hour }), ahead)).toBeNull();
      for (const id of ids) expect(await bad.begin(pending({ id }), ahead)).toMatchObject({ state: 'DONE' });
      expect(await bad.find('p-0', ahead)).toMatchObject({ state: 'DONE' });
      expect(await bad.search({ states: ['DONE'] }, ahead)).toHaveLength(20);
      await delay(500);
    }
    expect(countDone(path)).toBe(20);
    expect(await good.begin(pending({ id: 'p-1' }), start)).toMatchObject({ state: 'DONE' });
    await vi.waitFor(() => expect(events.map(({ kind }) => kind)).toContain('clocks-differ'));
  });

  test('is believed when it is the only one, and its purge is told: it takes more than a tenth', async () => {
    const path = join(root, `${++files}.db`);
    const good = await open(path);
    const ids = Array.from({ length: 20 }, (_, n) => `p-${n}`);
    await Promise.all(ids.map((id) => good.begin(pending({ id }), start)));
    await Promise.all(ids.map((id) => good.finish(id, pending().trackId, done, start)));
    await good.close();
    const events: StoreEvent[] = [];
    const late = await open(path, events);
    expect(await late.begin(pending({ id: 'new', leaseUntil: ahead + hour }), ahead)).toBeNull();
    await vi.waitFor(() => expect(countDone(path)).toBe(0));
    await vi.waitFor(() => expect(events).toHaveLength(1));
    expect(events).toEqual([{ kind: 'purge', deleted: 20, expired: 20, records: 21 }]);
  });

  test('purges as many as there are, while payments begin', async () => {
    const path = join(root, `${++files}.db`);
    const first = await open(path);
    await first.begin(pending({ id: 'first' }), start);
    await first.finish('first', pending().trackId, done, start);
    await first.close();
    const columns = Object.keys(pending()).filter((name) => name !== 'id');
    using database = new DatabaseSync(path);
    database.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
      INSERT INTO payment (id, ${columns.join(', ')}) SELECT 'p' || i, ${columns.join(', ')} FROM n, payment`);
    const events: StoreEvent[] = [];
    const store = await open(path, events);
    for (let n = 0; n < 5; n++)
      expect(await store.begin(pending({ id: `new-${n}`, leaseUntil: ahead + hour }), ahead)).toBeNull();
    await vi.waitFor(() => expect(events).toHaveLength(1), { timeout: 5_000 });
    expect(countDone(path)).toBe(0);
    expect(events).toEqual([{ kind: 'purge', deleted: 5_001, expired: 5_001, records: expect.any(Number) }]);
    expect(await store.search({ states: ['PENDING'] }, ahead)).toHaveLength(5);
  });

  test('says nothing of a purge that takes less', async () => {
    const path = join(root, `${++files}.db`);
    const events: StoreEvent[] = [];
    const store = await open(path, events);
    const ids = Array.from({ length: 20 }, (_, n) => `p-${n}`);
    await Promise.all(ids.map((id) => store.begin(pending({ id, leaseUntil: ahead + hour }), start)));
    await store.finish('p-0', pending().trackId, done, start);
    expect(await store.begin(pending({ id: 'new', leaseUntil: ahead + hour }), ahead)).toBeNull();
    await vi.waitFor(() => expect(countDone(path)).toBe(0));
    await store.close();
    expect(events).toEqual([]);
  });
});
