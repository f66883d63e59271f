import { expect, test } from 'vitest';
import { createStoreClock } from '../../src/payments/store-clock.ts';

/** A process whose clock can be moved, and the answers of a server whose clock is an hour behind. */
function setUp() {
  const hour = 60 * 60_000;
  let time = Date.UTC(2026, 0, 15);
  const clock = createStoreClock(() => {}, { wallClock: () => time, monotonic: () => time });
  return {
    clock,
    hour,
    now: () => time,
    ask(tookMs: number) {
      const asked = clock.ask();
      const serverTime = time - hour;
      time += tookMs;
      clock.hear(asked, serverTime);
    },
  };
}

test('times are those of the server, as its answers say', () => {
  const { clock, hour, now, ask } = setUp();
  expect(clock.isMeasured).toBe(false);
  ask(5);
  expect(clock.isMeasured).toBe(true);
  expect(clock.toStore(now())).toBe(now() - hour - 5);
});

test('an answer that the process read late, because it was stopped, does not move times and end leases early', () => {
  const { clock, now, ask } = setUp();
  ask(30_000);
  expect([clock.isMeasured, clock.toStore(now())]).toEqual([false, now()]);
  ask(5);
  const right = clock.toStore(now()) - now();
  ask(30_000);
  expect(clock.toStore(now()) - now()).toBe(right);
});
