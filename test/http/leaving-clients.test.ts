import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTestBankql, type TestBankql, type TestOptions } from '../support/bankql.ts';
import {
  answer,
  byLine,
  type FaultyBank,
  hang,
  later,
  lineOf,
  reply,
  startFaultyBank,
} from '../support/faulty-bank.ts';
import { connectTo, credentials, postOf, postText } from '../support/requests.ts';
import { type ServerFixture, startServerFixture } from '../support/server-fixture.ts';
import { quietFor } from '../support/waits.ts';

/** What bankql still does for a client that has left. Promise 23: a mutation that has begun runs to its end. */

let bank: FaultyBank;
let open: TestBankql | null = null;
beforeEach(async () => {
  bank = await startFaultyBank();
});
afterEach(async () => {
  await open?.[Symbol.asyncDispose]();
  open = null;
  await bank.close();
});

/** The request lines so far, such as "GET customers/slow", without the first part of the path. */
const lines = () =>
  bank.requests.map((request) => lineOf(request).replace('/v1/api/banks/BANK/', '').replace(' HTTP/1.1', ''));

const customer = reply(200, '{"email":"a@b"}');
const putCustomer = `putCustomer(input: { customerId: "c", customer: { legalName: "C" } })`;
const pay = `makeTransaction(input: {
  accountId: "a", to: { accountId: "b" }, value: { amount: "1.00", currency: "EUR" }, idempotencyKey: "k" })`;

describe('a client that leaves', () => {
  /** bankql with a client that can disconnect. */
  async function served(bankOptions: NonNullable<TestOptions['bankOptions']>) {
    const bankql = await createTestBankql({ bankUrl: bank.url, bankOptions });
    open = bankql;
    const ask = (query: string, signal: AbortSignal | null = null): Promise<unknown> =>
      bankql.fetch(new Request('http://bankql.test/graphql', { ...postOf({ query }), signal })).then(
        (response) => response.json(),
        () => 'left',
      );
    return { bankql, ask };
  }

  test('cancels all its reads at once', async () => {
    bank.behave(hang);
    const server = await served({ timeoutMs: 60_000 });
    const leaving = new AbortController();
    const asked = server.ask(
      '{ bank { a: customer(customerId: "a") { email } b: customer(customerId: "b") { email } branches { totalCount } } }',
      leaving.signal,
    );
    await expect.poll(() => bank.requests.length).toBe(3);
    leaving.abort();
    expect(await asked).toBe('left');
    await expect.poll(bank.open, { interval: 5 }).toBe(0);
  });

  test('starts no further reads', async () => {
    const held: Socket[] = [];
    bank.behave(
      byLine(bank, {
        '/accounts/a/': reply(200, '{"accounts":[{"id":"a","balance":{"amount":1},"owners":["o1","o2"]}]}'),
        'customers/o1': (socket) => void held.push(socket),
        'customers/o2': later(150, customer),
      }),
    );
    const server = await served({ timeoutMs: 60_000 });
    const leaving = new AbortController();
    const asked = server.ask(
      '{ bank { account(accountId: "a") { owners { email banks { branches { totalCount } } } } } }',
      leaving.signal,
    );
    await expect.poll(() => held.length).toBe(1);
    leaving.abort();
    await asked;
    await quietFor(250);
    expect(lines()).toHaveLength(3);
  });

  test.each([
    ['a write', putCustomer, 'PUT customers/c', 'GET branches'],
    ['a payment', pay, 'POST accounts/a/make-transaction', 'GET accounts/a/owner/views'],
  ])('does not cancel %s', async (_, field, line, inPayload) => {
    const held: Socket[] = [];
    bank.behave((socket) => void held.push(socket));
    const server = await served({ timeoutMs: 60_000, paymentTimeoutMs: 60_000 });
    const leaving = new AbortController();
    const rest =
      field === pay ? 'payment { account { label } }' : 'customer { bank { branches { totalCount } } }';
    const asked = server.ask(`mutation { done: ${field} { ${rest} } }`, leaving.signal);
    await expect.poll(() => held.length).toBe(1);
    leaving.abort();
    expect(await asked).toBe('left');
    await quietFor(200);
    expect(bank.open()).toBe(1);
    expect(lines()).toEqual([line]);
    bank.behave(reply(200, '{}'));
    for (const socket of held) socket.write(answer(200, '{}'));
    // A mutation runs until it ends, including the reads of its payload.
    await expect.poll(lines).toEqual([line, inPayload]);
    expect(server.bankql.log.some((text) => text.includes('"status":200'))).toBe(true);
    if (field === pay)
      await expect.poll(() => server.bankql.audit.map(({ state }) => state)).toEqual(['PENDING', 'DONE']);
  });
});

describe('a mutation whose client leaves runs until it ends', () => {
  const branches = 'GET /v1/api/banks/BANK/branches';
  const update = (id: string) =>
    `${id}: updateBranch(input: { branchId: "${id}", changes: { name: "new" } }) {
      branch { bank { branches { nodes { branchId name bankId } } } } }`;
  const query = `mutation { ${update('A')} ${update('B')} }`;
  /** The answers have so many values that an operation has to take more from the budget of the process. */
  const list = Array.from({ length: 500 }, (_, index) => ({
    id: index === 0 ? 'A' : index === 1 ? 'B' : `${index}`,
    name: 'old',
    acceptsDeposits: true,
  }));

  test.each<[string, (fixture: ServerFixture, init: RequestInit) => Promise<unknown>]>([
    ['a connection', (fixture, init) => fetch(fixture.url, init)],
    ['a mounted bankql', (fixture, init) => fixture.server.fetch(new Request(fixture.url, init))],
  ])('over %s', async (_how, send) => {
    for (const accept of ['application/json', 'text/event-stream']) {
      await using fixture = await startServerFixture();
      const [writing, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      fixture.bank.on(branches, { body: { branches: list } }).otherwise(async ({ body }) => {
        writing.resolve();
        await left.promise;
        return { body };
      });
      const leaving = new AbortController();
      const answer = send(fixture, {
        ...postOf({ query }, { ...credentials, Accept: accept }),
        signal: leaving.signal,
      }).catch(() => {});
      await writing.promise;
      leaving.abort();
      await expect.poll(() => fixture.server.held.requests).toBe(0);
      left.resolve();
      const written = () => fixture.bank.lines().filter((line) => line.startsWith('PUT'));
      await expect.poll(written).toEqual(['A', 'B'].map((id) => `PUT /v1/api/banks/BANK/branches/${id}`));
      await answer;
    }
  });
});

test('a client that leaves the host of a mounted bankql before bankql has its request makes no call', async () => {
  await using fixture = await startServerFixture();
  const { promise: handled, resolve } = Promise.withResolvers<void>();
  const host = createServer(async (request: IncomingMessage & { body?: unknown }, response) => {
    request.body = await json(request);
    socket.destroy();
    await once(response, 'close');
    resolve(fixture.server.node(request, response));
  }).listen(0, '127.0.0.1');
  await once(host, 'listening');
  const socket = connectTo(`http://127.0.0.1:${(host.address() as AddressInfo).port}`);
  const query =
    'mutation { updateBranch(input: { branchId: "A", changes: { name: "new" } }) { __typename } }';
  socket.write(postText(JSON.stringify({ query })));
  await handled;
  host.close();
  expect(fixture.server.held.requests).toBe(0);
  expect(fixture.bank.lines()).toEqual([]);
});
test('a client that leaves before its token is verified makes no call', async () => {
  const { promise: identified, resolve: identify } = Promise.withResolvers<void>();
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  await using fixture = await startServerFixture({
    async authenticate() {
      ask();
      await identified;
      return { subscriptionKey: 'key-1', authProviderName: 'provider-1', authId: 'caller-1' };
    },
  });
  const socket = connectTo(fixture.url);
  const body = JSON.stringify({ query: 'mutation { putProduct(input: { product: {} }) { trackId } }' });
  socket.write(postText(body));
  await asked;
  socket.destroy();
  await once(socket, 'close');
  await expect.poll(() => fixture.server.held.arriving).toBe(0);
  identify();
  await quietFor(50);
  expect(fixture.bank.calls).toEqual([]);
});
