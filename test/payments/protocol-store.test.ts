import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { RowQuery, StoreDriver } from '../../src/payments/driver.ts';
import { WriteUncertain } from '../../src/payments/driver.ts';
import { createProtocolStore } from '../../src/payments/protocol-store.ts';
import type { PaymentStore, StoreEvent } from '../../src/payments/store.ts';
import { UnreadableRecord } from '../../src/payments/store.ts';
import type { ClockSources } from '../../src/payments/store-clock.ts';
import { createMemoryDriver } from '../../src/payments/stores/memory-store.ts';
import { graphql } from '../generated/index.ts';
import { startBankqlFixture } from '../support/bankql-fixture.ts';
import { testFolder } from '../support/test-folder.ts';
import { openSqlite } from './stores/opened-stores.ts';
import { done, lease, pending, retentionMs, start } from './stores/store-conformance.ts';

const folder = testFolder();

async function open(driver: StoreDriver, events: StoreEvent[] = [], clocks?: ClockSources) {
  const store = await createProtocolStore({
    name: 'of the test',
    retentionMs,
    markFiles: [],
    allowVolatile: false,
    countsAreConfirmed: true,
    onEvent: (event) => events.push(event),
    clocks,
    open: async () => driver,
  });
  onTestFinished(() => store.close());
  return store;
}

const Pay = graphql(`
  mutation PayForDamage($input: MakeTransactionInput!) { makeTransaction(input: $input) { payment { trackId } } }
`);

const day = 24 * 60 * 60 * 1000;
const { id, trackId } = pending();
/** A record of now: clocks are compared with the machine's. */
const current = (now: number, change: Parameters<typeof pending>[0] = {}) =>
  pending({ createdAt: now, updatedAt: now, leaseUntil: now + lease, ...change });

describe('a store that was put back under a running process', () => {
  /** A store whose rows and counts can be put back; its metadata are the same then. */
  function createRestorable() {
    let driver = createMemoryDriver();
    const metadata = createMemoryDriver();
    return {
      driver: {
        ...driver,
        insertIfAbsent: async (row) => ({
          ...(await driver.insertIfAbsent(row)),
          metadataVersion: (await metadata.readMetadata()).metadataVersion,
        }),
        find: (asked) => driver.find(asked),
        findMissing: (attempts) => driver.findMissing(attempts),
        readMetadata: async () => {
          const { text, metadataVersion } = await metadata.readMetadata();
          return { ...(await driver.readMetadata()), text, metadataVersion };
        },
        writeMetadata: metadata.writeMetadata,
      } satisfies StoreDriver,
      empty: () => {
        driver = createMemoryDriver();
      },
    };
  }

  test.each(['by the process that began it', 'by another one'])(
    'does not take a lost payment again: %s',
    async (who) => {
      const now = Date.now();
      const { driver, empty } = createRestorable();
      const beginner = await open(driver);
      await beginner.begin(current(now), now);
      await beginner.end({ id, trackId, outcome: done, at: now });
      const payer = who === 'by another one' ? await open(driver) : beginner;
      empty();
      const again = current(now, { trackId: 'again' });
      await expect(payer.begin(again, now)).rejects.toThrow('it has lost records');
      expect(payer.loss).toContain('it has lost records');
      await expect(payer.begin(again, now)).rejects.toThrow('it has lost records');
    },
  );

  test('takes no other payment of the same batch either', async () => {
    const now = Date.now();
    const { driver, empty } = createRestorable();
    const store = await open(driver);
    await store.begin(current(now), now);
    empty();
    const batch = ['a', 'b', 'c'].map((key) => store.begin(current(now, { id: key, trackId: key }), now));
    const ends = await Promise.allSettled(batch);
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  });
});

describe('a server whose clock jumps 31 days ahead', () => {
  /** A store whose server's clock is first ahead by `before`, and then by `after`. */
  async function jumped(before: number, after: number) {
    let ahead = before;
    const driver = createMemoryDriver();
    const told: StoreEvent[] = [];
    const timed = async <T extends object>(answer: Promise<T>) => ({
      ...(await answer),
      serverTime: Date.now() + ahead,
    });
    const store = await open(
      {
        ...driver,
        insertIfAbsent: (row) => timed(driver.insertIfAbsent(row)),
        readMetadata: () => timed(driver.readMetadata()),
      },
      told,
    );
    const now = Date.now();
    await store.begin(current(now), now);
    await store.end({ id, trackId, outcome: done, at: now });
    await store.begin(current(now, { id: 'pending' }), now);
    ahead = after;
    const another = store.begin(current(now, { id: 'another' }), now);
    // Its lease would begin long before the server's time.
    await (after > before ? expect(another).rejects.toThrow('its clock was set') : another);
    const again = (at = now) => store.begin(current(at, { trackId: 'again' }), at);
    return { store, told, now, again };
  }

  test('frees no key, ends no lease early, and is reported once', async () => {
    const { store, told, now, again } = await jumped(0, 31 * day);
    expect(await again()).toMatchObject({ state: 'DONE', trackId });
    expect(await store.find(id, now)).toMatchObject({ state: 'DONE' });
    expect(await store.search({ states: ['DONE'] }, now)).toHaveLength(1);
    expect(await store.find('pending', now)).toMatchObject({ state: 'PENDING' });
    expect(told).toEqual([{ kind: 'clocks-differ', byMs: expect.closeTo(31 * day, -5) }]);
  });

  test('frees no key either if it was behind, and is set right', async () => {
    const { again } = await jumped(-31 * day, 0);
    expect(await again()).toMatchObject({ state: 'DONE', trackId });
  });

  test('nor does the clock of bankql', async () => {
    const { now, again } = await jumped(0, 0);
    expect(await again(now + 31 * day)).toMatchObject({ state: 'DONE', trackId });
  });
});

test('a process whose clock is 31 days ahead of its machine frees no key in SQLite', async () => {
  const path = join(folder, 'ahead.db');
  const now = Date.now();
  const right = await openSqlite(path);
  await right.begin(current(now), now);
  await right.end({ id, trackId, outcome: done, at: now });
  const events: StoreEvent[] = [];
  const wrong = await openSqlite(path, {
    clocks: { wallClock: () => Date.now() + 31 * day, monotonic: () => performance.now() },
    onEvent: (event) => events.push(event),
  });
  const later = now + 31 * day;
  expect(await wrong.begin(current(later, { trackId: 'again' }), later)).toMatchObject({
    state: 'DONE',
    trackId,
  });
  expect(events).toEqual([{ kind: 'clocks-differ', byMs: expect.any(Number) }]);
  // What it begins has the machine's time.
  await wrong.begin(current(later, { id: 'another' }), later);
  expect((await right.find('another', now))?.createdAt).toBeLessThan(now + day);
});

describe('a clock that is set while a payment is under way', () => {
  /** Two processes over one store. Their clocks, and that of the store's server if it has one, are ahead of the time by so much. */
  async function setUp({ hasServer }: { readonly hasServer: boolean }) {
    let passed = 0;
    const ahead = { payer: 0, asker: 0, server: 0 };
    const clockOf = (whose: keyof typeof ahead) => Math.floor(start + passed + ahead[whose]);
    const driver = createMemoryDriver();
    const timed = async <T extends object>(answer: Promise<T>) => ({
      ...(await answer),
      serverTime: hasServer ? clockOf('server') : null,
    });
    const served: StoreDriver = {
      ...driver,
      insertIfAbsent: (row) => timed(driver.insertIfAbsent(row)),
      // SQLite has the time of its machine, which is that of all its processes.
      readMetadata: async () => ({ ...(await driver.readMetadata()), serverTime: clockOf('server') }),
    };
    const process = async (whose: 'payer' | 'asker') => {
      const clocks = { wallClock: () => clockOf(whose), monotonic: () => passed };
      const store: PaymentStore = await open(served, [], clocks);
      return {
        begin: (key: string) =>
          store.begin(current(clockOf(whose), { id: key, trackId: whose }), clockOf(whose)),
        stateOf: async (key: string) => (await store.find(key, clockOf(whose)))?.state ?? null,
      };
    };
    return {
      ahead,
      payer: await process('payer'),
      asker: await process('asker'),
      pass(ms: number) {
        passed += ms;
      },
    };
  }
  const minute = 60_000;

  test.each([minute, -minute])('by %i ms, that of a process that asks, ends no lease early', async (by) => {
    const { ahead, payer, asker, pass } = await setUp({ hasServer: true });
    await payer.begin(id);
    ahead.asker += by;
    expect(await asker.stateOf(id)).toBe('PENDING');
    pass(lease - 1);
    expect(await asker.stateOf(id)).toBe('PENDING');
    pass(1);
    expect(await asker.stateOf(id)).toBe('UNKNOWN');
  });

  test('that of a process that pays, makes no lease shorter, or longer', async () => {
    const { ahead, payer, asker, pass } = await setUp({ hasServer: true });
    ahead.payer -= minute;
    await payer.begin(id);
    pass(lease - 1);
    expect(await asker.stateOf(id)).toBe('PENDING');
    pass(1);
    expect(await payer.stateOf(id)).toBe('UNKNOWN');
  });

  test('that of the machine, ends no lease early', async () => {
    const { ahead, payer, asker, pass } = await setUp({ hasServer: false });
    await payer.begin(id);
    for (const whose of ['payer', 'asker', 'server'] as const) ahead[whose] += minute;
    pass(0.5);
    expect(await asker.stateOf(id)).toBe('PENDING');
    expect(await asker.begin(id)).toMatchObject({ state: 'PENDING' });
    expect(await payer.begin(id)).toMatchObject({ state: 'PENDING' });
    pass(lease + 1);
    expect(await asker.stateOf(id)).toBe('UNKNOWN');
  });

  test('that of the server, refuses the payment whose lease it would make shorter, and no other one', async () => {
    const { ahead, payer, asker, pass } = await setUp({ hasServer: true });
    await payer.begin(id);
    ahead.server += minute;
    await asker.begin('another').catch(() => {});
    expect(await asker.stateOf(id)).toBe('PENDING');
    pass(12 * minute);
    await expect(payer.begin('late')).rejects.toThrow('its clock was set');
    expect(await asker.stateOf('late')).toBeNull();
    expect(await payer.begin('late')).toBeNull();
    expect(await asker.stateOf('late')).toBe('PENDING');
  });
});

describe('a damaged record', () => {
  async function damaged() {
    const path = join(folder, `${Math.random()}.db`);
    const events: StoreEvent[] = [];
    const store = await openSqlite(path, { onEvent: (event) => events.push(event) });
    const damage = () => {
      using database = new DatabaseSync(path);
      database.exec(`UPDATE payment SET json = '{"state"' WHERE id = (SELECT min(id) FROM payment)`);
    };
    return { store, events, damage };
  }

  test('fails the answers that need it, and nothing else', async () => {
    const { store, events, damage } = await damaged();
    const now = Date.now();
    for (const other of ['a', 'b']) await store.begin(current(now, { id: other }), now);
    await store.end({ id: 'a', trackId, outcome: done, at: now });
    damage();
    await expect(store.find('a', now)).rejects.toThrow(UnreadableRecord);
    await expect(store.begin(current(now, { id: 'a', trackId: 'again' }), now)).rejects.toThrow('is damaged');
    await expect(store.search({}, now)).rejects.toThrow(UnreadableRecord);
    const skipped: string[] = [];
    expect(await store.search({}, now, ({ message }) => skipped.push(message))).toMatchObject([{ id: 'b' }]);
    expect(skipped).toEqual(['The stored record of payment a is damaged.']);
    expect(events[0]).toEqual({ kind: 'record-unreadable', id: 'a' });
    expect(await store.status(now)).toMatchObject({ records: 2 });
    expect(await store.end({ id: 'b', trackId, outcome: done, at: now })).toBe(true);
    expect(await store.begin(current(now, { id: 'c' }), now)).toBeNull();
  });

  test('sends nothing, and tells its caller why', async () => {
    const { store, damage } = await damaged();
    const fixture = await startBankqlFixture({ store });
    onTestFinished(() => fixture[Symbol.asyncDispose]());
    fixture.bank.otherwise({ body: { id: 'TX' } });
    const pay = (idempotencyKey: string) =>
      fixture.ask(Pay, {
        input: { accountId: 'ACC', to: {}, value: { amount: '1', currency: 'EUR' }, idempotencyKey },
      });
    expect((await pay('one')).errors).toBeUndefined();
    damage();
    const refused = await pay('one');
    expect(refused.errors?.[0]?.extensions).toMatchObject({ code: 'STATE_UNAVAILABLE' });
    expect(refused.errors?.[0]?.message).toMatch(
      /record of this payment is damaged.*This request sent nothing/,
    );
    expect(fixture.bank.calls).toHaveLength(1);
    expect((await pay('another')).errors).toBeUndefined();
  });
});

test('5,000 payments of another subscription key cost a caller’s list nothing', async () => {
  const driver = createMemoryDriver();
  const read: number[] = [];
  const store = await open({
    ...driver,
    async search(query: RowQuery) {
      const rows = await driver.search(query);
      read.push(rows.length);
      return rows;
    },
  });
  const now = Date.now();
  for (let n = 0; n < 5_000; n++)
    await store.begin(current(now, { id: `p-${n}`, trackId: `t-${n}`, payer: 'other key' }), now);
  await store.begin(current(now, { id: 'own', payer: 'own key' }), now);
  read.length = 0;
  const { caller } = pending();
  expect(await store.search({ caller, payer: 'own key', newestFirst: true, limit: 21 }, now)).toMatchObject([
    { id: 'own' },
  ]);
  // The caller's own, and whether there are records of bankql 0.2.0.
  expect(read).toEqual([1, 0]);
});

describe('a beginning that fails', () => {
  /** A store that lost the answer to its first beginning. The record is stored before that (`isStored`), or once `settle` is called. */
  async function uncertain(isStored: boolean) {
    const driver = createMemoryDriver();
    const settled = Promise.withResolvers<void>();
    let isLost = true;
    const store = await open({
      ...driver,
      async insertIfAbsent(row) {
        if (!isLost) return driver.insertIfAbsent(row);
        isLost = false;
        if (isStored) await driver.insertIfAbsent(row);
        else void settled.promise.then(() => driver.insertIfAbsent(row));
        throw new WriteUncertain('no answer');
      },
      settleWrites: () => settled.promise,
    });
    const now = Date.now();
    await expect(store.begin(current(now), now)).rejects.toThrow(WriteUncertain);
    return { driver, store, now, settle: settled.resolve };
  }

  test('is taken back once it is certain what was stored, and until then is not told as free', async () => {
    const { driver, store, now, settle } = await uncertain(false);
    settle();
    await expect.poll(() => driver.find(id)).toBeNull();
    expect(await store.begin(current(now, { trackId: 'again' }), now)).toBeNull();
    // The first attempt is over: it takes back nothing of the second one.
    expect(await store.end({ id, trackId: 'again', outcome: done, at: now })).toBe(true);
  });

  test('ends as REJECTED if somebody was told meanwhile that it may have been sent', async () => {
    const { store, now, settle } = await uncertain(true);
    expect(await store.find(id, now + lease)).toMatchObject({ state: 'UNKNOWN' });
    settle();
    await expect
      .poll(() => store.find(id, now + lease))
      .toMatchObject({
        state: 'REJECTED',
        message: expect.stringContaining('was not executed, and is never sent under this idempotency key'),
      });
    expect(await store.begin(current(now, { trackId: 'again' }), now + lease)).toMatchObject({
      state: 'REJECTED',
    });
  });

  test('ends as REJECTED if a lost connection stored it and another process told it as UNKNOWN before the next connection found it', async () => {
    const driver = createMemoryDriver();
    const other = await open(driver);
    const now = Date.now();
    const store = await open({
      ...driver,
      async insertIfAbsent(row) {
        // Over the connection that is lost; the driver then does it again over the next one.
        await driver.insertIfAbsent(row);
        expect(await other.find(row.id, now + lease)).toMatchObject({ state: 'UNKNOWN' });
        return driver.insertIfAbsent(row);
      },
    });
    expect(await store.begin(current(now), now)).toMatchObject({ state: 'REJECTED', trackId });
    expect(await other.find(id, now + lease)).toMatchObject({
      state: 'REJECTED',
      message: expect.stringContaining('was not executed, and is never sent under this idempotency key'),
    });
  });
});
