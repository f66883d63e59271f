import { onTestFinished, vi } from 'vitest';

const realNow = performance.now.bind(performance);
let aheadMs = 0;

function replaceClock(): void {
  if (vi.isMockFunction(performance.now)) return;
  // Files share this module: a hook at its top would be one of the first file alone.
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => realNow() + aheadMs);
  onTestFinished(() => {
    aheadMs = 0;
    clock.mockRestore();
  });
}

/** Sets the monotonic clock ahead until the test ends, in place of waiting. Timers that have been set are not moved. */
export function letPass(ms: number): void {
  replaceClock();
  aheadMs += ms;
}
