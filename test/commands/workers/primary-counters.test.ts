import { expect, test } from 'vitest';
import { askPrimaryToCount } from '../../../src/commands/workers/primary-counters.ts';
import { createRateLimiter } from '../../../src/server/rate-limit/rate-limiter.ts';

const who = { subscriptionKey: 'key', authProviderName: 'p', authId: 'a' };

test('a worker whose primary does not answer counts on its own', async () => {
  const limits = { perCaller: { calls: 2, seconds: 3600 }, perKey: null };
  const limiter = createRateLimiter(limits, askPrimaryToCount(1));
  const taken = await Promise.allSettled(Array.from({ length: 5 }, () => limiter.take(who, 'getBranches')));
  expect(taken.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
  expect(await limiter.secondsUntilNext(who)).toBeGreaterThan(0);
});
