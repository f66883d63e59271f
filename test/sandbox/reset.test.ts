import { join } from 'node:path';
import { request } from 'undici';
import { expect, test } from 'vitest';
import { openDatabase, resetDatabase } from '../../src/sandbox/database.ts';
import { readScenario } from '../../src/sandbox/scenario.ts';
import { seedOf } from '../../src/sandbox/seed.ts';
import { testFolder } from '../support/test-folder.ts';
import { balanceOf, freshBank, payTo } from './bank-caller.ts';

const now = Date.UTC(2026, 0, 31);
const reset = async (url: string, headers: Record<string, string> = {}) => {
  const { statusCode, body } = await request(`${url}/sandbox/reset`, { method: 'POST', headers });
  return { status: statusCode, text: await body.text() };
};

test('everything is as at the start: records, ids, order, faults', async () => {
  await using bank = await freshBank({ now, faults: 'getProduct:status=503' });
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
  await request(`${url}/sandbox/faults`, { method: 'DELETE' });
  expect(await state()).not.toEqual(before);

  expect(await reset(url)).toEqual({ status: 204, text: '' });
  expect(await state()).toEqual(before);
  expect((await pay()).json).toEqual(first.json);
});

const database = join(testFolder(), 'bank.db');
test('a file is reset too', async () => {
  {
    await using bank = await freshBank({ database });
    await bank.call(
      'putAccountID',
      { ACCOUNT_ID: 'alice-current' },
      { body: { balance: { amount: '1' } }, caller: 'staff' },
    );
    await reset(bank.url);
  }
  await using bank = await freshBank({ database });
  expect(await balanceOf(bank.call, 'alice-current')).toBe('4305.80');
});

test('a seed that fails leaves what was there', () => {
  const database = openDatabase(':memory:', seedOf(readScenario('standard'), now));
  const broken = () => {
    throw new Error('no');
  };
  expect(() => resetDatabase(database, broken)).toThrow('no');
  expect(database.customers.all()).toHaveLength(5);
  database.close();
});
