import { beforeEach, describe, expect, test } from 'vitest';
import { anyAnswer } from '../support/any-bank.ts';
import { exact, shareBankqlFixture } from '../support/bankql-fixture.ts';
import { accountOf } from '../support/records.ts';

/** Promise 3: an operation reads each record once, independent reads start at once, and what ids answer costs no call. */

const { bank, ask } = await shareBankqlFixture();
beforeEach(() => void bank.otherwise(anyAnswer));

const base = 'GET /v1/api/banks/BANK/accounts/A/owner';
const path = {
  account: `${base}/views`,
  otherAccounts: `${base}/other_accounts`,
  requests: `${base}/transaction-requests`,
  transaction: `${base}/transactions/T/transaction`,
  branches: 'GET /v1/api/banks/BANK/branches',
  customer: 'GET /v1/api/banks/BANK/customers/C',
};
const inBank = (selection: string) => `{ bank { ${selection} } }`;
const of = (selection: string) => inBank(`account(accountId: "A") { ${selection} }`);

/** The calls of an operation, and its data as a text. */
async function run(document: string, variables: object = {}) {
  bank.calls.length = 0;
  const result = await ask(document, variables);
  expect(result.errors).toBeUndefined();
  return { lines: bank.lines().sort(), data: JSON.stringify(result.data) };
}

test.each([
  ['an account', of('a: accountId id bankId viewId __typename')],
  ['an account through its bank', of('bank { id bankId b: bankId }')],
  [
    'an account through fragments on its type',
    of('... { accountId } ... on Account { ... on Account { viewId } }'),
  ],
  [
    'an account through named fragments and Node',
    `${of('...F ... on Node { id }')} fragment F on Account { accountId ...G } fragment G on Node { id }`,
  ],
  [
    'an account beside what one of two directives leaves out',
    of('accountId label @include(if: true) @skip(if: true)'),
  ],
  [
    'anything inside of a fragment that is skipped',
    of('accountId ... on Account @skip(if: true) { owners { legalName } }'),
  ],
  ['counterparties of the account', of('otherAccounts { nodes { kind } }'), path.otherAccounts],
  ['requests of the account', of('transactionRequests { nodes { status } }'), path.requests],
  ['a transaction of the account', of('transaction(transactionId: "T") { uuid }'), path.transaction],
  ['a counterparty of the account', of('otherAccount(otherAccountId: "OTHER") { kind }'), path.otherAccounts],
  ['the account and its bank', of('bank { bankId branches { totalCount } }'), path.branches],
  ['a counterparty', of('otherAccount(otherAccountId: "X") { otherAccountId account { accountId } }')],
  [
    "a counterparty's account",
    of('otherAccount(otherAccountId: "X") { account { otherAccounts { totalCount } } }'),
    path.otherAccounts,
  ],
  [
    'a transaction',
    of(
      'transaction(transactionId: "T") { transactionId bankId bank { bankId } accountId viewId account { id } }',
    ),
  ],
  [
    "a transaction's account",
    of('transaction(transactionId: "T") { account { transactionRequests { totalCount } } }'),
    path.requests,
  ],
  [
    "a transaction's ends",
    of('transaction(transactionId: "T") { thisAccount { accountId } otherAccount { otherAccountId id } }'),
    path.transaction,
  ],
  [
    "a request's ends and transactions",
    of(`transactionRequests { nodes {
      from { account { accountId viewId } } to { account { id } } transactions { transactionId account { accountId } }
    } }`),
    path.requests,
  ],
  ['owners', of('owners { customerId bankId id bank { bankId } __typename }'), path.account],
  ['a customer', inBank('customer(customerId: "C") { customerId id bank { id } }')],
  ["a customer's banks", inBank('customer(customerId: "C") { banks { bankId id } }'), path.customer],
  ['a branch', inBank('branch(branchId: "BRANCH") { branchId id bank { bankId } }')],
  ['a product', inBank('product(productId: "P") { productId id bank { bankId } }')],
  ['a bank', '{ bank(bankId: "ANY") { id bankId } }'],
] as [string, string, string?][])(
  'no call is spent on what the ids answer of %s',
  async (_, document, line) => {
    expect((await run(document)).lines).toEqual(line === undefined ? [] : [line]);
  },
);

test.each([
  ['through an alias that is named like an id', of('accountId: label')],
  ['through several fields and aliases', of('label l: label iban balance { amount }')],
  ['through a fragment on Node', of('... on Node { ... on Account { label } }')],
  [
    'through named fragments',
    `${of('...F')} fragment F on Account { accountId ...G } fragment G on Account { label }`,
  ],
  [
    'through one field in two places',
    inBank('account(accountId: "A") { accountId } account(accountId: "A") { label }'),
  ],
  [
    'through one fragment, skipped the first time',
    `${of('...F @skip(if: true) ...F')} fragment F on Account { label }`,
  ],
  ['where one of two selections is kept', of('label @skip(if: true) label')],
])('an account of which its record is selected %s costs one call', async (_, document) => {
  const { lines, data } = await run(document);
  expect(lines).toEqual([path.account]);
  expect(data).toContain('A as owner');
});

describe('@skip and @include with variables', () => {
  const values: readonly (readonly [string, string, object, number])[] = [
    ['@include(if: $on)', '$on: Boolean!', { on: true }, 1],
    ['@include(if: $on)', '$on: Boolean!', { on: false }, 0],
    ['@skip(if: $on)', '$on: Boolean!', { on: true }, 0],
    ['@skip(if: $on)', '$on: Boolean!', { on: false }, 1],
    ['@include(if: $on)', '$on: Boolean = true', {}, 1],
    ['@include(if: $on)', '$on: Boolean = false', {}, 0],
    ['@skip(if: $on)', '$on: Boolean! = false', {}, 1],
    ['@include(if: $on)', '$on: Boolean! = false', { on: true }, 1],
    ['@include(if: $on) @skip(if: $off)', '$on: Boolean!, $off: Boolean!', { on: true, off: false }, 1],
    ['@include(if: $on) @skip(if: $off)', '$on: Boolean!, $off: Boolean!', { on: true, off: true }, 0],
  ];

  test.each([
    ['a field', (directive: string) => `label ${directive} ... @skip(if: true) { ...F }`],
    ['an inline fragment', (directive: string) => `... ${directive} { ...F }`],
    ['an inline fragment with a type', (directive: string) => `... on Account ${directive} { ...F }`],
    ['a named fragment', (directive: string) => `...F ${directive}`],
  ])('on %s', async (_, at) => {
    for (const [directive, declared, variables, calls] of values) {
      const selection = `account(accountId: "A") { accountId ${at(directive)} }`;
      const document = `query Q(${declared}) { bank { ${selection} } } fragment F on Account { label }`;
      const { lines, data } = await run(document, variables);
      expect([directive, variables, lines.length, data.includes('A as owner')]).toEqual([
        directive,
        variables,
        calls,
        calls === 1,
      ]);
    }
  });
});

test('an argument with variables is what it would be without looking ahead', async () => {
  const { lines } = await run(
    `query Q($id: ID!, $tx: ID = "T9", $filter: OtherAccountFilter, $n: Int) {
      bank {
        account(accountId: $id) {
          label
          transaction(transactionId: $tx) { uuid }
          otherAccounts(filter: $filter, first: $n) { totalCount }
          other: otherAccounts { totalCount }
        }
      }
    }`,
    { id: 'A', filter: { iban: 'I' }, n: 1 },
  );
  const query = path.otherAccounts.replace('GET', 'POST');
  expect(lines).toEqual([path.otherAccounts, path.transaction.replace('T/', 'T9/'), path.account, query]);
});

describe('each record is read once', () => {
  test('ten aliased accounts with two distinct owners between them cost 10 + 2', async () => {
    bank.otherwise((call) => {
      const [, digit] = /\/accounts\/A(\d)\//.exec(call.path) ?? [];
      if (digit === undefined) return anyAnswer(call);
      const owners = Number(digit) % 2 ? ['O1', 'O2'] : ['O2'];
      return { body: { accounts: [accountOf({ balance: { amount: exact(`${digit}.50`) }, owners })] } };
    });
    const names = Array.from({ length: 10 }, (_, index) => `A${index}`);
    const result = await ask(
      inBank(
        names
          .map((id) => `${id}: account(accountId: "${id}") { balance { amount } owners { legalName } }`)
          .join(' '),
      ),
    );
    const [one, two] = [{ legalName: 'name of O1' }, { legalName: 'name of O2' }];
    const accounts = names.map((id, index) => [
      id,
      { balance: { amount: `${index}.50` }, owners: index % 2 ? [one, two] : [two] },
    ]);
    expect(result).toEqual({ data: { bank: Object.fromEntries(accounts) } });
    expect(bank.calls).toHaveLength(12);
    const customers = bank.lines().filter((line) => line.includes('/customers/'));
    expect(customers.sort()).toEqual(['O1', 'O2'].map((id) => path.customer.replace(/C$/, id)));
  });

  test.each([
    [
      'aliases',
      inBank('a: account(accountId: "A") { label } b: account(accountId: "A", viewId: "owner") { iban }'),
      1,
    ],
    [
      'aliases of the bank',
      '{ a: bank { account(accountId: "A") { label } } b: bank(bankId: "BANK") { account(accountId: "A") { iban } } }',
      1,
    ],
    [
      'a counterparty that leads back',
      of(
        'label otherAccounts { nodes { account { label otherAccounts { nodes { kind account { iban } } } } } }',
      ),
      2,
    ],
    [
      'a transaction that leads back',
      of('label transaction(transactionId: "T") { uuid account { label } thisAccount { label } }'),
      2,
    ],
    ['the entry and the list', of('label bank { accounts(accountId: "A") { nodes { label } } }'), 1],
    [
      'a list, whole and cut',
      of(
        'a: otherAccounts(first: 1) { totalCount } b: otherAccounts { totalCount } otherAccount(otherAccountId: "OTHER") { kind }',
      ),
      1,
    ],
    [
      'a branch and the list',
      inBank(
        'branch(branchId: "BRANCH") { name } b: branch(branchId: "BRANCH") { bankName } branches { totalCount }',
      ),
      1,
    ],
    [
      'an owner and the customer',
      of(
        'owners { legalName } bank { a: customer(customerId: "O1") { email } b: customer(customerId: "O2") { email } }',
      ),
      3,
    ],
    [
      'the counterparties of two transactions',
      of(
        'a: transaction(transactionId: "T1") { otherAccount { kind } } b: transaction(transactionId: "T2") { otherAccount { kind } }',
      ),
      3,
    ],
    [
      'metadata of one id, and of another',
      '{ a: metadata(id: "M") { nodes { code } } b: metadata(id: "M") { totalCount } c: metadata(id: "N") { totalCount } }',
      2,
    ],
    [
      'filters with the same query',
      of(
        'a: otherAccounts(filter: { iban: "I" }) { totalCount } b: otherAccounts(filter: { iban: "I", id: null }) { totalCount }',
      ),
      1,
    ],
    [
      'filters with different queries',
      of(
        'a: otherAccounts(filter: { iban: "I" }) { totalCount } b: otherAccounts(filter: { iban: "I", id: "J" }) { totalCount }',
      ),
      2,
    ],
    [
      'one account through two views',
      inBank(
        'a: account(accountId: "A", viewId: "v") { label } b: account(accountId: "A", viewId: "w") { label }',
      ),
      2,
    ],
    [
      'one account in two scopes',
      inBank(
        'a: accounts(accountId: "A") { totalCount } b: accounts(accountId: "A", scope: PERMISSIONS) { totalCount }',
      ),
      2,
    ],
  ])('%s', async (_, document, count) => {
    expect((await run(document)).lines).toHaveLength(count);
  });

  test('by its global id and by a field', async () => {
    const id = Buffer.from('Account:["BANK","A","owner"]').toString('base64url');
    const { lines, data } = await run(
      `query ($id: ID!) {
        bank { account(accountId: "A") { label } }
        node(id: $id) { ... on Account { label } }
        nodes(ids: [$id, $id]) { ... on Account { label } }
      }`,
      { id },
    );
    expect(data.match(/A as owner/g)).toHaveLength(4);
    expect(lines).toEqual([path.account]);
  });
});

describe('independent records leave at once', () => {
  const four =
    'label otherAccounts { totalCount } transactionRequests { totalCount } transaction(transactionId: "T") { uuid }';
  const lines = [path.otherAccounts, path.requests, path.transaction, path.account];
  const customers = Array.from({ length: 20 }, (_, n) => `c${n}: customer(customerId: "C${n}") { email }`);

  test.each<[string, string, readonly string[] | number]>([
    ['an account, its counterparties, its requests and one of its transactions', of(four), lines],
    [
      'also through fragments and aliases, and not what is skipped',
      `${of('...F x: transaction(transactionId: "T") @skip(if: true) { uuid }')}
      fragment F on Account { l: label ... { o: otherAccounts { nodes { kind } } } }`,
      [path.otherAccounts, path.account],
    ],
    [
      'also from a transaction to its account, and on from there',
      of(`transaction(transactionId: "T") { uuid account { ${four} } }`),
      lines,
    ],
    [
      'twenty branches of one query, and root fields',
      `{ bank { ${customers.join(' ')} messages { totalCount } } metadata(id: "M") { totalCount } }`,
      22,
    ],
  ])('%s', async (_, document, expected) => {
    const released = Promise.withResolvers<void>();
    bank.otherwise(async (call) => {
      await released.promise;
      return anyAnswer(call);
    });
    const answer = ask(document);
    const count = typeof expected === 'number' ? expected : expected.length;
    await expect.poll(() => bank.calls).toHaveLength(count);
    if (typeof expected !== 'number') expect(bank.lines().sort()).toEqual(expected.toSorted());
    released.resolve();
    expect((await answer).errors).toBeUndefined();
    expect(bank.calls).toHaveLength(count);
  });
});

test('what is asked for ahead fails once, at its own field, where it fails', async () => {
  bank.on(path.otherAccounts, { status: 403 });
  const result = await ask(
    of('label otherAccounts { totalCount } transaction(transactionId: "..") { uuid }'),
  );
  expect(result.data).toEqual({
    bank: { account: { label: 'A as owner', otherAccounts: null, transaction: null } },
  });
  expect(result.errors?.map(({ path, extensions }) => `${path?.at(-1)} ${extensions.code}`).sort()).toEqual([
    'otherAccounts FORBIDDEN',
    'transaction BAD_USER_INPUT',
  ]);
  expect(bank.lines().sort()).toEqual([path.otherAccounts, path.account]);
});
