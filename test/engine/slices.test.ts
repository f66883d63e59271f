import { getIntrospectionQuery } from 'graphql';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createBankClient } from '../../src/bank/client.ts';
import { createPaymentService } from '../../src/payments/service.ts';
import { createMemoryStore } from '../../src/payments/stores/memory-store.ts';
import { createBankqlYoga } from '../../src/server/yoga.ts';
import { slices } from '../../src/slices.ts';
import { bankDefaults, createTestHolder } from '../support/bankql.ts';

async function createFixture() {
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
  });
  return {
    engine,
    bank,
    credentials: { subscriptionKey: 'k', authProviderName: 'p', authId: 'a' },
  };
}

test('a query whose client has left ends when it waits for time, though it reads nothing of the bank', async () => {
  const { engine, bank, credentials } = await createFixture();
  const ask = async (signal: AbortSignal) => {
    const asked = engine.execute({ query: getIntrospectionQuery() }, { credentials, signal: () => signal });
    // It has begun, and goes on only when there is time.
    while (slices.hasTime);
    return asked;
  };
  const long = vi.spyOn(slices, 'hasTime', 'get').mockReturnValueOnce(true).mockReturnValueOnce(false);
  onTestFinished(() => long.mockRestore());
  expect((await ask(new AbortController().signal)).errors).toBeUndefined();
  long.mockReturnValueOnce(true).mockReturnValueOnce(false);
  expect(await ask(AbortSignal.abort())).toMatchObject({ data: null, errors: [{}] });
  await bank.close();
});

test('an operation waits while the time of an iteration is used up, and begins in the order of the callers', async () => {
  const { engine, bank, credentials } = await createFixture();
  const read = vi.spyOn(bank, 'read').mockRejectedValue(new Error('no bank'));
  const ask = (name: string) =>
    engine.execute(
      { query: `{ bank { customer(customerId: "${name}") { email } } }` },
      { credentials: { ...credentials, identity: { name, group: name } } },
    );
  while (slices.hasTime);
  const asked = ['greedy', 'greedy', 'greedy', 'quiet'].map(ask);
  await Promise.resolve();
  expect(read).not.toHaveBeenCalled();
  await Promise.all(asked);
  const order = read.mock.calls.map(([, { ids }]) => Reflect.get(Object(ids), 'customerId'));
  expect(order.slice(0, 2)).toEqual(['greedy', 'quiet']);
  expect(order).toHaveLength(4);
  await bank.close();
});

test('an operation whose client leaves before it begins makes no call', async () => {
  const { engine, bank, credentials } = await createFixture();
  const read = vi.spyOn(bank, 'read');
  const holder = createTestHolder();
  while (slices.hasTime);
  const query = '{ bank { customer(customerId: "A") { email } } }';
  const asked = engine.execute({ query }, { credentials, holder });
  holder.isAbandoned = true;
  expect(await asked).toEqual({ data: null });
  expect(read).not.toHaveBeenCalled();
  await bank.close();
});
