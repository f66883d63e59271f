import { describe, expect, test } from 'vitest';
import { failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';

describe('an entry of a list that is no object', () => {
  const lists = [
    [
      'accounts',
      'accounts',
      '{ bank { accounts(accountId: "ACC") { totalCount nodes { label } } } }',
      'bank.accounts',
    ],
    ['branches', 'branches', '{ bank { branches { totalCount nodes { name } } } }', 'bank.branches'],
    [
      'filtered branches',
      'branches',
      '{ bank { branches(filter: { id: "Q" }) { totalCount nodes { name } } } }',
      'bank.branches',
    ],
    [
      'products',
      'product',
      '{ bank { products(filter: { id: "Q" }) { totalCount nodes { name } } } }',
      'bank.products',
    ],
    ['messages', 'messages', '{ bank { messages { totalCount nodes { date } } } }', 'bank.messages'],
    ['metadata', 'metadata', '{ metadata(id: "M") { totalCount nodes { code } } }', 'metadata'],
    [
      'counterparties',
      'otherAccounts',
      '{ bank { account(accountId: "ACC") { otherAccounts { totalCount nodes { kind } } } } }',
      'bank.account.otherAccounts',
    ],
    [
      'requests',
      'transaction-requests',
      '{ bank { account(accountId: "ACC") { transactionRequests { totalCount nodes { status } } } } }',
      'bank.account.transactionRequests',
    ],
  ] as const;
  const whole = { acceptsDeposits: true, balance: {}, bank: 'b', code: 'c' };

  test.each(lists)('is null among %s, at its place', async (_, key, query, at) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: { [key]: [whole, null, 'text', whole, 7, [], whole] } });
    const result = await fixture.ask(query);
    const connection = at
      .split('.')
      .reduce<unknown>((part, name) => Reflect.get(Object(part), name), result.data);
    expect(connection).toMatchObject({ totalCount: 7 });
    const nodes: unknown = Reflect.get(Object(connection), 'nodes');
    expect(Array.isArray(nodes) && nodes.map((node) => node === null)).toEqual([
      false,
      true,
      true,
      false,
      true,
      true,
      false,
    ]);
    expect(failuresOf(result)).toEqual([1, 2, 4, 5].map((index) => `${at}.nodes.${index} BANK_BAD_RESPONSE`));
  });

  test('does not hide the entry that is looked for', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({
      body: { branches: [null, 'text', { acceptsDeposits: true, id: 'B', name: 'n' }] },
    });
    const result = await fixture.ask('{ bank { branch(branchId: "B") { name } } }');
    expect(result).toEqual({ data: { bank: { branch: { name: 'n' } } } });
  });

  test('is reported for edges as it is for nodes', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: { branches: [null, whole] } });
    const result = await fixture.ask('{ bank { branches { edges { cursor node { acceptsDeposits } } } } }');
    expect(result.data).toMatchObject({
      bank: { branches: { edges: [{ node: null }, { node: { acceptsDeposits: true } }] } },
    });
    expect(failuresOf(result)).toEqual(['bank.branches.edges.0.node BANK_BAD_RESPONSE']);
  });
});

describe('an account whose id breaks the contract', () => {
  const views = 'GET /v1/api/banks/BANK/accounts/ACC/owner/views';
  const other = { balance: {}, id: true, label: "another account's" };

  test('is not taken for the one that was asked for', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(views, { body: { accounts: [other] } });
    const result = await fixture.ask('{ bank { account(accountId: "ACC") { label } } }');
    expect(result.data).toEqual({ bank: { account: null } });
    expect(failuresOf(result)).toEqual([
      expect.stringMatching(/^bank\.account (BANK_BAD_RESPONSE|NOT_FOUND)$/),
    ]);
  });

  test("does not get the path's id in a list", async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(views, { body: { accounts: [{ balance: {}, id: 'ACC', label: 'l' }, other] } });
    const result = await fixture.ask(
      '{ bank { accounts(accountId: "ACC") { totalCount nodes { id accountId label } } } }',
    );
    expect(result.data).toMatchObject({
      bank: { accounts: { totalCount: 2, nodes: [{ accountId: 'ACC', label: 'l' }, null] } },
    });
    expect(result.errors?.map(({ extensions }) => extensions.code)).toContain('BANK_BAD_RESPONSE');
  });
});
