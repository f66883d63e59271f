import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { StoreDriver } from '../../../src/payments/store/driver.ts';
import { createMemoryDriver } from '../../../src/payments/store/memory-store.ts';
import { observeDriver } from '../../../src/payments/store/observed-driver.ts';
import { StoreUnavailable } from '../../../src/payments/store/store.ts';
import { changed, newRow } from './postgres/opened-driver.ts';

/** A database that fails on demand, with a clock that the test sets, and the reported events. */
let clock = 0;
let told: string[] = [];
let broken: ReadonlySet<string> = new Set();
let loss: string | null = null;

function openDriver() {
  const guarded = new Proxy(createMemoryDriver({}), {
    get(target, name, receiver) {
      if (name === 'loss') return loss;
      const value: unknown = Reflect.get(target, name, receiver);
      if (typeof value !== 'function' || name === 'close') return value;
      return (...args: unknown[]) => {
        clock += 10;
        if (broken.has(String(name))) return Promise.reject(new StoreUnavailable('It is away.'));
        return value.apply(target, args);
      };
    },
  });
  const observer = {
    onStoreCall: (method: string, seconds: number) => told.push(`${method} ${seconds}`),
    onStoreAway: (reason: string) => told.push(`away: ${reason}`),
    onStoreBack: (seconds: number) => told.push(`back after ${seconds}`),
  };
  const driver = observeDriver(guarded, observer, () => clock);
  onTestFinished(() => driver.close().catch(() => {}));
  return driver;
}

const news = () => told.filter((line) => /^(away|back)/.test(line));
const insert = (driver: StoreDriver, id: string, version = 'v-1') => driver.insert(newRow(id, { version }));
const everything = new Set(['insert', 'compareAndSet', 'recover', 'find', 'search', 'count', 'purge']);

beforeEach(() => {
  clock = 0;
  told = [];
  broken = new Set();
  loss = null;
});

test('every call is passed on unchanged, and its time is reported', async () => {
  const driver = openDriver();
  expect(await insert(driver, 'a')).toMatchObject({ version: 'v-1' });
  expect(await driver.compareAndSet('a', 'v-1', changed('v-2'))).toBe(true);
  expect(await driver.find('a')).toMatchObject({ version: 'v-2' });
  expect(await driver.search({ states: ['DONE'], limit: 5 })).toHaveLength(1);
  expect(await driver.recover(newRow('a'), 1)).toBe(false);
  expect(await driver.count()).toMatchObject({ newestAt: expect.any(Number) });
  expect(await driver.purge(0)).toBe(0);
  const calls = ['insert', 'compareAndSet', 'find', 'search', 'recover', 'count', 'purge'];
  expect(told).toEqual(calls.map((name) => `${name} 0.01`));
  expect(driver.secret).toMatch(/^[0-9a-f]{64}$/);
});

describe('an outage', () => {
  test('is reported once, and again when it is over, with its duration', async () => {
    const driver = openDriver();
    broken = everything;
    for (let n = 0; n < 5; n++) await expect(insert(driver, `${n}`)).rejects.toThrow(StoreUnavailable);
    await expect(driver.find('a')).rejects.toThrow(StoreUnavailable);
    expect(news()).toEqual(['away: It is away.']);
    clock += 2000.28;
    broken = new Set();
    await insert(driver, 'b');
    expect(news()).toEqual(['away: It is away.', 'back after 2.06']);
  });

  test('is not over because reads succeed: the disk may be full, or replicas may not confirm', async () => {
    const driver = openDriver();
    await insert(driver, 'there');
    broken = new Set(['insert']);
    for (let n = 0; n < 5; n++) {
      await expect(insert(driver, 'a')).rejects.toThrow(StoreUnavailable);
      await driver.find('a');
      await driver.count();
      clock += 1000;
    }
    broken = new Set();
    // This call finds a payment, and stores none.
    await insert(driver, 'there', 'v-2');
    expect(news()).toEqual(['away: It is away.']);
  });

  test('is over when the database answers and nothing has failed for a while, though nobody pays', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const driver = openDriver();
    broken = new Set(['insert']);
    await expect(insert(driver, 'a')).rejects.toThrow(StoreUnavailable);
    broken = new Set();
    await vi.advanceTimersByTimeAsync(1000);
    expect(news()).toHaveLength(1);
    clock += 5000;
    await vi.advanceTimersByTimeAsync(1000);
    expect(news()).toEqual(['away: It is away.', expect.stringMatching(/^back after 5/)]);
    // No further calls are made.
    expect(vi.getTimerCount()).toBe(0);
  });

  test('does not end while records are missing, until somebody accepts the loss', async () => {
    loss = 'Three payments are missing.';
    const driver = openDriver();
    expect(news()).toEqual(['away: Three payments are missing.']);
    clock += 60_000;
    await driver.count();
    expect(news()).toHaveLength(1);
    loss = null;
    await driver.count();
    expect(news()).toHaveLength(2);
  });

  test('is none where a call fails because the store is closed', async () => {
    const driver = openDriver();
    const closing = driver.close();
    broken = everything;
    await expect(insert(driver, 'a')).rejects.toThrow(StoreUnavailable);
    await closing;
    expect(news()).toEqual([]);
  });
});
