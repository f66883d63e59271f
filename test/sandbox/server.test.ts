import { createServer } from 'node:net';
import { expect, test, vi } from 'vitest';
import { inTimeMs } from '../support/in-time.ts';
import { listenOnLoopback } from '../support/loopback.ts';
import { bankForAll, freshBank, send } from './bank-caller.ts';

const bank = bankForAll();
const { call } = bank;

test.each([
  ['GET', '/'],
  ['GET', '/v1/api/banks/SNDBCY2N'],
  ['DELETE', '/v1/api/banks/SNDBCY2N/branches'],
  ['PUT', '/v1/api/banks/SNDBCY2N/branches?subscription-key=my-secret'],
  ['GET', '/v1/api/metadata'],
  ['GET', '/v2/api/banks/SNDBCY2N/branches'],
])('%s %s is not found, as JSON', async (method, path) => {
  const answer = await send(bank.url() + path, method);
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
  const answer = await send(
    `${bank.url()}/v1/api/banks/SNDBCY2N/products/%E0%A4%A?subscription-key=s`,
    'GET',
  );
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

test('closes at once while clients keep their connections, and closing again does nothing', async () => {
  const sandbox = await freshBank();
  await sandbox.call('getBranches');
  const start = performance.now();
  await Promise.all([sandbox.close(), sandbox.close()]);
  expect(performance.now() - start).toBeLessThan(inTimeMs);
  await expect(sandbox.call('getBranches')).rejects.toThrow();
});

test('listens on loopback, on the port that was asked for', async () => {
  expect(bank.url()).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const taken = createServer();
  const port = await listenOnLoopback(taken);
  await expect(freshBank({ port })).rejects.toThrow('EADDRINUSE');
  await new Promise((resolve) => taken.close(resolve));
  await using sandbox = await freshBank({ port });
  expect(sandbox.url).toBe(`http://127.0.0.1:${port}`);
});
