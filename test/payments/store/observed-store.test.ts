import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createMemoryStore } from '../../../src/payments/store/memory-store.ts';
import { observeStore } from '../../../src/payments/store/observed-store.ts';
import { type PaymentStore, StoreUnavailable } from '../../../src/payments/store/store.ts';
import { done, lease, pending, retentionMs } from './store-conformance.ts';

/** A store that fails on demand, by a clock of the test's own, and what is told of it. */
let clock = 0;
let told: string[] = [];
let broken: ReadonlySet<string> = new Set();
let loss: string | null = null;
let statusCalls = 0;

function openStore() {
  const memory = createMemoryStore({ retentionMs });
  const guarded = new Proxy(memory, {
    get(target, name, receiver) {
      if (name === 'loss') return loss;
      const value: unknown = Reflect.get(target, name, receiver);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        if (name === 'count') statusCalls++;
        clock += 10;
        if (broken.has(String(name))) return Promise.reject(new StoreUnavailable('It is away.'));
        return value.apply(target, args);
      };
    },
  });
  const observer = {
    onStoreCall: (operation: string, seconds: number) => told.push(`${operation} ${seconds}`),
    onStoreAway: (reason: string) => told.push(`away: ${reason}`),
    onStoreBack: (seconds: number) => told.push(`back after ${seconds}`),
  };
  const store = observeStore(guarded, observer, () => clock);
  onTestFinished(() => store.close());
  return store;
}

const news = () => told.filter((line) => /^(away|back)/.test(line));
const begin = (store: PaymentStore, id: string) => store.begin(pending({ id }), lease);
const everything = new Set(['begin', 'end', 'find', 'search', 'settle', 'count']);

beforeEach(() => {
  clock = 0;
  told = [];
  broken = new Set();
  loss = null;
  statusCalls = 0;
});

test('every call goes through as it is, and its time is told', async () => {
  const store = openStore();
  expect(await begin(store, 'a')).toBeNull();
  expect(await store.end({ id: 'a', trackId: pending().trackId, outcome: done })).toBe(true);
  expect(await store.find('a')).toMatchObject({ state: 'DONE' });
  expect(await store.search({ states: ['DONE'] })).toHaveLength(1);
  expect(await store.settle('a', 'DONE', 'Ada')).toBe(false);
  expect(await store.end({ id: 'a', trackId: 'x', outcome: null })).toBe(false);
  expect(await store.count()).toMatchObject({ newestAt: expect.any(Number) });
  expect(told).toEqual(
    ['begin', 'finish', 'find', 'search', 'settle', 'release', 'count'].map((name) => `${name} 0.01`),
  );
  expect(store.isUp).toBe(true);
  expect(store.secret).toMatch(/^[0-9a-f]{64}$/);
});

describe('an outage', () => {
  test('is told once, and again when it is over, with how long it was', async () => {
    const store = openStore();
    broken = everything;
    for (let n = 0; n < 5; n++) await expect(begin(store, `${n}`)).rejects.toThrow(StoreUnavailable);
    await expect(store.find('a')).rejects.toThrow(StoreUnavailable);
    expect(store.isUp).toBe(false);
    expect(news()).toEqual(['away: It is away.']);
    clock += 2000.28;
    broken = new Set();
    await begin(store, 'b');
    expect(store.isUp).toBe(true);
    expect(news()).toEqual(['away: It is away.', 'back after 2.06']);
  });

  test('is not over because reads succeed: the disk may be full, or replicas may not confirm', async () => {
    const store = openStore();
    broken = new Set(['begin']);
    for (let n = 0; n < 5; n++) {
      await expect(begin(store, 'a')).rejects.toThrow(StoreUnavailable);
      await store.find('a');
      await store.recentCounts();
      clock += 1000;
    }
    expect([store.isUp, news().length]).toEqual([false, 1]);
  });

  test('is over when the store answers and nothing has failed for a while, though nobody pays', async () => {
    const store = openStore();
    broken = new Set(['begin']);
    await expect(begin(store, 'a')).rejects.toThrow(StoreUnavailable);
    broken = new Set();
    await store.recentCounts();
    expect(store.isUp).toBe(false);
    clock += 5000;
    await store.recentCounts();
    expect(store.isUp).toBe(true);
  });

  test('a loss that was noticed without a call refuses payments: it is not up', async () => {
    const store = openStore();
    await store.find('a');
    expect(store.isUp).toBe(true);
    loss = 'Three payments are missing.';
    expect(store.isUp).toBe(false);
    loss = null;
    expect(store.isUp).toBe(true);
  });

  test('a lost record keeps it away, from the start, until somebody accepts the loss', async () => {
    loss = 'Three payments are missing.';
    const store = openStore();
    expect(news()).toEqual(['away: Three payments are missing.']);
    clock += 60_000;
    await store.recentCounts();
    expect(store.isUp).toBe(false);
    loss = null;
    clock += 1000;
    await store.recentCounts();
    expect(store.isUp).toBe(true);
  });
});

describe('what it holds', () => {
  test('is asked for once in a few seconds, however many ask', async () => {
    const store = openStore();
    await begin(store, 'a');
    const asked = await Promise.all(Array.from({ length: 50 }, () => store.recentCounts()));
    expect(new Set(asked.map((status) => status?.pending))).toEqual(new Set([1]));
    clock += 4000;
    await store.recentCounts();
    expect(statusCalls).toBe(1);
    clock += 2000;
    await store.recentCounts();
    expect(statusCalls).toBe(2);
  });

  test('is null while the store is away, and every second it is asked again', async () => {
    const store = openStore();
    broken = everything;
    for (let n = 0; n < 20; n++) expect(await store.recentCounts()).toBeNull();
    expect(statusCalls).toBe(1);
    clock += 1000;
    expect(await store.recentCounts()).toBeNull();
    expect(statusCalls).toBe(2);
  });
});
