import { expect, test } from 'vitest';
import { createMemoryDriver, createMemoryStore } from '../../../src/payments/stores/memory-store.ts';
import { describePaymentStore, pending, retentionMs } from './store-conformance.ts';

describePaymentStore('the memory store', async () => createMemoryStore({ retentionMs }));

test("a caller's search looks at no record of others", async () => {
  const driver = createMemoryDriver();
  let looks = 0;
  const row = (id: string, caller: string) => ({
    id,
    version: 'first',
    created_at: 0,
    held: {
      awaited: true,
      get record() {
        looks++;
        return pending({ id, caller });
      },
    },
  });
  for (let n = 0; n < 100; n++) await driver.insertIfAbsent(row(`other-${n}`, `caller-${n % 10}`));
  await driver.insertIfAbsent(row('own', 'caller'));
  looks = 0;
  expect(await driver.search({ caller: 'caller', limit: 100 })).toMatchObject([{ id: 'own' }]);
  expect(looks).toBe(1);
  expect(await driver.compareAndSet('own', 'first', null)).toBe(true);
  expect(await driver.search({ caller: 'caller', limit: 100 })).toEqual([]);
});
