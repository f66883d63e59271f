import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { authenticateByHeaders } from '../../src/http/auth/header-credentials.ts';
import type { CapacityLimits } from '../../src/load/capacity.ts';
import { credentials } from '../support/bankql.ts';
import { capacityLimits } from '../support/capacity-limits.ts';
import { connectTo, postOf, postText } from '../support/requests.ts';
import { type ServerFixture, startServerFixture } from '../support/server-fixture.ts';
import { lateBy, turns } from '../support/waits.ts';

/**
 * Long answers that no client reads: the memory that they use is bounded, and so is the time for which they wait. Other clients
 * are served.
 */

/** The callers are verified, because the unverified callers of one address together may use only half of the memory. */
const authenticate = authenticateByHeaders(null, true);
const megabyte = 1024 * 1024;
/** A branch with few but long values makes answers long with little work. */
const branch = { name: 'x'.repeat(10_000), id: 'b' };
/** Ten megabytes are more than the operating system buffers for a client. */
const aliases = Array.from({ length: 20 }, (_, index) => `b${index}: branches { nodes { name } }`);
const long = JSON.stringify({ query: `{ bank { ${aliases.join(' ')} } }` });
const short = JSON.stringify({ query: '{ bank { branches(first: 1) { totalCount } } }' });

const start = async (limits: { readonly capacity?: CapacityLimits; readonly writeDeadlineMs?: number }) => {
  const fixture = await startServerFixture({ authenticate, ...limits });
  fixture.bank.otherwise({ body: { branches: Array.from({ length: 50 }, () => branch) } });
  return {
    ...fixture,
    async [Symbol.asyncDispose]() {
      // When it stops, the server waits for clients to take their answers.
      for (const socket of sockets.splice(0)) socket.destroy();
      await fixture[Symbol.asyncDispose]();
    },
  };
};

const sockets: Socket[] = [];

const textOf = (body: string, accept = '*/*', caller: string = credentials['Auth-ID']) =>
  postText(body, { ...credentials, Accept: accept, 'Auth-ID': caller });

/** A client that sends a request and reads nothing. */
function askAndLookAway({ url }: ServerFixture, body = long, accept?: string, caller?: string): Socket {
  const socket = connectTo(url).pause();
  socket.write(textOf(body, accept, caller));
  sockets.push(socket);
  return socket;
}

const ask = async ({ url }: ServerFixture, body = short, caller = 'another') => {
  const response = await fetch(url, postOf(body, { ...credentials, 'Auth-ID': caller }));
  return { response, text: await response.text() };
};

test('answers that no client reads use bounded memory, which is released after the deadline', async () => {
  await using fixture = await start({
    capacity: capacityLimits({ unread: 15 * megabyte }),
    writeDeadlineMs: 4000,
  });
  let most = 0;
  const look = () => {
    most = Math.max(most, fixture.server.held.unread);
    return most;
  };
  for (let client = 0; client < 6; client++) {
    askAndLookAway(fixture, long, client % 2 === 0 ? '*/*' : 'text/event-stream', `caller-${client}`);
    await turns();
    look();
  }
  // Long answers are built in slices, and wait for each other.
  await expect.poll(look, { interval: 5 }).toBeGreaterThan(9 * megabyte);
  expect(most).toBeLessThanOrEqual(15 * megabyte);
  expect([200, 503]).toContain((await ask(fixture)).response.status);
  await expect.poll(() => fixture.server.held.unread).toBe(0);
  await expect.poll(() => fixture.server.held.requests).toBe(0);
  expect((await ask(fixture)).text).toBe('{"data":{"bank":{"branches":{"totalCount":50}}}}');
});

test('a request is 503 while the memory limit is reached, and so is a long answer that would exceed it', async () => {
  await using fixture = await start({ capacity: capacityLimits({ unread: 15 * megabyte }) });
  const socket = askAndLookAway(fixture);
  await expect.poll(() => fixture.server.held.unread).toBeGreaterThan(9 * megabyte);
  const longer = JSON.stringify({
    query: `{ bank { ${[...aliases, 'b: branches { nodes { name } }'].join(' ')} } }`,
  });
  const noRoom = await ask(fixture, longer);
  expect(noRoom.response.status).toBe(503);
  expect(noRoom.response.headers.get('retry-after')).toBe('1');
  expect(JSON.parse(noRoom.text).errors).toEqual([
    {
      message:
        'Clients have left too much of other answers unread, and this one is long. Nothing was changed.',
      extensions: { code: 'OVERLOADED', retryable: true, retryAfter: 1 },
    },
  ]);
  // A short answer is sent nevertheless.
  expect((await ask(fixture)).response.status).toBe(200);
  socket.destroy();
  await expect.poll(() => fixture.server.held.unread).toBe(0);
  expect((await ask(fixture, long)).response.status).toBe(200);
});

test('a caller who lets many answers wait is refused alone', async () => {
  const shed: string[] = [];
  await using fixture = await startServerFixture({
    authenticate,
    capacity: capacityLimits({ unread: 60 * megabyte }),
    onShed: (why) => shed.push(why),
  });
  fixture.bank.otherwise({ body: { branches: Array.from({ length: 50 }, () => branch) } });
  for (let client = 0; client < 6; client++) {
    askAndLookAway(fixture, long, '*/*', 'greedy');
    await turns();
  }
  await expect.poll(() => fixture.server.held.unread).toBeGreaterThan(9 * megabyte);
  const refused = await ask(fixture, short, 'greedy');
  expect(refused.response.status).toBe(503);
  expect(refused.text).toContain('You have left too much of earlier answers unread. bankql did nothing');
  expect(shed).toContain('unread of the caller');
  expect(fixture.server.held.unread).toBeLessThan(12 * megabyte);
  const other = await ask(fixture, long);
  for (const socket of sockets) socket.destroy();
  expect([other.response.status, other.text.length > 9 * megabyte]).toEqual([200, true]);
});

test('pipelined answers behind one that never comes stay within the limit of their caller, and others are served', async () => {
  await using fixture = await startServerFixture({
    authenticate,
    capacity: capacityLimits({ unread: 6 * megabyte, requestsPerCaller: 64 }),
  });
  const branches = Array.from({ length: 20 }, () => branch);
  fixture.bank.otherwise(({ path }) => (path.includes('never') ? 'hang' : { body: { branches } }));
  const never = JSON.stringify({ query: '{ bank { customer(customerId: "never") { email } } }' });
  const small = JSON.stringify({ query: '{ bank { branches(first: 15) { nodes { name } } } }' });
  const socket = askAndLookAway(fixture, never, '*/*', 'greedy');
  socket.write(textOf(small, '*/*', 'greedy').repeat(190));
  const { held } = fixture.server;
  await expect.poll(() => held.requests).toBe(1);
  await expect.poll(() => held.unread).toBeGreaterThan(0.6 * megabyte);
  expect((await ask(fixture)).response.status).toBe(200);
  expect(held.unread).toBeLessThan(2 * megabyte);
});

test('a mutation gets its long answer although the memory limit is reached', async () => {
  await using fixture = await startServerFixture({
    authenticate,
    capacity: capacityLimits({ unread: 20_000 }),
  });
  fixture.bank.otherwise({ body: { id: 'tx-1', name: 'x'.repeat(50_000) } });
  const fields = 'putProduct(input: { product: {} }) { product { name } }';
  const { response, text } = await ask(fixture, JSON.stringify({ query: `mutation { ${fields} }` }));
  expect([response.status, text.length > 50_000]).toEqual([200, true]);
  expect(fixture.bank.calls).toHaveLength(1);
});

test('a client that takes longer than the deadline, but always reads something, gets the whole answer', async () => {
  await using fixture = await start({ writeDeadlineMs: 1500 });
  const socket = askAndLookAway(fixture);
  let bytes = 0;
  for (let read = 0; read < 100; read++) {
    await lateBy(40);
    bytes += socket.read(socket.readableLength)?.length ?? 0;
  }
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  await expect.poll(() => bytes).toBeGreaterThan(10_000_000);
  await expect.poll(() => fixture.server.held.unread).toBe(0);
  expect(socket.destroyed).toBe(false);
});

test.each([
  ['an answer', long, '*/*'],
  ['a stream', long.replace('{ bank', '{ __typename ... @defer { __typename } bank'), 'text/event-stream'],
  ['an answer behind another', `${short}${textOf(long)}`, '*/*'],
])(
  'a client that reads nothing of %s is cut off in time, even if it keeps sending',
  async (_what, body, accept) => {
    await using fixture = await start({ writeDeadlineMs: 500 });
    const [first = body, ...more] = body.split(/(?=POST )/);
    const socket = askAndLookAway(fixture, first, accept);
    for (const text of more) socket.write(text);
    await expect.poll(() => fixture.server.held.unread).toBeGreaterThan(megabyte);
    // The parser ignores empty lines between requests.
    const sending = setInterval(() => socket.write('\r\n'), 50);
    onTestFinished(() => clearInterval(sending));
    await expect.poll(() => fixture.server.held.unread).toBe(0);
  },
);

test('pipelined requests hold nothing after their client has left', async () => {
  await using fixture = await start({});
  fixture.bank.otherwise(() => 'hang');
  const socket = askAndLookAway(fixture, short);
  for (let request = 0; request < 9; request++) socket.write(textOf(short));
  await expect.poll(() => fixture.server.held.requests).toBe(10);
  socket.destroy();
  await once(socket, 'close');
  await expect.poll(() => fixture.server.held.requests).toBe(0);
  expect([fixture.server.held.unread, fixture.server.held.arriving]).toEqual([0, 0]);
});

test('the deadline of an answer does not begin while it waits for an earlier answer', async () => {
  await using fixture = await startServerFixture({ writeDeadlineMs: 100 });
  let answer = () => {};
  fixture.bank.otherwise(({ path }) =>
    path.includes('slow')
      ? new Promise((resolve) => {
          answer = () => resolve({ body: { email: 'e' } });
        })
      : { body: { branches: [] } },
  );
  const slow = JSON.stringify({ query: '{ bank { customer(customerId: "slow") { email } } }' });
  const socket = askAndLookAway(fixture, slow);
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk;
  });
  socket.resume().write(textOf(short));
  await expect.poll(() => fixture.server.held.unread).toBeGreaterThan(0);
  await lateBy(500);
  answer();
  await expect.poll(() => received.match(/HTTP\/1.1 200/g)).toHaveLength(2);
});

describe("the memory for the bank's answers", () => {
  /** The counterparties of an account, different for each account: about 200 kB. */
  const otherAccountsOf = (account: string) =>
    Array.from({ length: 1000 }, (_, n) => ({
      id: `${account} ${n}`,
      bank: 'B'.repeat(100),
      holder: { name: 'Holder', is_alias: false },
    }));

  async function ask(url: string, query: string) {
    const response = await fetch(url, postOf({ query }));
    return { status: response.status, answer: await response.json() };
  }

  test('is limited for the lists of all operations together, and is released at their end', async () => {
    await using fixture = await startServerFixture({ capacity: capacityLimits({ values: 34_000 }) });
    const { bank, server, url } = fixture;
    bank.otherwise(({ path }) => {
      const account = /accounts\/([^/]+)\//.exec(path)?.[1] ?? '';
      return { body: { otherAccounts: otherAccountsOf(account) } };
    });
    const count = async (...accounts: string[]) => {
      const fields = accounts.map(
        (account) =>
          `${account}: account(accountId: "${account}") { otherAccounts(first: 0) { totalCount } }`,
      );
      return ask(url, `{ bank { ${fields.join(' ')} } }`);
    };

    const few = await count('a', 'b');
    expect(few).toEqual({
      status: 200,
      answer: {
        data: {
          bank: { a: { otherAccounts: { totalCount: 1000 } }, b: { otherAccounts: { totalCount: 1000 } } },
        },
      },
    });
    expect(server.held.values).toBe(0);

    const many = await count('c', 'd', 'e', 'f', 'g');
    expect(many.status).toBe(503);
    expect(many.answer.errors).toEqual([
      {
        message: expect.stringContaining('Too many large answers are being built, and this one is large.'),
        extensions: expect.objectContaining({ code: 'OVERLOADED' }),
      },
    ]);
    expect(server.held.values).toBe(0);
    expect((await count('h')).status).toBe(200);
    expect(bank.calls.length).toBeGreaterThanOrEqual(6);
  });

  test('is limited for the payment records of all operations together, and is released at their end', async () => {
    await using fixture = await startServerFixture({ capacity: capacityLimits({ values: 20_000 }) });
    const { bank, server, url } = fixture;
    bank.otherwise({ body: { id: 'TX' } });
    for (let n = 0; n < 60; n++) {
      const { answer } = await ask(
        url,
        `mutation { makeTransaction(input: { accountId: "a", to: { accountId: "b" }, value: { amount: 1, currency: "EUR" }, idempotencyKey: "kept-payments-${n}" }) { payment { trackId } } }`,
      );
      expect(answer.errors).toBeUndefined();
    }
    const list = (lists: number) =>
      ask(
        url,
        `{ ${Array.from({ length: lists }, (_, n) => `p${n}: payments(first: ${100 - n}) { pageInfo { hasNextPage } }`).join(' ')} }`,
      );

    const one = await list(1);
    expect(one).toEqual({ status: 200, answer: { data: { p0: { pageInfo: { hasNextPage: false } } } } });
    const many = await list(20);
    expect([many.status, many.answer.errors?.[0].extensions.code]).toEqual([503, 'OVERLOADED']);
    expect(server.held.values).toBe(0);
    expect((await list(1)).status).toBe(200);
  });
});
