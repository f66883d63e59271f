import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Credentials } from '../../src/bank/credentials.ts';
import { authenticateByHeaders } from '../../src/http/auth/header-credentials.ts';
import type { Caller } from '../../src/load/callers.ts';
import { createRateLimiter, type RateLimiter } from '../../src/load/rate-limit.ts';
import { createTestBankql, credentials, type Result, type TestBankql } from '../support/bankql.ts';
import { createCallers } from '../support/callers.ts';
import { type RecordingBank, startRecordingBank } from '../support/recording-bank.ts';
import { postOf } from '../support/requests.ts';

const callerOf = createCallers();

/** Makes this number of calls, and returns how many are permitted. */
async function taken(limiter: RateLimiter, who: Caller, times: number): Promise<number> {
  const waits = await Promise.all(Array.from({ length: times }, () => limiter.take(who)));
  return waits.filter((seconds) => seconds === 0).length;
}

describe('a budget', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  test('is spent to the last call, and whole again when its time is up; each refusal is counted', async () => {
    let refusals = 0;
    const limiter = createRateLimiter({ calls: 5, seconds: 60 }, { onRefusal: () => void refusals++ });
    expect(await taken(limiter, callerOf('a'), 4)).toBe(4);
    vi.advanceTimersByTime(20_500);
    expect(await taken(limiter, callerOf('a'), 3)).toBe(1);
    expect(await limiter.take(callerOf('a'))).toBe(40);
    vi.advanceTimersByTime(39_499);
    expect(await limiter.take(callerOf('a'))).toBe(1);
    expect(refusals).toBe(4);
    vi.advanceTimersByTime(2);
    expect(await taken(limiter, callerOf('a'), 9)).toBe(5);
  });

  test('belongs to one caller: to a proven name whatever key it shows, and to the address of callers without credentials', async () => {
    const limiter = createRateLimiter({ calls: 2, seconds: 60 });
    const identified = (areProven: boolean, peer: string, headers: Readonly<Record<string, string>>) => {
      const request = { url: '/graphql', rawHeaders: Object.entries(headers).flat() };
      const { identity } = authenticateByHeaders(null, areProven)(request, peer) as Credentials;
      return callerOf(identity?.name ?? '', identity?.group);
    };
    const sent = { 'Auth-Provider-Name': 'provider', 'Auth-ID': 'a', 'Ocp-Apim-Subscription-Key': 'key' };
    const changes = [{}, { 'Auth-ID': 'A' }, { 'Ocp-Apim-Subscription-Key': 'another key' }];
    for (const change of changes)
      expect(await taken(limiter, identified(false, 'peer', { ...sent, ...change }), 3)).toBe(2);
    expect(await taken(limiter, identified(true, 'proxy', sent), 2)).toBe(2);
    expect(await taken(limiter, identified(true, 'proxy', { ...sent, ...changes[2] }), 2)).toBe(0);
    expect(await taken(limiter, identified(false, 'peer 192.0.2.1', {}), 3)).toBe(2);
    expect(await taken(limiter, identified(false, 'peer 192.0.2.2', {}), 3)).toBe(2);
  });
});

test('whoever makes up names has neither more memory nor the count of a caller that goes on calling', async () => {
  const maxCallers = 100;
  const limiter = createRateLimiter({ calls: 30, seconds: 60 }, { maxCallers });
  await taken(limiter, callerOf('busy'), 10);
  for (let name = 0; name < 10 * maxCallers; name++) {
    await limiter.take(callerOf(`made up ${name}`));
    if (name % (maxCallers / 2) === 0) await taken(limiter, callerOf('busy'), 1);
  }
  expect(await taken(limiter, callerOf('busy'), 30)).toBe(0);
  // The least recently used counters are dropped.
  expect(await taken(limiter, callerOf('made up 0'), 40)).toBe(30);
});

describe('in front of a bank', () => {
  let bank: RecordingBank;
  let bankql: TestBankql;
  beforeEach(async () => {
    bank = (await startRecordingBank()).otherwise({ body: { branches: [], id: 'T1' } });
  });
  afterEach(async () => {
    await bankql[Symbol.asyncDispose]();
    await bank.close();
  });
  const start = async (limits: { calls: number; seconds: number }, options = {}) => {
    bankql = await createTestBankql({
      bankUrl: bank.url,
      rateLimiter: createRateLimiter(limits),
      ...options,
    });
  };

  const post = (query: string, headers: Record<string, string> = credentials) =>
    bankql.fetch(new Request('http://bankql.test/graphql', postOf({ query }, headers)));
  const codesOf = ({ errors = [] }: Result<unknown>) => errors.map(({ extensions }) => extensions.code);
  const branchesOf = (...banks: string[]) =>
    `{ ${banks.map((id) => `${id}: bank(bankId: "${id}") { branches { totalCount } }`).join(' ')} }`;
  const pay = (key: string, more = '') =>
    `mutation { makeTransaction(input: { accountId: "a", to: { accountId: "b" }, value: { amount: "1" }, idempotencyKey: "${key}" }) { replayed ${more} } }`;

  test('what is over is refused at its field with nothing sent; the rest stands', async () => {
    await start({ calls: 3, seconds: 60 });
    const result = await bankql.ask(branchesOf('A', 'B', 'C', 'D', 'E'));
    expect(bank.calls).toHaveLength(3);
    expect(result.data).toMatchObject({ A: { branches: { totalCount: 0 } }, E: { branches: null } });
    expect(result.errors).toEqual(
      ['D', 'E'].map((id) =>
        expect.objectContaining({
          message: 'Your REST calls are used up for now; this call was not made.',
          path: [id, 'branches'],
          extensions: {
            code: 'RATE_LIMITED',
            operation: 'getBranches',
            retryAfter: 60,
            retryable: true,
          },
        }),
      ),
    );
  });

  test('who has none left gets what costs none, such as what became of a payment; another calls', async () => {
    await start({ calls: 1, seconds: 60 });
    expect((await bankql.ask(pay('k'))).errors).toBeUndefined();
    expect(codesOf(await bankql.ask(branchesOf('A')))).toEqual(['RATE_LIMITED']);
    expect(await bankql.ask('{ payment(idempotencyKey: "k") { state } }')).toEqual({
      data: { payment: { state: 'DONE' } },
    });
    expect((await bankql.ask(pay('k'))).data).toMatchObject({ makeTransaction: { replayed: true } });
    expect(codesOf(await bankql.ask(branchesOf('A'), {}, { ...credentials, 'Auth-ID': 'another' }))).toEqual(
      [],
    );
    expect(bank.calls.map(({ method }) => method)).toEqual(['POST', 'GET']);
  });

  test('what costs no REST call is free', async () => {
    await start({ calls: 1, seconds: 60 });
    for (const query of [
      '{ __typename }',
      '{ __schema { queryType { name } } }',
      '{ bank { bankId } }',
      '{ payment(idempotencyKey: "k") { state } }',
      '{ unknown }',
      '{ bank(bankId: "..") { branches { totalCount } } }',
    ])
      expect(codesOf(await bankql.ask(query))).not.toContain('RATE_LIMITED');
    // A call that is not made does not count: above, an invalid id prevents the call, and here missing credentials.
    const { 'Ocp-Apim-Subscription-Key': key } = credentials;
    const without = { 'Ocp-Apim-Subscription-Key': key };
    for (let times = 0; times < 3; times++)
      expect(await (await post('{ bank { messages { totalCount } } }', without)).text()).toContain(
        'MISSING_CREDENTIALS',
      );
    expect((await bankql.ask(branchesOf('A'))).errors).toBeUndefined();
    expect(bank.calls).toHaveLength(1);
  });

  test('one operation asks for a record once, and pays once; writes and a read anew pay as well', async () => {
    await start({ calls: 3, seconds: 60 });
    await bankql.ask('{ a: bank { branches { totalCount } } b: bank { branches { totalCount } } }');
    expect(bank.calls).toHaveLength(1);
    const put = 'mutation { putProduct(input: { product: {} }) { trackId } }';
    await bankql.ask(put);
    await bankql.ask(put);
    expect(bank.calls).toHaveLength(3);
    expect(codesOf(await bankql.ask(put))).toEqual(['RATE_LIMITED']);
    expect(bank.calls).toHaveLength(3);
  });

  describe('payments', () => {
    test('one that has begun is not held up: what is read after it may be, and its end is told', async () => {
      await start({ calls: 1, seconds: 60 });
      const result = await bankql.ask(pay('k', 'payment { trackId account { label } }'));
      expect(result.data).toMatchObject({
        makeTransaction: { replayed: false, payment: { trackId: expect.any(String) } },
      });
      expect(result.errors?.map(({ extensions }) => extensions.code)).toEqual(['RATE_LIMITED']);
      expect(bank.calls.map(({ method }) => method)).toEqual(['POST']);
    });

    test('one beyond the budget does not begin: nothing is sent or kept, and its key is free', async () => {
      await start({ calls: 1, seconds: 1 });
      const result = await bankql.ask(
        `mutation { putProduct(input: { product: {} }) { trackId } ${pay('k').slice('mutation { '.length)}`,
      );
      expect(result.data).toMatchObject({ makeTransaction: null });
      expect(result.errors?.map(({ extensions }) => extensions)).toEqual([
        {
          code: 'RATE_LIMITED',
          operation: 'postMakeTransaction',
          retryAfter: 1,
          retryable: true,
        },
      ]);
      expect(bank.calls.map(({ method }) => method)).toEqual(['PUT']);
      expect(bankql.audit).toEqual([]);
      await expect.poll(async () => codesOf(await bankql.ask(pay('k')))).toEqual([]);
      expect(bank.calls.map(({ method }) => method)).toEqual(['PUT', 'POST']);
    });

    test('the answer to an earlier one with the same key is free', async () => {
      await start({ calls: 3, seconds: 60 });
      await bankql.ask(pay('k'));
      for (let times = 0; times < 5; times++)
        expect((await bankql.ask(pay('k'))).data).toMatchObject({ makeTransaction: { replayed: true } });
      await bankql.ask(pay('k2'));
      await bankql.ask(pay('k3'));
      expect(codesOf(await bankql.ask(pay('k4')))).toEqual(['RATE_LIMITED']);
      expect(bank.calls).toHaveLength(3);
    });

    test('an invalid one costs nothing', async () => {
      await start({ calls: 1, seconds: 60 });
      const wrong = [
        pay(''),
        pay('k').replace('accountId: "a"', 'accountId: ".."'),
        pay('k').replace('amount: "1"', 'amount: "0"'),
      ];
      for (const query of wrong)
        expect((await bankql.ask(query)).errors?.map(({ extensions }) => extensions.code)).toEqual([
          'BAD_USER_INPUT',
        ]);
      expect((await bankql.ask(pay('k'))).errors).toBeUndefined();
      const { 'Ocp-Apim-Subscription-Key': _key, ...without } = credentials;
      for (let times = 0; times < 3; times++)
        expect(await (await post(pay('k2'), without)).text()).toContain('MISSING_CREDENTIALS');
    });
  });
});
