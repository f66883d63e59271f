import { describe, expect, test } from 'vitest';
import { failuresOf, shareBankqlFixture } from '../support/bankql-fixture.ts';
import {
  account,
  branch,
  customer,
  numbered,
  product,
  products,
  serveCase as serveRecord,
  transaction,
  type UpdateCase,
} from '../support/update-cases.ts';

/** Promise 7: an update writes only the record that it names. */

const shared = await shareBankqlFixture();
const serveCase = (it: UpdateCase) => ({ ...shared, ...serveRecord(shared, it) });

describe('a record that is not the requested one', () => {
  const own = { ...account.record, id: 'ACC' };
  const foreign = { ...own, bank_id: 'OTHER', label: 'foreign' };

  test.each<[string, UpdateCase, object, string, RegExp]>([
    [
      'an account with another id',
      account,
      { accounts: [{ ...own, id: 'another' }] },
      'getAccountsScope',
      /with the id another,/,
    ],
    [
      'a product with another id',
      products,
      { ...product, id: 'another' },
      'getProduct',
      /with the id another,/,
    ],
    [
      'a transaction with one',
      transaction,
      { ...transaction.record, id: 'another' },
      'getTransaction',
      /another,/,
    ],
    [
      'two branches with the id',
      branch,
      { branches: [branch.record, { ...branch.record, name: 'second' }] },
      'getBranches',
      /several branches with the id branch-id/,
    ],
    [
      'two accounts with the id',
      account,
      { accounts: [own, { ...own, bank_id: null }] },
      'getAccountsScope',
      /several accounts with the id ACC/,
    ],
  ])('is not written: %s', async (_, it, answer, operation, message) => {
    const fixture = serveCase(it);
    fixture.bank.on(it.get, { body: answer });
    for (const ifVersion of [undefined, 'other']) {
      const { errors } = await fixture.update(it.change, 'trackId', ifVersion);
      expect(errors).toMatchObject([{ extensions: { code: 'BANK_BAD_RESPONSE', operation } }]);
      expect(errors?.[0]?.message).toMatch(new RegExp(`${message.source}.*Nothing was written\\.$`));
    }
    expect(fixture.bank.lines()).toEqual([it.get, it.get]);
  });

  test('is neither shown nor written if only an account of another bank has the id', async () => {
    const fixture = serveCase(account);
    fixture.bank.on(account.get, { body: { accounts: [{ ...own, id: 'X' }, foreign] } });
    expect(failuresOf(await fixture.update('number: "new"'))).toEqual(['updateAccount NOT_FOUND']);
    const read = await fixture.ask('{ bank { account(accountId: "ACC") { label } } }');
    expect(failuresOf(read)).toEqual(['bank.account NOT_FOUND']);
    expect(fixture.bank.lines()).toEqual([account.get, account.get]);
  });

  test.each(['', null])('is not detected if its id is %j: the record is written', async (id) => {
    for (const it of [account, products, transaction]) {
      const fixture = serveCase(it);
      fixture.bank.calls.length = 0;
      fixture.state.record = { ...it.record, id };
      expect((await fixture.update(it.change)).errors).toBeUndefined();
      expect(fixture.bank.lines()).toEqual([it.get, it.put]);
    }
  });

  test.each([
    ['it comes before the own one', [{ ...own, id: 'X' }, foreign, own], own],
    ['it comes after the own one', [{ ...own, id: 'X' }, own, foreign], own],
    ['it is alone, because the bank has another code in records than in paths', [foreign], foreign],
  ])('does not hide the own record: %s', async (_, accounts, written) => {
    const fixture = serveCase(account);
    fixture.bank.on(account.get, { body: { accounts } });
    expect((await fixture.update('number: "new"')).errors).toBeUndefined();
    expect(fixture.sent()).toEqual(numbered({ ...written, number: 'new' }));
  });

  test.each([{ unknown: 'try later' }, { customer_number: null }, { metadata: ['x'] }])(
    'is not written if it has no member of a record: %j',
    async (body) => {
      const fixture = serveCase(customer);
      fixture.bank.on(customer.get, { body });
      expect(failuresOf(await fixture.update('email: "e"'))).toEqual(['updateCustomer BANK_BAD_RESPONSE']);
      expect(fixture.bank.lines()).toEqual([customer.get]);
    },
  );
});
