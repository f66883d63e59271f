import { expect, test } from 'vitest';
import type { BankClient } from '../../src/bank/client.ts';
import { operations } from '../../src/contract/operations.ts';
import { BankqlError } from '../../src/errors.ts';
import { createTestClient, readFrom } from '../support/bank-client.ts';
import { answer, startFaultyBank } from '../support/faulty-bank.ts';
import { keptMegabytes } from '../support/memory.ts';

/** How much more may be kept after 6,500 more paths, in megabytes, once the cache is full. */
const mostGrowth = 1.5;

/** A bank that remembers nothing: its memory must not be what is measured. */
async function startForgetfulBank() {
  let arrived = 0;
  const bank = await startFaultyBank();
  bank.behave((socket) => {
    const [, target = ''] = bank.requests.pop()?.split(' ', 2) ?? [];
    const id = target.slice(target.lastIndexOf('/') + 1);
    arrived++;
    if (id.startsWith('gone')) socket.write(answer(404, '{"message":"gone"}'));
    else socket.write(answer(200, JSON.stringify({ id, bank_id: null })));
  });
  return { url: bank.url, arrived: () => arrived, [Symbol.asyncDispose]: () => bank.close() };
}

const isGone = (number: number) => number % 16 === 0;

/**
 * Reads `count` paths that nobody read before, `from` on, each as another caller: public records mostly, private ones,
 * and some that are not there. Errors: where one is answered otherwise than the bank answered.
 */
async function readNewPaths(client: BankClient, from: number, count: number): Promise<void> {
  const end = from + count;
  let next = from;
  const { getCustomer, getProduct } = operations;
  const read = async () => {
    while (next < end) {
      const number = next++;
      const credentials = { subscriptionKey: 'key', authProviderName: 'p', authId: `caller-${number}` };
      const id = `${isGone(number) ? 'gone' : 'kept'}-${number}`;
      const answered = await (number % 4 === 1
        ? readFrom(client, getCustomer, { ids: { bankId: 'BANK', customerId: id }, credentials })
        : readFrom(client, getProduct, { ids: { bankId: 'BANK', productId: id }, credentials })
      ).then(({ answer }) => Reflect.get(Object(answer), 'id'), codeOf);
      if (answered !== (isGone(number) ? 'NOT_FOUND' : id)) throw new Error(`${id} is answered ${answered}`);
    }
  };
  await Promise.all(Array.from({ length: 32 }, read));
}

const codeOf = (error: unknown) => (error instanceof BankqlError ? error.extensions.code : error);

test('14,000 paths, each of another caller, leave no more than the cache may hold', async () => {
  await using bank = await startForgetfulBank();
  // No call may be refused because the machine is slow.
  const patient = { timeoutMs: 120_000, waitMs: 120_000, slowCallMs: 120_000, breakerThreshold: 0 };
  const cacheBytes = 2 * 1024 * 1024;
  await using client = createTestClient(bank.url, {
    publicCacheTtlMs: 600_000,
    publicCacheBytes: cacheBytes,
    connections: 32,
    ...patient,
  });
  await readNewPaths(client, 0, 1000);
  const empty = await keptMegabytes();
  await readNewPaths(client, 1000, 6_500);
  const full = await keptMegabytes();
  await readNewPaths(client, 7_500, 6_500);
  expect((await keptMegabytes()) - full).toBeLessThan(mostGrowth);
  expect(full - empty).toBeLessThan(3);
  expect(bank.arrived()).toBe(14_000);
});
