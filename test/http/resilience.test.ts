import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createTestBankql, type TestBankql, type TestOptions } from '../support/bankql.ts';
import { failuresOf } from '../support/bankql-fixture.ts';
import {
  answer,
  byLine,
  type FaultyBank,
  hang,
  later,
  lineOf,
  reply,
  startFaultyBank,
} from '../support/faulty-bank.ts';
import { inTimeMs } from '../support/in-time.ts';
import { letPass } from '../support/let-pass.ts';
import { postOf } from '../support/requests.ts';
import { quietFor } from '../support/waits.ts';

let bank: FaultyBank;
const open: TestBankql[] = [];
beforeEach(async () => {
  bank = await startFaultyBank();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((bankql) => bankql[Symbol.asyncDispose]()));
  await bank.close();
});

async function bankqlWith(options: Omit<TestOptions, 'bankUrl'> = {}): Promise<TestBankql> {
  const bankql = await createTestBankql({ bankUrl: bank.url, ...options });
  open.push(bankql);
  return bankql;
}

/** The request lines so far, such as "GET customers/slow", without the first part of the path. */
const lines = () =>
  bank.requests.map((request) => lineOf(request).replace('/v1/api/banks/BANK/', '').replace(' HTTP/1.1', ''));

const branches = reply(200, '{"branches":[{"acceptsDeposits":true,"id":"b"}]}');
const customer = reply(200, '{"email":"a@b"}');
const putCustomer = `putCustomer(input: { customerId: "c", customer: { legalName: "C" } })`;
const pay = `makeTransaction(input: {
  accountId: "a", to: { accountId: "b" }, value: { amount: "1.00", currency: "EUR" }, idempotencyKey: "k" })`;

describe('an operation’s time', () => {
  // The deadline is long enough for calls that are answered, even on a busy machine.
  const limits = { timeoutMs: 2_000, restCalls: 1000 };

  test('cuts what is late, and the rest is answered', async () => {
    bank.behave(byLine(bank, { branches }));
    const bankql = await bankqlWith({ limits, bankOptions: { timeoutMs: 60_000 } });
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

  test('is one for all levels of a query: what comes after its end is not asked for', async () => {
    const owners = Array.from({ length: 3 }, (_, nth) => `"o${nth}"`).join();
    const account = `{"accounts":[{"id":"a","label":"l","balance":{"amount":1},"owners":[${owners}]}]}`;
    bank.behave(byLine(bank, { '/accounts/a/': later(150, reply(200, account)), customers: hang }));
    const bankql = await bankqlWith({ limits, bankOptions: { timeoutMs: 60_000 } });
    const started = performance.now();
    const result = await bankql.ask('{ bank { account(accountId: "a") { label owners { email } } } }');
    expect(performance.now() - started).toBeLessThan(inTimeMs);
    expect(result.data).toEqual({ bank: { account: { label: 'l', owners: [null, null, null] } } });
    expect(new Set(result.errors?.map(({ extensions }) => extensions.code))).toEqual(
      new Set(['BANK_TIMEOUT']),
    );
  });

  test.each([
    ['a write', putCustomer, 'customers', '{"legal_name":"C"}'],
    ['a payment', pay, 'make-transaction', '{}'],
  ])('does not cut %s, only what is read after it', async (_, field, path, body) => {
    bank.behave(byLine(bank, { [path]: later(limits.timeoutMs + 100, reply(200, body)), branches }));
    const bankql = await bankqlWith({ limits, bankOptions: { timeoutMs: 60_000, paymentTimeoutMs: 60_000 } });
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
});

describe('an operation’s calls', () => {
  const account = reply(
    200,
    '{"accounts":[{"id":"a","balance":{"amount":1},"owners":["o1","o2","o3","o4"]}]}',
  );

  test('are as many as it may make; what is over says so, and the rest stands', async () => {
    bank.behave(byLine(bank, { '/accounts/a/': account, customers: customer }));
    const bankql = await bankqlWith({ limits: { timeoutMs: 60_000, restCalls: 3 } });
    const result = await bankql.ask('{ bank { account(accountId: "a") { owners { email } } } }');
    const good = { email: 'a@b' };
    expect(result.data).toEqual({ bank: { account: { owners: [good, good, null, null] } } });
    expect(failuresOf(result)).toEqual([
      // One error of the list stands for all of its entries.
      'bank.account.owners.2 CALL_BUDGET_EXCEEDED',
    ]);
    expect(result.errors?.[0]).toMatchObject({
      message: expect.stringContaining('3 REST calls'),
      extensions: { operation: 'getCustomer', retryable: false },
    });
    expect(bank.requests).toHaveLength(3);
    // The next operation has a new budget.
    expect(failuresOf(await bankql.ask('{ bank { customer(customerId: "c") { email } } }'))).toEqual([]);
  });
});

describe('a client that leaves', () => {
  /** bankql with a client that can disconnect. */
  async function served(bankOptions: TestOptions['bankOptions']) {
    const bankql = await bankqlWith({ bankOptions });
    const ask = (query: string, signal: AbortSignal | null = null): Promise<unknown> =>
      bankql.fetch(new Request('http://bankql.test/graphql', { ...postOf({ query }), signal })).then(
        (response) => response.json(),
        () => 'left',
      );
    return { bankql, ask };
  }

  test('gives up all its reads at once', async () => {
    bank.behave(hang);
    const server = await served({ timeoutMs: 60_000 });
    const leaving = new AbortController();
    const asked = server.ask(
      '{ bank { a: customer(customerId: "a") { email } b: customer(customerId: "b") { email } branches { totalCount } } }',
      leaving.signal,
    );
    await expect.poll(() => bank.requests.length).toBe(3);
    const left = performance.now();
    leaving.abort();
    expect(await asked).toBe('left');
    await expect.poll(bank.open, { interval: 5 }).toBe(0);
    expect(performance.now() - left).toBeLessThan(inTimeMs);
  });

  test('starts no further reads', async () => {
    const held: Socket[] = [];
    bank.behave(
      byLine(bank, {
        '/accounts/a/': reply(200, '{"accounts":[{"id":"a","balance":{"amount":1},"owners":["o1","o2"]}]}'),
        'customers/o1': (socket) => void held.push(socket),
        'customers/o2': later(150, customer),
      }),
    );
    const server = await served({ timeoutMs: 60_000 });
    const leaving = new AbortController();
    const asked = server.ask(
      '{ bank { account(accountId: "a") { owners { email banks { branches { totalCount } } } } } }',
      leaving.signal,
    );
    await expect.poll(() => held.length).toBe(1);
    leaving.abort();
    await asked;
    await quietFor(250);
    expect(lines()).toHaveLength(3);
  });

  test.each([
    ['a write', putCustomer, 'PUT customers/c', 'GET branches'],
    ['a payment', pay, 'POST accounts/a/make-transaction', 'GET accounts/a/owner/views'],
  ])('does not give up %s', async (_, field, line, inPayload) => {
    const held: Socket[] = [];
    bank.behave((socket) => void held.push(socket));
    const server = await served({ timeoutMs: 60_000, paymentTimeoutMs: 60_000 });
    const leaving = new AbortController();
    const rest =
      field === pay ? 'payment { account { label } }' : 'customer { bank { branches { totalCount } } }';
    const asked = server.ask(`mutation { done: ${field} { ${rest} } }`, leaving.signal);
    await expect.poll(() => held.length).toBe(1);
    leaving.abort();
    expect(await asked).toBe('left');
    await quietFor(200);
    expect(bank.open()).toBe(1);
    expect(lines()).toEqual([line]);
    bank.behave(reply(200, '{}'));
    for (const socket of held) socket.write(answer(200, '{}'));
    // A mutation runs until it ends, including the reads of its payload.
    await expect.poll(lines).toEqual([line, inPayload]);
    expect(server.bankql.log.some((text) => text.includes('"status":200'))).toBe(true);
    if (field === pay)
      await expect.poll(() => server.bankql.audit.map(({ state }) => state)).toEqual(['PENDING', 'DONE']);
  });
});

describe('while the bank is away', () => {
  const noticed = z.object({
    data: z.unknown(),
    errors: z.array(z.object({ extensions: z.object({ code: z.string() }) })).optional(),
    extensions: z
      .object({ stale: z.array(z.object({ operation: z.string(), ageSeconds: z.number() })) })
      .optional(),
  });
  const ask = async (bankql: TestBankql, query: string) => {
    const response = await bankql.fetch(new Request('http://bankql.test/graphql', postOf({ query })));
    return noticed.parse(await response.json());
  };
  const query = '{ bank { branches { totalCount } } }';

  test('what is a caller’s own fails, beside what is public', async () => {
    bank.behave(byLine(bank, { branches, customers: customer }));
    const both = '{ bank { customer(customerId: "c") { email } branches { totalCount } } }';
    const bankql = await bankqlWith({ bankOptions: { publicCacheTtlMs: 1 } });
    await ask(bankql, both);
    letPass(5);
    bank.behave(reply(503, '{}'));
    const result = await ask(bankql, both);
    expect(result.data).toEqual({ bank: { customer: null, branches: { totalCount: 1 } } });
    expect(result.errors?.map(({ extensions }) => extensions.code)).toEqual(['BANK_UNAVAILABLE']);
    expect(result.extensions?.stale).toHaveLength(1);
  });

  test('a mutation gets no cached data', async () => {
    bank.behave(byLine(bank, { branches, customers: reply(200, '{"bank_id":["BANK"]}') }));
    const bankql = await bankqlWith({ bankOptions: { publicCacheTtlMs: 1 } });
    await ask(bankql, query);
    letPass(5);
    bank.behave(byLine(bank, { branches: reply(503, '{}'), customers: reply(200, '{"bank_id":["BANK"]}') }));
    const result = await ask(
      bankql,
      `mutation { ${putCustomer} { customer { banks { branches { totalCount } } } } }`,
    );
    expect(result.data).toEqual({ putCustomer: { customer: { banks: [{ branches: null }] } } });
    expect(result.extensions).toBeUndefined();
  });
});
