import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { credentials } from '../support/bankql.ts';
import { type ServerFixture, startServerFixture } from '../support/server-fixture.ts';

/** Answers that nobody reads: what they hold is bounded, in bytes and in time, and others are served all the same. */

const megabyte = 1024 * 1024;
const branch = { name: 'x'.repeat(1000), id: 'b' };
/** Ten megabytes: more than the operating system takes for a client. */
const aliases = Array.from({ length: 20 }, (_, index) => `b${index}: branches { nodes { name } }`);
const long = JSON.stringify({ query: `{ bank { ${aliases.join(' ')} } }` });
const short = JSON.stringify({ query: '{ bank { branches(first: 1) { totalCount } } }' });

const start = async (limits: { readonly maxUnreadBytes?: number; readonly writeDeadlineMs?: number }) => {
  const fixture = await startServerFixture(limits);
  fixture.bank.otherwise({ body: { branches: Array.from({ length: 500 }, () => branch) } });
  return fixture;
};

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

const headOf = (body: string, accept = '*/*') =>
  [
    'POST /graphql HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    `Accept: ${accept}`,
    `Ocp-Apim-Subscription-Key: ${credentials['Ocp-Apim-Subscription-Key']}`,
    `Content-Length: ${body.length}`,
    '\r\n',
  ].join('\r\n');

/** A client that asks and reads nothing. */
function askAndLookAway({ url }: ServerFixture, body = long, accept?: string): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').pause();
  socket.on('error', () => {});
  socket.write(headOf(body, accept) + body);
  sockets.push(socket);
  return socket;
}

const ask = async ({ url }: ServerFixture, body = short) => {
  const headers = { 'Content-Type': 'application/json', ...credentials };
  const response = await fetch(url, { method: 'POST', headers, body });
  return { response, text: await response.text() };
};

describe.each(['*/*', 'text/event-stream'])('answers for %s that nobody reads', (accept) => {
  test('are held up to a bound; beyond it requests are 503, and after the deadline all is let go of', async () => {
    await using fixture = await start({ maxUnreadBytes: 30 * megabyte, writeDeadlineMs: 2500 });
    let most = 0;
    for (let client = 0; client < 12; client++) {
      askAndLookAway(fixture, long, accept);
      await delay(50);
      most = Math.max(most, fixture.server.unreadBytes);
    }
    await expect.poll(() => fixture.server.unreadBytes).toBeGreaterThan(18 * megabyte);
    expect(most).toBeLessThanOrEqual(30 * megabyte);
    const felt = await ask(fixture);
    expect([200, 503]).toContain(felt.response.status);
    await expect.poll(() => fixture.server.unreadBytes, { timeout: 8000 }).toBe(0);
    await expect.poll(() => fixture.server.inFlight).toBe(0);
    expect((await ask(fixture)).text).toBe('{"data":{"bank":{"branches":{"totalCount":500}}}}');
  });
});

test('a request is 503 while the bound is reached, and an answer that has no more room is 503 too', async () => {
  await using fixture = await start({ maxUnreadBytes: 15 * megabyte });
  const socket = askAndLookAway(fixture);
  await expect.poll(() => fixture.server.unreadBytes).toBeGreaterThan(9 * megabyte);
  const noRoom = await ask(fixture, long);
  expect(noRoom.response.status).toBe(503);
  expect(noRoom.response.headers.get('retry-after')).toBe('1');
  expect(JSON.parse(noRoom.text).errors).toEqual([
    {
      message:
        'Too much of other answers waits to be read, and this one is long. What the request changed stands.',
      extensions: { code: 'OVERLOADED', retryable: true, retryAfter: 1 },
    },
  ]);
  // A short one is given all the same.
  expect((await ask(fixture)).response.status).toBe(200);
  socket.destroy();
  await expect.poll(() => fixture.server.unreadBytes).toBe(0);
  expect((await ask(fixture, long)).response.status).toBe(200);
});

test('a client that reads slowly, and in time, is told all', async () => {
  await using fixture = await start({ writeDeadlineMs: 4000 });
  const socket = askAndLookAway(fixture);
  let bytes = 0;
  for (const until = performance.now() + 2000; performance.now() < until; await delay(20))
    bytes += socket.read(socket.readableLength)?.length ?? 0;
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  await expect.poll(() => bytes, { timeout: 3000 }).toBeGreaterThan(10_000_000);
  await expect.poll(() => fixture.server.unreadBytes).toBe(0);
  expect(socket.destroyed).toBe(false);
});

test('of pipelined requests whose client leaves nothing stays behind', async () => {
  await using fixture = await start({});
  fixture.bank.otherwise(() => 'hang');
  const socket = askAndLookAway(fixture, short);
  for (let request = 0; request < 9; request++) socket.write(headOf(short) + short);
  await expect.poll(() => fixture.server.inFlight).toBe(10);
  socket.destroy();
  await once(socket, 'close');
  await expect.poll(() => fixture.server.inFlight).toBe(0);
  expect(fixture.server.unreadBytes).toBe(0);
});

test('of pipelined answers that nobody reads each counts, and the deadline ends them together', async () => {
  await using fixture = await start({ writeDeadlineMs: 2000 });
  const socket = askAndLookAway(fixture);
  socket.write(headOf(short) + short);
  await expect.poll(() => fixture.server.inFlight).toBe(2);
  await expect.poll(() => fixture.server.unreadBytes).toBeGreaterThan(9 * megabyte);
  await expect.poll(() => fixture.server.unreadBytes, { timeout: 6000 }).toBe(0);
  await expect.poll(() => fixture.server.inFlight).toBe(0);
});
