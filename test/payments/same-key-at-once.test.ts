import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { withLimits } from '../support/limits.ts';
import { accept, hold, type PaymentBank, startPaymentBank } from '../support/payment-bank.ts';
import { pay, type Told, transfer } from '../support/payment-client.ts';
import { type State, sharedStates } from '../support/payment-states.ts';
import { type BankqlProcess, startProcess } from '../support/process.ts';

/** Two processes of bankql with one store, and a bank that counts. */
describe.each(sharedStates)('two replicas that share $name', ({ start }) => {
  let bank: PaymentBank;
  let state: State;
  let replicas: readonly [BankqlProcess, BankqlProcess];
  const made = new AsyncDisposableStack();
  afterAll(() => made.disposeAsync());
  beforeAll(async () => {
    bank = made.use(await startPaymentBank());
    state = made.use(await start());
    // With the usual limits, the callers of one address could not have 200 requests in progress.
    const bounds = withLimits({ requests: 1000, requestsPerCaller: 200 });
    const environment = { BANK_BASE_URL: bank.url, STATE_URL: state.url, ...bounds };
    const [one, other] = await Promise.all([startProcess(environment), startProcess(environment)]);
    replicas = [made.use(one), made.use(other)];
  });

  test('200 calls at once with one key send one request', async () => {
    const key = 'at-once';
    // The bank answers after one of the callers has got IDEMPOTENCY_IN_PROGRESS.
    const { answer } = hold(bank);
    const told = await Promise.all(
      Array.from({ length: 200 }, async (_, n) => {
        const each = await pay(replicas[n % 2 === 0 ? 0 : 1].url, transfer(key));
        if (each.code === 'IDEMPOTENCY_IN_PROGRESS') answer();
        return each;
      }),
    );
    expect(bank.of(key)).toHaveLength(1);
    const trackId = bank.of(key)[0]?.trackId;
    const done = told.filter(({ code }) => code === 'DONE');
    expect(done.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(new Set(told.map((each) => each.code))).toEqual(new Set(['DONE', 'IDEMPOTENCY_IN_PROGRESS']));
    expect(new Set(told.map((each) => each.trackId))).toEqual(new Set([trackId]));
    expect(new Set(done.map((each) => each.transactionId))).toEqual(new Set([`tx-${trackId}`]));
  });

  test('each caller has keys of their own, and asking again, here and there, gives the first answer and sends nothing', async () => {
    bank.decide = accept;
    const callers: readonly Record<string, string>[] = [
      {},
      { 'Auth-ID': 'somebody-else' },
      { 'Auth-Provider-Name': 'another-provider' },
    ];
    const told: Told[] = [];
    for (const headers of callers) told.push(await pay(replicas[0].url, transfer('callers'), { headers }));
    expect(told.map(({ code, replayed }) => ({ code, replayed }))).toEqual(
      callers.map(() => ({ code: 'DONE', replayed: false })),
    );
    expect(bank.of('callers').map(({ trackId }) => trackId)).toEqual(told.map(({ trackId }) => trackId));
    for (const [n, headers] of callers.entries())
      for (const replica of [1, 0, 1] as const)
        expect(await pay(replicas[replica].url, transfer('callers'), { headers })).toEqual({
          ...told[n],
          replayed: true,
        });
    expect(bank.of('callers')).toHaveLength(3);
  });
});
