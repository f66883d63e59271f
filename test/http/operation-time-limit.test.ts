import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestBankql } from '../support/bankql.ts';
import { failuresOf } from '../support/bankql-fixture.ts';
import { byLine, type FaultyBank, hang, later, reply, startFaultyBank } from '../support/faulty-bank.ts';
import { inTimeMs } from '../support/in-time.ts';

/** Promise 15: all calls of an operation have one deadline, except a write or a payment that has begun. */

let bank: FaultyBank;
beforeEach(async () => {
  bank = await startFaultyBank();
});
afterEach(() => bank.close());

const branches = reply(200, '{"branches":[{"acceptsDeposits":true,"id":"b"}]}');
const putCustomer = `putCustomer(input: { customerId: "c", customer: { legalName: "C" } })`;
const pay = `makeTransaction(input: {
  accountId: "a", to: { accountId: "b" }, value: { amount: "1.00", currency: "EUR" }, idempotencyKey: "k" })`;

// The deadline is long enough for calls that are answered, even on a busy machine.
const limits = { timeoutMs: 2_000, restCalls: 1000 };

const start = () => createTestBankql({ bankUrl: bank.url, limits });

test('a read that is late is BANK_TIMEOUT, and the other fields are answered', async () => {
  bank.behave(byLine(bank, { branches }));
  await using bankql = await start();
  const started = performance.now();
  const result = await bankql.ask(
    '{ bank { slow: customer(customerId: "slow") { email } branches { totalCount } } }',
  );
  const elapsedMs = performance.now() - started;
  expect(result.data).toEqual({ bank: { slow: null, branches: { totalCount: 1 } } });
  expect(failuresOf(result)).toEqual(['bank.slow BANK_TIMEOUT']);
  expect(result.errors?.[0]?.extensions).toMatchObject({ operation: 'getCustomer', retryable: true });
  expect(elapsedMs).toBeGreaterThan(limits.timeoutMs - 20);
  expect(elapsedMs).toBeLessThan(inTimeMs);
  // The connection of the cancelled call is closed; the remaining one is kept alive.
  await expect.poll(bank.open).toBe(1);
});

test('one time limit holds for all levels of a query', async () => {
  const owners = Array.from({ length: 3 }, (_, nth) => `"o${nth}"`).join();
  const account = `{"accounts":[{"id":"a","label":"l","balance":{"amount":1},"owners":[${owners}]}]}`;
  bank.behave(byLine(bank, { '/accounts/a/': later(150, reply(200, account)), customers: hang }));
  await using bankql = await start();
  const started = performance.now();
  const result = await bankql.ask('{ bank { account(accountId: "a") { label owners { email } } } }');
  expect(performance.now() - started).toBeLessThan(inTimeMs);
  expect(result.data).toEqual({ bank: { account: { label: 'l', owners: [null, null, null] } } });
  expect(new Set(result.errors?.map(({ extensions }) => extensions.code))).toEqual(new Set(['BANK_TIMEOUT']));
});

test.each([
  ['a write', putCustomer, 'customers', '{"legal_name":"C"}'],
  ['a payment', pay, 'make-transaction', '{}'],
])('%s that has begun is not cut off; a read after it is', async (_, field, path, body) => {
  bank.behave(byLine(bank, { [path]: later(limits.timeoutMs + 100, reply(200, body)), branches }));
  await using bankql = await start();
  const rest =
    field === pay
      ? 'payment { trackId account { label } }'
      : 'trackId customer { legalName bank { branches { totalCount } } }';
  const result = await bankql.ask(`mutation { done: ${field} { ${rest} } }`);
  const trackId = expect.any(String);
  expect(result.data).toMatchObject({ done: field === pay ? { payment: { trackId } } : { trackId } });
  expect(result.errors?.map(({ extensions }) => extensions.code)).toEqual(['BANK_TIMEOUT']);
  expect(bank.requests).toHaveLength(1);
});
