import { describe, expect, test } from 'vitest';
import { failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';

/** The lists of all record types: a title, the name in the bank's answer, the query, and the path in the answer to it. */
const lists: readonly (readonly [string, string, (page: string) => string, string])[] = [
  [
    'accounts',
    'accounts',
    (page) => `{ bank { accounts(accountId: "ACC", ${page}) { totalCount nodes { label } } } }`,
    'bank.accounts',
  ],
  [
    'branches',
    'branches',
    (page) => `{ bank { branches(${page}) { totalCount nodes { name } } } }`,
    'bank.branches',
  ],
  [
    'filtered branches',
    'branches',
    (page) => `{ bank { branches(filter: { id: "Q" }, ${page}) { totalCount nodes { name } } } }`,
    'bank.branches',
  ],
  [
    'products',
    'product',
    (page) => `{ bank { products(filter: { id: "Q" }, ${page}) { totalCount nodes { name } } } }`,
    'bank.products',
  ],
  [
    'messages',
    'messages',
    (page) => `{ bank { messages(${page}) { totalCount nodes { date } } } }`,
    'bank.messages',
  ],
  [
    'metadata',
    'metadata',
    (page) => `{ metadata(id: "M", ${page}) { totalCount nodes { code } } }`,
    'metadata',
  ],
  [
    'counterparties',
    'otherAccounts',
    (page) =>
      `{ bank { account(accountId: "ACC") { otherAccounts(${page}) { totalCount nodes { kind } } } } }`,
    'bank.account.otherAccounts',
  ],
  [
    'requests',
    'transaction-requests',
    (page) =>
      `{ bank { account(accountId: "ACC") { transactionRequests(${page}) { totalCount nodes { status } } } } }`,
    'bank.account.transactionRequests',
  ],
];
const whole = { acceptsDeposits: true, balance: {}, bank: 'b', code: 'c' };

describe.each(lists)('%s', (_, key, queryOf, at) => {
  test('are null where an entry is no object, at its place', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: { [key]: [whole, null, 'text', whole, 7, [], whole] } });
    const result = await fixture.ask(queryOf('first: 10'));
    const connection = at
      .split('.')
      .reduce<unknown>((part, name) => Reflect.get(Object(part), name), result.data);
    const nodes = [expect.anything(), null, null, expect.anything(), null, null, expect.anything()];
    expect(connection).toEqual({ totalCount: 7, nodes });
    expect(failuresOf(result)).toEqual([1, 2, 4, 5].map((index) => `${at}.nodes.${index} BANK_BAD_RESPONSE`));
  });

  test('are refused without a call for negative counts and cursors that are none', async () => {
    await using fixture = await startBankqlFixture();
    for (const page of [
      'first: -1',
      'last: -2147483648',
      'after: ""',
      'after: "nothing"',
      'before: "YXQ6LTE"',
      'before: "YXQ6MXg"',
      'after: "at:1"',
    ])
      expect([page, failuresOf(await fixture.ask(queryOf(page)))]).toEqual([page, [`${at} BAD_USER_INPUT`]]);
    expect(fixture.bank.lines()).toEqual([]);
  });
});

describe('an entry of a list that is no object', () => {
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
