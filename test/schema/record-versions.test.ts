import { describe, expect, test, vi } from 'vitest';
import { branch as branchShape } from '../../src/contract/branch.ts';
import { exact, failuresOf, shareBankqlFixture } from '../support/bankql-fixture.ts';
import { accountRecord, branchRecord, customerRecord } from '../support/full-records.ts';
import {
  account,
  customer,
  product,
  products,
  type UpdateCase,
  updateCases,
  versionIn,
} from '../support/update-cases.ts';

/** Promise 7: the version of a record, which `ifVersion` compares, changes if and only if the record changes. */

const shared = await shareBankqlFixture();

describe('the version of a record', () => {
  async function versionOf(it: UpdateCase, answer: string | object, query = it.readBack) {
    shared.bank.otherwise({ body: answer });
    const result = await shared.ask(`{ ${query} }`);
    return result.errors === undefined ? versionIn(result.data) : failuresOf(result);
  }

  test('does not depend on the order of members, unknown members, or nulls', async () => {
    const reversed = Object.fromEntries(Object.entries(customerRecord).reverse());
    const version = await versionOf(customer, customerRecord);
    expect(await versionOf(customer, { unknown: 1, ...reversed })).toBe(version);
    expect(await versionOf(customer, { email: 'e' })).toBe(
      await versionOf(customer, { email: 'e', metadata: null }),
    );
  });

  test('is computed once for each record, however many fields select it', async () => {
    const parsed = vi.spyOn(branchShape, 'parse');
    shared.bank.otherwise({ body: { branches: [branchRecord, { ...branchRecord, id: 'B2' }] } });
    const aliases = Array.from({ length: 15 }, (_, index) => `v${index}: version`).join(' ');
    const { data, errors } = await shared.ask(`{ bank { branches { nodes { ${aliases} } } } }`);
    expect(errors).toBeUndefined();
    const [first, second] = Object(data).bank.branches.nodes.map(
      (node: object) => new Set(Object.values(node)),
    );
    expect([first.size, second.size]).toEqual([1, 1]);
    expect(parsed).toHaveBeenCalledTimes(2);
    parsed.mockRestore();
  });

  test.each(updateCases)('changes for $field if any member changes', async (it) => {
    const required = ['id', 'balance', 'acceptsDeposits'];
    const members = Object.keys(it.record).filter((member) => !required.includes(member));
    const records = members.map((member) => ({ ...it.record, [member]: undefined }));
    const versions: unknown[] = [];
    for (const record of [it.record, ...records]) versions.push(await versionOf(it, it.answer(record)));
    expect(new Set(versions).size).toBe(versions.length);
  });

  test('changes with each digit of an amount; a product has the same one alone and in a list', async () => {
    const balance = (amount: string) => ({
      accounts: [{ ...accountRecord, balance: { amount: exact(amount) } }],
    });
    expect(await versionOf(account, balance('1.1'))).not.toBe(await versionOf(account, balance('1.10')));
    const list = 'bank { products(filter: { id: "Q" }) { nodes { version } } }';
    expect(await versionOf(products, { product: [{ ...product, bank_id: 'BANK' }] }, list)).toBe(
      await versionOf(products, product),
    );
  });

  test('is null with an error if the record is broken', async () => {
    expect(await versionOf(customer, { email: true })).toEqual(['bank.customer.version BANK_BAD_RESPONSE']);
  });
});
