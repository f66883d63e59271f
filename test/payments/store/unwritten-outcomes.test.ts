import { expect, test } from 'vitest';
import { UnwrittenOutcomes } from '../../../src/payments/store/unwritten-outcomes.ts';

test('an outcome that one write has stored is not kept again if an earlier write of it fails later', async () => {
  const writes: PromiseWithResolvers<boolean>[] = [];
  const outcomes = new UnwrittenOutcomes(() => {
    const write = Promise.withResolvers<boolean>();
    writes.push(write);
    return write.promise;
  });
  const attempt = { id: 'payment', trackId: 'attempt', outcome: null };
  void outcomes.keep({ attempt, record: null, uncertainUntil: 0 });
  const earlier = outcomes.writeAll();
  const drained = outcomes.drain(60_000);
  expect(writes).toHaveLength(2);
  writes[1]?.resolve(true);
  await drained;
  writes[0]?.reject(new Error('the connection broke'));
  await earlier;
  expect(outcomes.attempts()).toEqual([]);
  outcomes.stop();
});
