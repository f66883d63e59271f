import { setImmediate as iteration } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createTestBankql, credentials } from '../support/bankql.ts';
import { startRecordingBank } from '../support/recording-bank.ts';
import { postOf } from '../support/requests.ts';
import { type ServerFixture, startServerFixture } from '../support/server-fixture.ts';
import { lateBy } from '../support/waits.ts';

/** Pseudo-random numbers from 0 to 1, the same in every run. */
function random(seed: number) {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

test('of 50 callers with 80 requests each, sharing and caching on, none is told of another', async () => {
  const next = random(1);
  await using bank = await startRecordingBank();
  bank.otherwise(async ({ headers, path }) => {
    if (next() < 0.3) await lateBy(next() * 20);
    // What is private says whose it is; what is public is asked for by nobody.
    return {
      body: path.includes('customers')
        ? { email: `${headers['auth-id']}@${headers['auth-provider-name']}` }
        : { branches: [{ acceptsDeposits: true, name: headers['auth-id'] ?? 'nobody' }] },
    };
  });
  await using bankql = await createTestBankql({
    bankUrl: bank.url,
    // A slow machine refuses nobody: 500 requests wait for connections at once.
    bankOptions: { publicCacheTtlMs: 50, waitMs: 240_000, timeoutMs: 300_000 },
    limits: { timeoutMs: 240_000, restCalls: 100 },
  });
  const query =
    '{ bank { customer(customerId: "same") { email } again: customer(customerId: "same") { email } branches { nodes { name } } } }';

  /** Callers that differ in one credential only. */
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
      for (let round = 0; round < 8; round++) {
        const results = await Promise.all(
          Array.from({ length: 10 }, () => bankql.ask(query, undefined, caller)),
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
  expect([answers, [...unexpected]]).toEqual([4000, []]);
  // It was shared, or the test would show nothing.
  expect(bank.calls.length).toBeLessThan(4000);
});

const inFlight = ({ server }: ServerFixture) => server.held.requests;

test('12 logins with 20 REST calls each at a time delay somebody’s single read by less than two calls of each', async () => {
  const patience = 540_000;
  await using fixture = await startServerFixture({
    bankOptions: { connections: 8, waitMs: patience, timeoutMs: patience },
    limits: { restCalls: 50, timeoutMs: patience },
  });
  const { bank } = fixture;
  const unanswered: { readonly path: string; answer(): void }[] = [];
  let onArrival = () => {};
  bank.otherwise(
    ({ path }) =>
      new Promise((resolve) => {
        unanswered.push({ path, answer: () => resolve({ body: { email: 'e' } }) });
        onArrival();
      }),
  );
  /** A connection comes free, and goes to the next call. */
  const serveNext = () =>
    new Promise<void>((resolve) => {
      onArrival = resolve;
      unanswered.shift()?.answer();
    });
  const ask = async (caller: string, ids: readonly string[]) => {
    const fields = ids.map((id, n) => `c${n}: customer(customerId: "${id}") { email }`);
    const query = `{ bank { ${fields.join(' ')} } }`;
    const response = await fetch(fixture.url, postOf({ query }, { ...credentials, 'Auth-ID': caller }));
    return response.text();
  };
  const ids = Array.from({ length: 20 }, (_, n) => `${n}`);
  const attackers = Promise.all(Array.from({ length: 12 }, (_, n) => ask(`login-${n}`, ids)));
  await expect.poll(() => inFlight(fixture), { timeout: patience }).toBe(12);
  await expect.poll(() => unanswered.length, { timeout: patience }).toBe(3);
  const counts: number[] = [];
  for (let n = 0; n < 3; n++) {
    // Each of the others has its turn.
    for (let turn = 0; turn < 15; turn++) await serveNext();
    await expect.poll(() => unanswered.length, { timeout: patience }).toBe(3);
    const good = ask('good', [`mine-${n}`]);
    await expect.poll(() => inFlight(fixture), { timeout: patience }).toBe(13);
    let passed = 0;
    const own = () => unanswered.findIndex(({ path }) => path.includes(`mine-${n}`));
    for (; own() === -1; passed++) await serveNext();
    counts.push(passed);
    onArrival = () => {};
    unanswered.splice(own(), 1)[0]?.answer();
    expect(await good).toBe('{"data":{"bank":{"c0":{"email":"e"}}}}');
  }
  // One turn of each, and those that pass while its request is on its way to the gate: no second turn, of twenty.
  expect(Math.max(...counts)).toBeLessThan(2 * 12);
  let isOver = false;
  const answers = attackers.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    for (const call of unanswered.splice(0)) call.answer();
    await iteration();
  }
  // None of their calls is refused either, since each of their operations has begun.
  for (const answer of await answers) expect(answer).not.toContain('errors');
  expect(bank.calls).toHaveLength(12 * 20 + 3);
});
