import { afterEach, vi } from 'vitest';

const realNow = performance.now.bind(performance);
let aheadMs = 0;

afterEach(() => {
  if (aheadMs === 0) return;
  aheadMs = 0;
  vi.restoreAllMocks();
});

/** Sets the monotonic clock ahead until the test ends, in place of waiting. Timers that have been set are not moved. */
export function letPass(ms: number): void {
  aheadMs += ms;
  vi.spyOn(performance, 'now').mockImplementation(() => realNow() + aheadMs);
}
