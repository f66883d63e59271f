import { expect, test } from 'vitest';
import { takeAll } from '../../src/commands/command.ts';

test('takes every step in order, also those behind one that failed', async () => {
  const taken: number[] = [];
  const refused = new Error('refused');
  const stopped = takeAll([
    async () => taken.push(1),
    () => Promise.reject(refused),
    () => taken.push(2),
    () => {
      throw refused;
    },
    () => taken.push(3),
  ]);
  await expect(stopped).rejects.toMatchObject({ errors: [refused, refused] });
  expect(taken).toEqual([1, 2, 3]);
});
