import { onTestFinished, vi } from 'vitest';

const realNow = performance.now.bind(performance);
let aheadMs = 0;

function replaceClock(): void {
  if (vi.isMockFunction(performance.now)) return;
  // Test files share this module, so a hook at its top would apply only to the first file.
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => realNow() + aheadMs);
  onTestFinished(() => {
    aheadMs = 0;
    clock.mockRestore();
  });
}

/** Sets the monotonic clock ahead until the test ends, instead of waiting. Timers that are already set do not change. */
export function letPass(ms: number): void {
  replaceClock();
  aheadMs += ms;
}
