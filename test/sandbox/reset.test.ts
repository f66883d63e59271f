import { request } from 'undici';
import { expect, test } from 'vitest';
import { freshBank, payTo } from './bank-caller.ts';

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
