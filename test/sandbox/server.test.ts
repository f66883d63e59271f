import { createServer } from 'node:net';
import { expect, test } from 'vitest';
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
