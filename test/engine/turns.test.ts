import { getIntrospectionQuery } from 'graphql';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createBankClient } from '../../src/bank/client.ts';
import { MutationEffects, RequestContext } from '../../src/engine/context.ts';
import { processScheduler } from '../../src/executor/scheduler.ts';
import { createPaymentService } from '../../src/payments/service.ts';
import { createMemoryStore } from '../../src/payments/stores/memory-store.ts';
import { createBankqlYoga } from '../../src/server/yoga.ts';
import { filterInSteps } from '../../src/steps.ts';
import { bankDefaults, createTestHolder } from '../support/bankql.ts';

async function createFixture(onShed?: (why: string) => void) {
  const bank = createBankClient({ ...bankDefaults, baseUrl: 'http://bank.test' });
  const store = await createMemoryStore({ retentionMs: 1000 });
  const services = {
    bank,
    payments: createPaymentService({ bank, store, leaseMs: 1000, audit: () => {} }),
    defaults: { bankId: 'BANK', viewId: 'owner' },
    limits: { timeoutMs: 1000, restCalls: 50 },
    answerLimits: { values: 100_000, bytes: 16 * 1024 * 1024 },
  };
  const engine = createBankqlYoga({
    ...services,
    documentCacheBytes: 64 * 1024 * 1024,
    documentLimits: { tokens: 2000, depth: 15, aliases: 30, rootFields: 20, directives: 20, fields: 500 },
    introspection: true,
    unexpected: () => {},
    onShed,
  });
  return {
    services,
    engine,
    bank,
    credentials: { subscriptionKey: 'k', authProviderName: 'p', authId: 'a' },
  };
}

test('a query whose client has left ends in its next turn, though it reads nothing of the bank', async () => {
  const { engine, bank, credentials } = await createFixture();
  const ask = (signal: AbortSignal) =>
    engine.execute(
      { query: getIntrospectionQuery() },
      {
        credentials,
        signal: () => signal,
      },
    );
  expect((await ask(new AbortController().signal)).errors).toBeUndefined();
  expect(await ask(AbortSignal.abort())).toMatchObject({ data: null, errors: [{}] });
  await bank.close();
});

test('work on a long list ends if the client has left, but not in a mutation, which runs to its end', async () => {
  const { services, bank, credentials } = await createFixture();
  const request = { credentials, signal: () => AbortSignal.abort() };
  const list = Array.from({ length: 5000 }, (_, n) => n);
  const search = (effects: MutationEffects | null) =>
    new RequestContext(services, request, effects, null, { turns: null }).lists.once(list, 'even', () =>
      filterInSteps(list, (n) => n % 2 === 0),
    );
  await expect(search(null)).rejects.toThrow('The client has left.');
  expect(await search(new MutationEffects())).toHaveLength(2500);
  await bank.close();
});

test('each REST call of an operation takes a turn of its caller', async () => {
  const { engine, bank, credentials } = await createFixture();
  const holder = createTestHolder();
  let owed = 0;
  let whole = 0;
  Object.defineProperty(holder.caller, 'owed', {
    get: () => owed,
    set: (turns: number) => {
      // The time that the operation took is no whole turn.
      if (turns === owed + 1) whole++;
      owed = turns;
    },
  });
  const calls = async (query: string) => {
    whole = 0;
    await engine.execute({ query }, { credentials, holder });
    return whole;
  };
  expect(await calls('{ __typename }')).toBe(0);
  // The bank does not answer: calls are made all the same.
  const customers =
    '{ bank { a: customer(customerId: "A") { email } b: customer(customerId: "B") { email } } }';
  expect(await calls(customers)).toBe(2);
  const turn = holder.caller.beginnings;
  // They are charged when the next one begins, which takes a turn itself.
  expect(await calls('{ __typename }')).toBe(0);
  expect(holder.caller.beginnings).toBeGreaterThanOrEqual(turn + 3);
  await bank.close();
});

test('an operation that has waited too long for connections is refused as a whole, before it makes a call', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const shed: string[] = [];
  const { engine, bank, credentials } = await createFixture((why) => shed.push(why));
  const read = vi.spyOn(bank, 'read');
  const holder = createTestHolder();
  const query = '{ bank { customer(customerId: "A") { email } } }';
  // More than any other test has taken of the turns of this process.
  Object.assign(holder.caller, { owed: 1e9 });
  processScheduler.onCrowded({ isWaiting: (caller) => caller === holder.caller.name });
  onTestFinished(() => processScheduler.onCrowded(null));
  // Otherwise the caller is the first of this iteration, which does not wait.
  void processScheduler.begin(createTestHolder().caller, () => {});
  const asked = [engine.execute({ query }, { credentials, holder })];
  await Promise.resolve();
  vi.advanceTimersByTime(1000);
  for (const answer of asked)
    expect(await answer).toEqual({
      errors: [
        expect.objectContaining({
          message: expect.stringMatching(/^bankql has too much to do\. bankql did nothing for this request;/),
          extensions: {
            code: 'OVERLOADED',
            retryable: true,
            retryAfter: 1,
            http: { status: 503, headers: { 'Retry-After': '1' } },
          },
        }),
      ],
    });
  expect(read).not.toHaveBeenCalled();
  expect(shed).toEqual(['connections']);
  await bank.close();
});
