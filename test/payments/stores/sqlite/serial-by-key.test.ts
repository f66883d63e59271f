import { expect, test } from 'vitest';
import { createSerialByKey } from '../../../../src/payments/stores/sqlite/serial-by-key.ts';

test('runs one piece of work of a key at a time, in order, also after a failure, and other keys beside it', async () => {
  const inTurn = createSerialByKey();
  const log: string[] = [];
  const work = (name: string) => async () => {
    log.push(`${name} begins`);
    await new Promise((resolve) => setImmediate(resolve));
    log.push(`${name} ends`);
    if (name === 'a1') throw new Error('a1 failed');
    return name;
  };
  const results = await Promise.allSettled([
    inTurn('a', work('a1')),
    inTurn('a', work('a2')),
    inTurn('b', work('b1')),
    inTurn('a', work('a3')),
  ]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'fulfilled']);
  expect(log.filter((line) => line.startsWith('a'))).toEqual([
    'a1 begins',
    'a1 ends',
    'a2 begins',
    'a2 ends',
    'a3 begins',
    'a3 ends',
  ]);
  expect(log.indexOf('b1 begins')).toBeLessThan(log.indexOf('a1 ends'));
  expect(await inTurn('a', work('a4'))).toBe('a4');
});
