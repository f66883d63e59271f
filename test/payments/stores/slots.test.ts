import { expect, test } from 'vitest';
import { createSlots } from '../../../src/payments/stores/slots.ts';

test('runs as many at once as it has slots, the others in their order', async () => {
  const slots = createSlots(2);
  const started: number[] = [];
  const tasks = [0, 1, 2, 3].map(() => Promise.withResolvers<void>());
  const ends = tasks.map(({ promise }, n) =>
    slots.run(() => {
      started.push(n);
      return promise;
    }),
  );
  expect(started).toEqual([0, 1]);
  tasks[1]?.resolve();
  await ends[1];
  expect(started).toEqual([0, 1, 2]);
  for (const { resolve } of tasks) resolve();
  await Promise.all(ends);
  expect(started).toEqual([0, 1, 2, 3]);
});

test('a task that fails gives its slot back', async () => {
  const slots = createSlots(1);
  await expect(slots.run(() => Promise.reject(new Error('it failed')))).rejects.toThrow('it failed');
  expect(await slots.run(async () => 'the next one')).toBe('the next one');
});
