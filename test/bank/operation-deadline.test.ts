import { getEventListeners } from 'node:events';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { TransportFailure } from '../../src/bank/http-message.ts';
import { OperationDeadline } from '../../src/bank/operation-deadline.ts';

afterEach(() => {
  vi.useRealTimers();
});

/** A waiter, and the results that it gets. */
function waiter({ deadline }: OperationDeadline) {
  const told: string[] = [];
  return { told, deadline, onEnd: ({ reason }: TransportFailure) => void told.push(reason) };
}

describe('however many wait', () => {
  test('there is one timer and one listener, from the first to the last of them', () => {
    vi.useFakeTimers();
    const { signal } = new AbortController();
    const patience = new OperationDeadline({
      deadline: performance.now() + 100,
      signal,
    });
    const held = () => [getEventListeners(signal, 'abort').length, vi.getTimerCount()];
    expect(held()).toEqual([0, 0]);
    const waiters = Array.from({ length: 23 }, () => waiter(patience));
    const waits = waiters.map((one) => {
      const wait = patience.addWaiter(one);
      expect(held()).toEqual([1, 1]);
      return wait;
    });
    for (const wait of waits) {
      expect(held()).toEqual([1, 1]);
      patience.removeWaiter(wait);
    }
    expect(held()).toEqual([0, 0]);
    patience.addWaiter(waiter(patience));
    expect(held()).toEqual([1, 1]);
  });
});

describe('who waits is told to give up, once', () => {
  test.each(['timeout', 'cancelled'])('%s; who was released is not', (reason) => {
    vi.useFakeTimers();
    const leaving = new AbortController();
    const { signal } = leaving;
    const patience = new OperationDeadline({
      deadline: performance.now() + 100,
      signal,
    });
    const [one, two, gone] = [waiter(patience), waiter(patience), waiter(patience)];
    const [wait] = [gone, one, two].map((each) => patience.addWaiter(each));
    if (wait !== undefined) patience.removeWaiter(wait);
    vi.advanceTimersByTime(99);
    expect([patience.ended(), one.told]).toEqual([null, []]);
    if (reason === 'cancelled') leaving.abort();
    vi.advanceTimersByTime(1);
    leaving.abort();
    expect([one.told, two.told, gone.told]).toEqual([[reason], [reason], []]);
    expect([getEventListeners(signal, 'abort').length, vi.getTimerCount()]).toEqual([0, 0]);
  });

  test('who comes later hears that it has ended', () => {
    vi.useFakeTimers();
    expect(new OperationDeadline({ deadline: performance.now() }).ended()).toMatchObject({
      reason: 'timeout',
      sent: false,
    });
    expect(new OperationDeadline({ signal: AbortSignal.abort() }).ended()).toMatchObject({
      reason: 'cancelled',
      sent: false,
    });
  });
});
