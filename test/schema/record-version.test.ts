import { describe, expect, test } from 'vitest';
import { exact, failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';
import { accountRecord, customerRecord } from '../support/full-records.ts';
import {
  account,
  customer,
  product,
  products,
  type UpdateCase,
  updateCases,
  versionIn,
} from '../support/update-cases.ts';

describe('a version', () => {
  const versionOf = async (it: UpdateCase, answer: string | object, query = it.readBack) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: answer });
    const result = await fixture.ask(`{ ${query} }`);
    return result.errors === undefined ? versionIn(result.data) : failuresOf(result);
  };

  test('is the same in whatever order the members come, with members that nobody knows, and with nulls', async () => {
    const reversed = Object.fromEntries(Object.entries(customerRecord).reverse());
    const version = await versionOf(customer, customerRecord);
    expect(await versionOf(customer, { unknown: 1, ...reversed })).toBe(version);
    expect(await versionOf(customer, { email: 'e' })).toBe(
      await versionOf(customer, { email: 'e', metadata: null }),
    );
  });

  test.each(updateCases)('of $field is another one where any member is another', async (it) => {
    const whole = await versionOf(it, it.answer(it.record));
    const versions = [whole];
    for (const member of Object.keys(it.record)) {
      if (member === 'id' || (member === 'balance' && it === account) || member === 'acceptsDeposits')
        continue;
      versions.push(await versionOf(it, it.answer({ ...it.record, [member]: undefined })));
    }
    expect(new Set(versions).size).toBe(versions.length);
  });

  test('of an amount tells digits apart, and a product is the same alone and in a list', async () => {
    const balance = (amount: string) => ({
      accounts: [{ ...accountRecord, balance: { amount: exact(amount) } }],
    });
    expect(await versionOf(account, balance('1.1'))).not.toBe(await versionOf(account, balance('1.10')));
    const list = 'bank { products(filter: { id: "Q" }) { nodes { version } } }';
    expect(await versionOf(products, { product: [{ ...product, bank_id: 'BANK' }] }, list)).toBe(
      await versionOf(products, product),
    );
  });

  test('is null with an error where the record is broken', async () => {
    expect(await versionOf(customer, { email: true })).toEqual(['bank.customer.version BANK_BAD_RESPONSE']);
  });
});
