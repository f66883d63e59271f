import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { startResponseTimeout } from '../../../src/payments/stores/response-timeout.ts';
import { turns } from '../../support/waits.ts';

/** Occupies the process, as a burst of work does. */
function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

describe('by its own clock', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('a response that never comes times out after the time, not earlier', async () => {
    const onTimeout = vi.fn();
    startResponseTimeout(60, onTimeout);
    vi.advanceTimersByTime(59);
    await turns();
    expect(onTimeout).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    await turns();
    expect(onTimeout).toHaveBeenCalledTimes(1);
  });

  test.each([5, 19, 20])('cleared after %i of 20 ms, it never calls', async (ms) => {
    const onTimeout = vi.fn();
    const timeout = startResponseTimeout(20, onTimeout);
    vi.advanceTimersByTime(ms);
    timeout.clear();
    vi.advanceTimersByTime(60);
    await turns();
    expect(onTimeout).not.toHaveBeenCalled();
  });
});

test.each([
  ['longer than the timeout', [200]],
  ['again and again', [60, 60, 60, 60]],
])(
  'a response that arrived while the process was busy (%s) is read before it counts as missing',
  async (_, blocks) => {
    await using made = new AsyncDisposableStack();
    const server = createServer((socket) => socket.on('data', () => socket.write('pong')));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    made.defer(() => new Promise<void>((resolve) => void server.close(() => resolve())));
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const socket = connect(address.port, '127.0.0.1');
    made.defer(() => void socket.destroy());
    await once(socket, 'connect');
    const outcome = new Promise<string>((resolve) => {
      const timeout = startResponseTimeout(80, () => resolve('timeout'));
      socket.once('data', () => {
        timeout.clear();
        resolve('response');
      });
    });
    socket.write('ping');
    for (const ms of blocks) {
      block(ms);
      await turns(1);
    }
    expect(await outcome).toBe('response');
  },
);
