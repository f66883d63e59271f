import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fuzzedRequest } from '../support/fuzzed-request.ts';
import { type ServerFixture, startServerFixture } from '../support/server-fixture.ts';

let fixture: ServerFixture;
beforeAll(async () => {
  fixture = await startServerFixture();
  fixture.bank.otherwise({ body: { branches: [], accounts: [], otherAccounts: [], messages: [] } });
});
afterAll(() => fixture[Symbol.asyncDispose]());

test('whatever is asked is answered: never 5xx, never a crash, never a changed prototype', async () => {
  const before = Object.getOwnPropertyNames(Object.prototype).sort();
  await fc.assert(
    fc.asyncProperty(fuzzedRequest, async ({ body, headers }) => {
      const answer = await fetch(fixture.url, { method: 'POST', headers, body });
      const text = await answer.text();
      expect(answer.status, `${body}\n${text}`).toBeLessThan(500);
      expect(text).not.toContain('INTERNAL');
    }),
    { seed: 20_261_120, numRuns: 250 },
  );
  expect(Object.getOwnPropertyNames(Object.prototype).sort()).toEqual(before);
  expect((await fetch(fixture.url.replace('/graphql', '/health'))).status).toBe(200);
});
