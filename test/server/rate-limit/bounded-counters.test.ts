import { expect, test } from 'vitest';
import { createRateLimiter } from '../../../src/server/rate-limit/rate-limiter.ts';
import { keptMegabytes } from '../../support/memory.ts';

test('whoever makes up 100,000 callers costs less than 35 MB, and is not in the way of others', async () => {
  const limiter = createRateLimiter({ calls: 300, seconds: 60 });
  const take = (authId: string) =>
    limiter.take({ subscriptionKey: 'key', authProviderName: 'p', authId }, 'getBranches');
  await take('first');
  const before = await keptMegabytes();
  for (let name = 0; name < 100_000; name++) await take(`made up ${name}`);
  expect((await keptMegabytes()) - before).toBeLessThan(35);
  await take('late');
});
