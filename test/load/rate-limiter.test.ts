import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Caller, Credentials } from '../../src/bank/credentials.ts';
import { authenticateByHeaders } from '../../src/http/auth/header-credentials.ts';
import { createRateLimiter, type RateLimiter } from '../../src/load/rate-limiter.ts';
import type { RateLimit } from '../../src/load/rate-limits.ts';
import { createTestBankql, credentials, type TestBankql } from '../support/bankql.ts';
import { type RecordingBank, startRecordingBank } from '../support/recording-bank.ts';
import { postOf } from '../support/requests.ts';

const caller = (authId: string, subscriptionKey = 'key'): Credentials => ({
  subscriptionKey,
  authProviderName: 'provider',
  authId,
});
/** How many of so many calls are made. */
async function taken(limiter: RateLimiter, who: Credentials, times: number): Promise<number> {
  const ends = await Promise.allSettled(
    Array.from({ length: times }, () => limiter.take(who, 'getBranches')),
  );
  return ends.filter(({ status }) => status === 'fulfilled').length;
}

describe('a budget', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  test('is spent to the last call, and whole again when its time is up', async () => {
    const limiter = createRateLimiter({ calls: 5, seconds: 60 });
    expect(await limiter.secondsUntilNext(caller('a'))).toBe(0);
    expect(await taken(limiter, caller('a'), 4)).toBe(4);
    expect(await limiter.secondsUntilNext(caller('a'))).toBe(0);
    vi.advanceTimersByTime(20_500);
    expect(await taken(limiter, caller('a'), 3)).toBe(1);
    expect(await limiter.secondsUntilNext(caller('a'))).toBe(40);
    await expect(limiter.take(caller('a'), 'getBranches')).rejects.toMatchObject({
      code: 'RATE_LIMITED',
      extensions: { code: 'RATE_LIMITED', operation: 'getBranches', retryAfter: 40, retryable: true },
    });
    vi.advanceTimersByTime(39_499);
    expect(await taken(limiter, caller('a'), 1)).toBe(0);
    vi.advanceTimersByTime(2);
    expect(await limiter.secondsUntilNext(caller('a'))).toBe(0);
    expect(await taken(limiter, caller('a'), 9)).toBe(5);
  });

  test('belongs to a proven name whatever key it shows, and to the address of callers without credentials', async () => {
    const limiter = createRateLimiter({ calls: 2, seconds: 60 });
    const identified = (areProven: boolean, peer: string, headers: Readonly<Record<string, string>>) =>
      authenticateByHeaders(null, areProven)(
        { url: '/graphql', rawHeaders: Object.entries(headers).flat() },
        peer,
      ) as Caller;
    const proven = (key: string) =>
      identified(true, 'proxy', {
        'Ocp-Apim-Subscription-Key': key,
        'Auth-Provider-Name': 'provider',
        'Auth-ID': 'a',
      });
    expect(await taken(limiter, proven('key'), 2)).toBe(2);
    expect(await taken(limiter, proven('another key'), 2)).toBe(0);
    expect(await taken(limiter, identified(false, 'peer 192.0.2.1', {}), 3)).toBe(2);
    expect(await taken(limiter, identified(false, 'peer 192.0.2.2', {}), 3)).toBe(2);
  });

  test('belongs to one caller: a caller with one other credential has its own', async () => {
    const limiter = createRateLimiter({ calls: 2, seconds: 60 });
    for (const who of [
      caller('a'),
      caller('A'),
      caller('b'),
      caller('a', 'other key'),
      { ...caller('a'), authId: null },
    ])
      expect(await taken(limiter, who, 3)).toBe(2);
  });
});

test('whoever makes up names has neither more memory nor the count of a caller that goes on calling', async () => {
  const maxNames = 100;
  const limiter = createRateLimiter({ calls: 30, seconds: 60 }, { maxNames });
  await taken(limiter, caller('busy'), 10);
  for (let name = 0; name < 10 * maxNames; name++) {
    await limiter.take(caller(`made up ${name}`), 'getBranches');
    if (name % (maxNames / 2) === 0) await taken(limiter, caller('busy'), 1);
  }
  expect(await taken(limiter, caller('busy'), 30)).toBe(0);
  // Those that were not used for longest are forgotten.
  expect(await taken(limiter, caller('made up 0'), 40)).toBe(30);
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
  const start = async (limits: RateLimit, options = {}) => {
    bankql = await createTestBankql({
      bankUrl: bank.url,
      rateLimiter: createRateLimiter(limits),
      ...options,
    });
  };

  const post = (query: string, headers: Record<string, string> = credentials) =>
    bankql.fetch(new Request('http://bankql.test/graphql', postOf({ query }, headers)));
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

  test('who has none left is refused at once, with 429 and Retry-After; another is not', async () => {
    await start({ calls: 1, seconds: 60 });
    expect((await post(branchesOf('A'))).status).toBe(200);
    const refused = await post('{ this is not looked at');
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('60');
    expect(await refused.json()).toEqual({
      errors: [
        {
          message: 'Your REST calls are used up for now.',
          extensions: { code: 'RATE_LIMITED', retryable: true, retryAfter: 60 },
        },
      ],
    });
    expect((await post(branchesOf('A'), { ...credentials, 'Auth-ID': 'another' })).status).toBe(200);
    for (const path of ['health', 'ready'])
      expect(
        (await bankql.fetch(new Request(`http://bankql.test/${path}`, { headers: credentials }))).status,
      ).toBe(200);
    expect(bank.calls).toHaveLength(2);
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
      expect((await post(query)).status).not.toBe(429);
    // Neither do calls that are not made, for want of a credential or for an id that is none.
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
    expect((await post(put)).status).toBe(429);
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
      await expect.poll(async () => (await post(pay('k'))).status).toBe(200);
      expect(bank.calls.map(({ method }) => method)).toEqual(['PUT', 'POST']);
    });

    test('the answer to an earlier one with the same key is free', async () => {
      await start({ calls: 3, seconds: 60 });
      await bankql.ask(pay('k'));
      for (let times = 0; times < 5; times++)
        expect((await bankql.ask(pay('k'))).data).toMatchObject({ makeTransaction: { replayed: true } });
      await bankql.ask(pay('k2'));
      await bankql.ask(pay('k3'));
      expect((await post(pay('k4'))).status).toBe(429);
      expect(bank.calls).toHaveLength(3);
    });

    test('one that is wrong costs nothing', async () => {
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
