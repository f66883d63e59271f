import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { startResponseTimeout } from '../../../src/payments/stores/response-timeout.ts';

/** Occupies the process, as a burst of work does. */
function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

test('a response that never comes times out after the time, not earlier', async () => {
  const start = performance.now();
  await new Promise<void>((resolve) => startResponseTimeout(60, resolve));
  expect(performance.now() - start).toBeGreaterThanOrEqual(58);
});

test.each([30, 5])('cleared after %i ms, it never calls', async (ms) => {
  let called = false;
  const timeout = startResponseTimeout(20, () => (called = true));
  await new Promise((resolve) => setTimeout(resolve, ms < 20 ? ms : 12));
  timeout.clear();
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(called).toBe(false);
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
      await new Promise((resolve) => setTimeout(resolve));
    }
    expect(await outcome).toBe('response');
  },
);
