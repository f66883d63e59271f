import { expect, test } from 'vitest';
import { bankForAll } from './bank-caller.ts';

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
