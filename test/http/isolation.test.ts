import { expect, test } from 'vitest';
import { createTestBankql } from '../support/bankql.ts';
import { startRecordingBank } from '../support/recording-bank.ts';
import { lateBy } from '../support/waits.ts';

/** Pseudo-random numbers from 0 to 1, the same in every run. */
function random(seed: number) {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

test('none of 50 callers with 8 requests each gets data of another caller, with shared reads and the cache', async () => {
  const next = random(1);
  await using bank = await startRecordingBank();
  bank.otherwise(async ({ headers, path }) => {
    if (next() < 0.3) await lateBy(next() * 20);
    // A private record contains its caller. A public record is requested without a caller.
    return {
      body: path.includes('customers')
        ? { email: `${headers['auth-id']}@${headers['auth-provider-name']}` }
        : { branches: [{ acceptsDeposits: true, name: headers['auth-id'] ?? 'nobody' }] },
    };
  });
  await using bankql = await createTestBankql({
    bankUrl: bank.url,
    // The deadlines are long: 200 requests wait for connections at once, and none may be refused on a slow
    // machine.
    bankOptions: { publicCacheTtlMs: 50, timeoutMs: 300_000 },
    limits: { timeoutMs: 240_000, restCalls: 100 },
  });
  const query =
    '{ bank { customer(customerId: "same") { email } again: customer(customerId: "same") { email } branches { nodes { name } } } }';

  /** Callers that differ only in one credential. */
  const callers = Array.from({ length: 50 }, (_, index) => ({
    'Ocp-Apim-Subscription-Key': `key-${index % 2}`,
    'Auth-Provider-Name': `provider-${index % 5}`,
    'Auth-ID': `caller-${Math.floor(index / 10)}${index % 10 < 5 ? '' : 'X'}`,
  }));
  expect(new Set(callers.map((caller) => JSON.stringify(caller))).size).toBe(50);
  const unexpected = new Set<string>();
  let answers = 0;
  await Promise.all(
    callers.map(async (caller) => {
      for (let round = 0; round < 2; round++) {
        const results = await Promise.all(
          Array.from({ length: 4 }, () => bankql.ask(query, undefined, caller)),
        );
        const email = `${caller['Auth-ID']}@${caller['Auth-Provider-Name']}`;
        const expected = {
          bank: { customer: { email }, again: { email }, branches: { nodes: [{ name: 'nobody' }] } },
        };
        for (const result of results) {
          answers++;
          if (JSON.stringify(result) !== JSON.stringify({ data: expected }))
            unexpected.add(JSON.stringify(result));
        }
      }
    }),
  );
  expect([answers, [...unexpected]]).toEqual([400, []]);
  // Some reads were shared. Otherwise, this test would prove nothing.
  expect(bank.calls.length).toBeLessThan(400);
});
