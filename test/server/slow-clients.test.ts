import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectTo } from '../support/requests.ts';
import { type ServerFixture, startServerFixture } from '../support/server-fixture.ts';

let fixture: ServerFixture;
beforeAll(async () => {
  fixture = await startServerFixture();
});
afterAll(() => fixture[Symbol.asyncDispose]());

const head = 'POST /graphql HTTP/1.1\r\nHost: b\r\nContent-Type: application/json\r\n';

/** Far above the 11 s of a server's timeouts; without them the client drips for ever. */
const cutOffMs = 25_000;

test.concurrent.each([
  ['headers', `${head}X-Slow: `],
  ['a body', `${head}Content-Length: 1000\r\n\r\n{"query":"`],
  [
    'a body for which it was refused already',
    `${head}Auth-ID: a\r\nAuth-ID: b\r\nContent-Length: 1000\r\n\r\n{`,
  ],
])(
  'a client that sends %s byte by byte is cut off',
  async (_what, start) => {
    const socket = connectTo(fixture.url);
    await once(socket, 'connect');
    const began = performance.now();
    socket.write(start);
    const drip = setInterval(() => socket.write('x'), 500);
    socket.resume();
    await once(socket, 'close');
    clearInterval(drip);
    expect(performance.now() - began).toBeLessThan(cutOffMs);
    expect(fixture.bank.calls).toEqual([]);
  },
  cutOffMs + 5000,
);
