import { describe, expect, test } from 'vitest';
import { type CheckedStore, createLossGuard, newMetadata } from '../../src/payments/lost-records.ts';
import { createMemoryDriver, createMemoryStore } from '../../src/payments/stores/memory-store.ts';
import { createTestBankql } from '../support/bankql.ts';
import { failuresOf } from '../support/bankql-fixture.ts';
import { startRecordingBank } from '../support/recording-bank.ts';

const pay = `mutation { makeTransaction(
  input: { accountId: "ACC", to: { accountId: "TO" }, value: { amount: "1" }, idempotencyKey: "kept" }
) { replayed } }`;
const find = (key: string) => `{ payment(idempotencyKey: "${key}") { state } }`;
const list = (states: string) => `{ payments(states: [${states}]) { nodes { idempotencyKey } } }`;

test('a store that lost records tells of those it has, and never says that there was no payment', async () => {
  await using bank = await startRecordingBank();
  bank.otherwise(() => ({ body: {} }));
  const kept = await createMemoryStore({ retentionMs: 86_400_000 });
  let loss: string | null = null;
  const store = Object.defineProperty({ ...kept }, 'loss', { get: () => loss });
  await using bankql = await createTestBankql({ bankUrl: bank.url, store });
  expect((await bankql.ask(pay)).errors).toBeUndefined();
  expect((await bankql.ask(find('lost'))).data).toEqual({ payment: null });
  expect((await bankql.ask(list('UNKNOWN'))).data).toEqual({ payments: { nodes: [] } });

  loss = 'Three payments are missing.';
  expect((await bankql.ask(find('kept'))).data).toEqual({ payment: { state: 'DONE' } });
  expect((await bankql.ask(list('DONE'))).data).toEqual({
    payments: { nodes: [{ idempotencyKey: 'kept' }] },
  });
  const lost = await bankql.ask(find('lost'));
  expect(failuresOf(lost)).toEqual(['payment STATE_UNAVAILABLE']);
  expect(lost.errors?.[0]?.message).toMatch(/its outcome is unknown/);
  expect(failuresOf(await bankql.ask(list('UNKNOWN')))).toEqual(['payments STATE_UNAVAILABLE']);
  // Nobody else finds out whose it is.
  const other = {
    'Ocp-Apim-Subscription-Key': 'another',
    'Auth-Provider-Name': 'the-provider',
    'Auth-ID': 'the-caller',
  };
  expect(failuresOf(await bankql.ask(find('kept'), {}, other))).toEqual(['payment STATE_UNAVAILABLE']);
  expect(bank.calls).toHaveLength(1);
});

async function startDriver() {
  const driver = createMemoryDriver();
  await driver.writeMetadata(null, { version: 'first', text: JSON.stringify(newMetadata(null)) });
  return driver;
}

const guardOf = (store: CheckedStore, countsAreConfirmed: boolean) =>
  createLossGuard({
    name: 'the test',
    markFiles: [],
    retentionMs: 1_000_000,
    allowVolatile: false,
    countsAreConfirmed,
    readMetadata: (asked) => asked.readMetadata(),
    store: () => store,
    now: () => 2_000,
    onEvent: () => {},
  });

describe('a check of the store whose connection is lost', () => {
  async function startGuard() {
    const driver = await startDriver();
    const guard = guardOf(driver, true);
    await guard.check(driver);
    return { driver, guard };
  }

  test('gets a new one, which is checked first', async () => {
    const { driver, guard } = await startGuard();
    let connections = 0;
    await guard.check({
      ...driver,
      async readMetadata() {
        connections++;
        await guard.checkConnection(driver);
        return driver.readMetadata();
      },
    });
    expect([connections, guard.loss]).toEqual([1, null]);
    await guard.close();
  });

  test('does not undo what the check of a connection found meanwhile', async () => {
    const { driver, guard } = await startGuard();
    const before = await driver.readMetadata();
    await guard.check({
      ...driver,
      // It was read before the loss was written, and arrives after that.
      async readMetadata() {
        const { storeId, ...rest } = JSON.parse(before.text ?? '');
        const text = JSON.stringify({ ...rest, storeId, loss: 'it has lost records' });
        await driver.writeMetadata(before.metadataVersion, { version: 'second', text });
        await guard.checkConnection(driver);
        return before;
      },
    });
    expect(guard.loss).toContain('it has lost records');
    await guard.close();
  });
});

describe('a standby takes over', () => {
  /** A store whose server can be another one, and which has counted payments. */
  async function startStore() {
    const driver = await startDriver();
    const at = { server: 'timeline 1', began: 7 };
    const store = {
      ...driver,
      readMetadata: async () => ({ ...(await driver.readMetadata()), newestAt: 1_000, ...at }),
    };
    // As with standbys that confirm: what was counted may not be confirmed.
    const startProcess = () => guardOf(store, false);
    return { at, store, startProcess };
  }

  test('while a process runs that has begun no payment itself: it vouches for the new server, for others too', async () => {
    const { at, store, startProcess } = await startStore();
    const process = startProcess();
    await process.check(store);
    at.server = 'timeline 2';
    at.began = 9;
    const starting = startProcess();
    await starting.check(store);
    expect(starting.loss).toMatch(/its server changed from timeline 1 to timeline 2 while no bankql ran/);
    await process.check(store);
    expect(process.loss).toBeNull();
    await starting.check(store);
    expect(starting.loss).toBeNull();
    for (const each of [process, starting]) await each.close();
  });

  test('and has fewer payments than such a process has seen: it vouches for nothing', async () => {
    const { at, store, startProcess } = await startStore();
    const process = startProcess();
    await process.check(store);
    Object.assign(at, { server: 'timeline 2', began: 6 });
    await process.check(store);
    expect(process.loss).toMatch(/its server changed/);
    await process.close();
  });
});
