import { expect, test } from 'vitest';
import { RetryBudget, retryDelayMs } from '../../src/bank/retry.ts';

const spendAll = (budget: RetryBudget) => {
  let spent = 0;
  while (budget.spend()) spent++;
  return spent;
};

test('ten second attempts may come at once, and then a share of the calls', () => {
  const budget = new RetryBudget(0.25);
  expect(spendAll(budget)).toBe(10);
  for (let call = 0; call < 3; call++) budget.earn();
  expect(spendAll(budget)).toBe(0);
  budget.earn();
  expect(spendAll(budget)).toBe(1);
  for (let call = 0; call < 1000; call++) budget.earn();
  expect(spendAll(budget)).toBe(10);
});

test('a share of nothing allows none', () => {
  const budget = new RetryBudget(0);
  budget.earn();
  expect(spendAll(budget)).toBe(0);
});

test('a second attempt waits 20 to 120 ms', () => {
  const delays = Array.from({ length: 100 }, retryDelayMs);
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(20);
  expect(Math.max(...delays)).toBeLessThan(120);
});
