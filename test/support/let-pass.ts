import { onTestFinished } from 'vitest';
import { clock } from './monotonic-clock.ts';

let aheadMs = 0;

/** Sets the monotonic clock ahead until the test ends, instead of waiting. Timers that are already set do not change. */
export function letPass(ms: number): void {
  if (aheadMs === 0)
    onTestFinished(() => {
      aheadMs = 0;
      clock.now = clock.real;
    });
  aheadMs += ms;
  clock.now = () => clock.real() + aheadMs;
}
