import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { TimerQueue } from '../../src/bank/deadline.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('however many there are, one timer waits for the first', () => {
  const deadlines = new TimerQueue();
  const passed: number[] = [];
  const now = performance.now();
  const set = [300, 100, 200, 100].map((ms) => deadlines.set(now + ms, { onTimeout: () => passed.push(ms) }));
  expect(vi.getTimerCount()).toBe(1);
  if (set[2] !== undefined) deadlines.clear(set[2]);
  vi.advanceTimersByTime(98);
  expect(passed).toEqual([]);
  vi.advanceTimersByTime(2);
  expect([passed, vi.getTimerCount()]).toEqual([[100, 100], 1]);
  vi.advanceTimersByTime(200);
  expect([passed, vi.getTimerCount()]).toEqual([[100, 100, 300], 0]);
});

test('each passes at its time, unless it was cleared; once', () => {
  const step = fc.record({
    ms: fc.integer({ min: 2, max: 500 }),
    clears: fc.option(fc.nat(20)),
    goesOn: fc.integer({ min: 0, max: 100 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const deadlines = new TimerQueue();
      const start = performance.now();
      const made = steps.map(({ ms, clears, goesOn }) => {
        const at = performance.now() + ms;
        const one = { at, passedAt: null as number | null, clearedAt: null as number | null };
        const deadline = deadlines.set(at, {
          onTimeout() {
            expect(one.passedAt).toBeNull();
            one.passedAt = performance.now();
          },
        });
        vi.advanceTimersByTime(goesOn);
        return { one, clear: () => deadlines.clear(deadline), clears };
      });
      for (const { clears } of made) {
        const chosen = clears === null ? undefined : made[clears];
        if (chosen === undefined) continue;
        chosen.one.clearedAt ??= performance.now();
        chosen.clear();
      }
      vi.advanceTimersByTime(600);
      for (const { one } of made) {
        if (one.clearedAt !== null && one.clearedAt < one.at - 1) expect(one.passedAt).toBeNull();
        else expect(Math.abs((one.passedAt ?? start) - one.at)).toBeLessThanOrEqual(1);
      }
      expect(vi.getTimerCount()).toBe(0);
    }),
    { seed: 20_251_120, numRuns: 300 },
  );
});

test('one that passes may set and clear others', () => {
  const deadlines = new TimerQueue();
  const passed: string[] = [];
  const now = performance.now();
  deadlines.set(now + 10, {
    onTimeout() {
      passed.push('first');
      deadlines.clear(second);
      deadlines.set(performance.now() + 5, { onTimeout: () => passed.push('third') });
    },
  });
  const second = deadlines.set(now + 10, { onTimeout: () => passed.push('second') });
  vi.advanceTimersByTime(20);
  expect(passed).toEqual(['first', 'third']);
});
