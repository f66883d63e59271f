import { createServer } from 'node:net';
import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import { inTimeMs } from '../support/in-time.ts';
import { listenOnLoopback } from '../support/loopback.ts';
import { bankForAll, freshBank, payTo, send } from './bank-caller.ts';

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

describe('the clock', () => {
  const ids = { ACCOUNT_ID: 'alice-current' };

  async function seen(now?: number) {
    await using bank = await freshBank({ now });
    const { call, recordsOf, recordOf } = bank;
    const { id } = Object((await call('postMakeTransaction', ids, { body: payTo('bob-current') })).json);
    const paid = await recordOf('getTransaction', { ...ids, TRANSACTION_ID: id });
    const requests = await recordsOf('getTransactionsRequest', ids);
    const messages = await recordsOf('getMessagesOwner');
    return {
      posted: String(Object(paid.details).posted),
      dates: requests.filter(({ body }) => body).map(({ start_date }) => String(start_date).slice(0, 10)),
      message: messages.at(-1)?.date,
    };
  }

  test('dates are relative to the time that is given, at which the clock stands still', async () => {
    expect(await seen(Date.UTC(2024, 2, 1, 23, 59))).toEqual({
      posted: '2024-03-01T23:59:00.000Z',
      // The period contains the 29th of February.
      dates: ['2023-11-02', '2024-02-21', '2024-02-22', '2024-02-27', '2024-02-28', '2024-02-29'],
      message: '2024-02-21T16:45:00.000Z',
    });
  });

  test('without one they are relative to the start, and the clock runs', async () => {
    const start = Date.now();
    const { posted, dates } = await seen();
    expect(Date.parse(posted) - start).toBeGreaterThanOrEqual(0);
    expect(Date.parse(posted) - start).toBeLessThan(60_000);
    const sinceLast = (start - Date.parse(dates.at(-1) ?? '')) / 86_400_000;
    expect(sinceLast).toBeGreaterThan(0.9);
    expect(sinceLast).toBeLessThan(2.1);
  });
});

describe('reset', () => {
  const now = Date.UTC(2026, 0, 31);
  const reset = async (url: string, headers: Record<string, string> = {}) => {
    const { statusCode, body } = await request(`${url}/sandbox/reset`, { method: 'POST', headers });
    return { status: statusCode, text: await body.text() };
  };

  test('everything is as at the start: records, ids and order; faults end', async () => {
    await using bank = await freshBank({ now });
    const { call, url } = bank;
    const state = async () => {
      const current = { ACCOUNT_ID: 'alice-current' };
      const answers = [
        await call('getBranches'),
        await call('getMessagesOwner'),
        await call('getCustomer', { CUSTOMER_ID: 'alice' }),
        await call('getAccountsScope', { ...current, scope: 'permissions' }),
        await call('getOtherAccounts', current),
        await call('getTransactionsRequest', current),
        await call('getProduct', { PRODUCT_ID: 'current-plus' }),
      ];
      return answers.map(({ text }) => text);
    };
    const body = payTo('DE89370400440532013000');
    const pay = () => call('postMakeTransaction', { ACCOUNT_ID: 'alice-current' }, { body });
    const before = await state();
    const first = await pay();
    await call('putBranchID', { BRANCH_ID: 'new' }, { body: { acceptsDeposits: true } });
    await call('putCustomerID', { CUSTOMER_ID: 'alice' }, { body: {} });
    await request(`${url}/sandbox/faults`, { method: 'PUT', body: '{"getProduct":{"status":503}}' });
    expect(await state()).not.toEqual(before);

    expect(await reset(url)).toEqual({ status: 200, text: '{}' });
    expect(await state()).toEqual(before);
    expect((await pay()).json).toEqual(first.json);
  });
});

describe('only this machine', () => {
  const refusal = { code: 403, message: 'Only this machine may use this address of the sandbox' };

  /** Sends a request with these headers, including `Host`, which fetch does not allow. */
  async function send(url: string, method: 'GET' | 'PUT' | 'POST', headers: Record<string, string>) {
    const body = method === 'PUT' ? '{"getCustomer":{"status":503}}' : null;
    const answer = await request(url, { method, headers, body });
    const text = await answer.body.text();
    return { status: answer.statusCode, json: text === '' ? null : JSON.parse(text) };
  }

  const routes = [
    ['PUT', '/sandbox/faults'],
    ['POST', '/sandbox/reset'],
    ['GET', '/v1/api/banks/SNDBCY2N/branches?subscription-key=sandbox-key'],
    ['GET', '/nowhere'],
  ] as const;

  const foreign: Record<string, string>[] = [
    { origin: 'https://elsewhere.example' },
    { origin: 'null' },
    { origin: 'http://localhost.elsewhere.example' },
    { host: 'elsewhere.example:4010' },
    { host: 'elsewhere.example:4010', origin: 'http://elsewhere.example:4010' },
    { host: '127.0.0.1.elsewhere.example' },
  ];

  describe.each(routes)('%s %s', (method, path) => {
    test('is refused to a page of another site', async () => {
      await using bank = await freshBank();
      for (const headers of foreign)
        expect(await send(bank.url + path, method, headers), JSON.stringify(headers)).toEqual({
          status: 403,
          json: refusal,
        });
      expect((await bank.call('getCustomer', { CUSTOMER_ID: 'alice' })).status).toBe(200);
    });

    test('is open to the names of this machine', async () => {
      await using bank = await freshBank();
      const { port } = new URL(bank.url);
      const local = (headers: Record<string, string>) => send(bank.url + path, method, headers);
      for (const name of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]) {
        expect((await local({ host: name })).status).not.toBe(403);
        expect((await local({ host: name, origin: `http://${name}` })).status).not.toBe(403);
      }
    });
  });
});

describe('credentials', () => {
  const { call } = bankForAll();

  test('the subscription key may come as a query parameter', async () => {
    const headers = { 'Ocp-Apim-Subscription-Key': null };
    const keyed = await call('getBranches', {}, { headers, query: '?subscription-key=sandbox-key' });
    expect(keyed.status).toBe(200);
    for (const query of [
      '?subscription-key=',
      '?subscription-key=a',
      '?subscription-key=sandbox-key&subscription-key=a',
    ]) {
      expect((await call('getBranches', {}, { headers, query })).status, query).toBe(401);
    }
  });

  test('a caller of another provider, or with one auth header alone, is refused', async () => {
    const ids = { ACCOUNT_ID: 'alice-current', VIEW_ID: 'public', scope: 'views' };
    for (const [name, value] of [
      ['Auth-Provider-Name', 'elsewhere'],
      ['Auth-Provider-Name', null],
      ['Auth-ID', null],
    ] as const) {
      const headers = { [name]: value };
      expect((await call('getAccountsScope', ids, { headers })).status).toBe(403);
      expect((await call('getMessagesOwner', {}, { headers })).status).toBe(403);
    }
  });
});
