import { createServer } from 'node:net';
import { request } from 'undici';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startSandbox } from '../../src/sandbox/server.ts';
import { inTimeMs } from '../support/in-time.ts';
import { lateBy } from '../support/waits.ts';
import { balanceOf, type Call, callerOf, freshBank, send } from './bank-caller.ts';

let bank: Awaited<ReturnType<typeof freshBank>>;
let call: Call;
beforeAll(async () => {
  bank = await freshBank();
  call = bank.call;
});
afterAll(() => bank.close());

test.each([
  ['GET', '/'],
  ['GET', '/v1/api/banks/SNDBCY2N'],
  ['DELETE', '/v1/api/banks/SNDBCY2N/branches'],
  ['PUT', '/v1/api/banks/SNDBCY2N/branches?subscription-key=my-secret'],
  ['GET', '/v1/api/metadata'],
  ['GET', '/v2/api/banks/SNDBCY2N/branches'],
])('%s %s is not found, as JSON', async (method, path) => {
  const answer = await send(bank.url + path, method);
  expect(answer.contentType).toBe('application/json; charset=utf-8');
  expect(answer.json).toEqual({ code: 404, message: `There is no ${method} ${path.replace(/\?.*/, '')}` });
});

test('ids are percent-decoded, once', async () => {
  const BRANCH_ID = 'a/b%2F é?#東';
  const put = await call('putBranchID', { BRANCH_ID }, { body: { acceptsDeposits: true } });
  expect(put.json).toEqual({ id: BRANCH_ID, acceptsDeposits: true });
  const long = 'あ'.repeat(128);
  expect((await call('getProduct', { PRODUCT_ID: long })).json).toEqual({
    code: 404,
    message: `There is no product ${long}`,
  });
});

test('a path that cannot be decoded is a bad request, whose text does not repeat the key', async () => {
  const answer = await send(`${bank.url}/v1/api/banks/SNDBCY2N/products/%E0%A4%A?subscription-key=s`, 'GET');
  expect(answer.json).toEqual({ code: 400, message: 'The URL cannot be read' });
});

test('a failure of its own is a 500 with a text', async () => {
  await using broken = await freshBank();
  vi.spyOn(Date.prototype, 'toISOString').mockImplementationOnce(() => {
    throw new Error('out of ink');
  });
  const answer = await broken.call('getAccountsScope', { ACCOUNT_ID: 'alice-current', scope: 'views' });
  vi.restoreAllMocks();
  expect(answer.json).toEqual({ code: 500, message: 'out of ink' });
});

test('every answer waits for the latency, errors too; by then the work is done', async () => {
  await using slow = await startSandbox({ port: 0, database: ':memory:', latencyMs: 1500 });
  const slowCall = callerOf(slow.url);
  const timed = async (work: Promise<{ status: number }>) => {
    const start = performance.now();
    const { status } = await work;
    return [status, performance.now() - start >= 1495];
  };
  const answers = [
    slowCall('getBranches'),
    slowCall('getProduct', { PRODUCT_ID: 'none' }),
    send(`${slow.url}/nowhere`, 'GET'),
  ];
  const late = [200, 404, 404].map((status) => [status, true]);
  expect(await Promise.all(answers.map(timed))).toEqual(late);

  const body = { from: {}, to: { account_id: 'bob-current' }, value: { currency: 'EUR', amount: '1' } };
  const path = `${slow.url}/v1/api/banks/SNDBCY2N/accounts/alice-current/make-transaction`;
  const { host } = new URL(slow.url);
  const lost = request(path, {
    method: 'POST',
    headers: {
      host,
      'ocp-apim-subscription-key': 'sandbox-key',
      'auth-provider-name': 'sandbox',
      'auth-id': 'alice',
      'track-id': crypto.randomUUID(),
    },
    body: JSON.stringify({ ...body, value: { currency: 'EUR', amount: 1 } }),
    signal: AbortSignal.timeout(1000),
  });
  await expect(lost).rejects.toThrow();
  expect(await balanceOf(slowCall, 'alice-current')).toBe('4304.80');
});

test('closes at once while clients keep their connections, and closing again does nothing', async () => {
  const sandbox = await startSandbox({ port: 0, database: ':memory:', latencyMs: 60_000 });
  const waiting = callerOf(sandbox.url)('getBranches').catch((error: unknown) => error);
  // It waits for its answer, or comes too late for one: either has the end that is expected.
  await lateBy(50);
  const start = performance.now();
  await Promise.all([sandbox.close(), sandbox.close()]);
  expect(performance.now() - start).toBeLessThan(inTimeMs);
  expect(await waiting).toBeInstanceOf(Error);
  await expect(callerOf(sandbox.url)('getBranches')).rejects.toThrow();
});

test('listens on loopback, on the port that was asked for', async () => {
  expect(bank.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const taken = createServer();
  const port = await new Promise<number>((resolve) => {
    taken.listen(0, '127.0.0.1', () => {
      const address = taken.address();
      resolve(typeof address === 'object' && address ? address.port : 0);
    });
  });
  await expect(startSandbox({ port, database: ':memory:', latencyMs: 0 })).rejects.toThrow('EADDRINUSE');
  await new Promise((resolve) => taken.close(resolve));
  await using sandbox = await startSandbox({ port, database: ':memory:', latencyMs: 0 });
  expect(sandbox.url).toBe(`http://127.0.0.1:${port}`);
});
