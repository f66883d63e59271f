import { expect, test } from 'vitest';
import { createMemoryStore } from '../../src/payments/stores/memory-store.ts';
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
  const kept = createMemoryStore({ retentionMs: 86_400_000 });
  let loss: string | null = null;
  const store = Object.defineProperty({ ...kept }, 'loss', { get: () => loss });
  await using bankql = createTestBankql({ bankUrl: bank.url, store });
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
