import { beforeEach, describe, expect, test } from 'vitest';
import { anyAnswer } from '../support/any-bank.ts';
import { exact, failuresOf, shareBankqlFixture } from '../support/bankql-fixture.ts';
import { accountOf } from '../support/records.ts';

/**
 * Promise 3: an operation reads each record once, independent reads start at once, and fields that the ids answer cost no call.
 */

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
  of('a: accountId id bankId viewId __typename'),
  of('bank { id bankId b: bankId }'),
  of('... { accountId } ... on Account { ... on Account { viewId } }'),
  `${of('...F ... on Node { id }')} fragment F on Account { accountId ...G } fragment G on Node { id }`,
  of('accountId label @include(if: true) @skip(if: true)'),
  of('accountId ... on Account @skip(if: true) { owners { legalName } }'),
  of('otherAccount(otherAccountId: "X") { otherAccountId account { accountId } }'),
  of('transaction(transactionId: "T") { transactionId bank { bankId } accountId viewId account { id } }'),
  inBank('customer(customerId: "C") { customerId id bank { id } }'),
  inBank('branch(branchId: "BRANCH") { branchId id bank { bankId } }'),
  inBank('product(productId: "P") { productId id bank { bankId } }'),
  '{ bank(bankId: "ANY") { id bankId } }',
])('no call is made for fields that the ids answer: %s', async (document) => {
  expect((await run(document)).lines).toEqual([]);
});

test.each([
  [path.otherAccounts, of('otherAccounts { nodes { kind } }')],
  [path.otherAccounts, of('otherAccount(otherAccountId: "OTHER") { kind }')],
  [path.otherAccounts, of('otherAccount(otherAccountId: "X") { account { otherAccounts { totalCount } } }')],
  [path.requests, of('transactionRequests { nodes { status } }')],
  [path.requests, of('transaction(transactionId: "T") { account { transactionRequests { totalCount } } }')],
  [
    path.requests,
    of(`transactionRequests { nodes {
      from { account { accountId viewId } } to { account { id } } transactions { transactionId account { accountId } }
    } }`),
  ],
  [path.transaction, of('transaction(transactionId: "T") { uuid }')],
  [
    path.transaction,
    of('transaction(transactionId: "T") { account { accountId } otherAccount { otherAccountId id } }'),
  ],
  [path.branches, of('bank { bankId branches { totalCount } }')],
  [path.customer, inBank('customer(customerId: "C") { banks { bankId id } }')],
  [path.account, of('owners { customerId bankId id bank { bankId } __typename }')],
  // Queries with an alias that has the name of an id, with fragments on Node, and with selections that only
  // one of two places includes.
  [path.account, of('accountId: label')],
  [path.account, of('label l: label balance { amount }')],
  [path.account, of('... on Node { ... on Account { label } }')],
  [path.account, `${of('...F')} fragment F on Account { accountId ...G } fragment G on Account { label }`],
  [path.account, inBank('account(accountId: "A") { accountId } account(accountId: "A") { label }')],
  [path.account, `${of('...F @skip(if: true) ...F')} fragment F on Account { label }`],
  [path.account, of('label @skip(if: true) label')],
])('only %s is called for %s', async (line, document) => {
  const { lines, data } = await run(document);
  expect(lines).toEqual([line]);
  expect(data).not.toContain('null');
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
  ])('decide which calls are made, on %s', async (_, at) => {
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

test('an early read has the variables of its arguments', async () => {
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

describe('each record is read once in an operation', () => {
  test('ten accounts with two different owners take 10 + 2 calls', async () => {
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

  const otherWith = (filter: string) => `otherAccounts(filter: { iban: "I"${filter} }) { totalCount }`;
  const accountThrough = (view: string) => `account(accountId: "A", viewId: "${view}") { label }`;
  const counterpartyOf = (id: string) => `transaction(transactionId: "${id}") { otherAccount { kind } }`;

  test.each([
    [
      1,
      `{ a: bank { account(accountId: "A") { label } } b: bank(bankId: "BANK") { ${accountThrough('owner')} } }`,
    ],
    [
      2,
      of('label otherAccounts { nodes { account { label otherAccounts { nodes { account { iban } } } } } }'),
    ],
    [2, of('label transaction(transactionId: "T") { uuid account { label } }')],
    [1, of('label views { label }')],
    [
      1,
      of(
        'otherAccounts(first: 1) { totalCount } b: otherAccounts { totalCount } otherAccount(otherAccountId: "OTHER") { kind }',
      ),
    ],
    [
      1,
      inBank(
        'branch(branchId: "BRANCH") { name } b: branch(branchId: "BRANCH") { bankName } branches { totalCount }',
      ),
    ],
    [
      3,
      of(
        'owners { legalName } bank { a: customer(customerId: "O1") { email } b: customer(customerId: "O2") { email } }',
      ),
    ],
    [3, of(`a: ${counterpartyOf('T1')} b: ${counterpartyOf('T2')}`)],
    [
      2,
      '{ a: metadata(id: "M") { nodes { code } } b: metadata(id: "M") { totalCount } c: metadata(id: "N") { totalCount } }',
    ],
    [1, of(`a: ${otherWith('')} b: ${otherWith(', id: null')}`)],
    [2, of(`a: ${otherWith('')} b: ${otherWith(', id: "J"')}`)],
    [2, inBank(`a: ${accountThrough('v')} b: ${accountThrough('w')}`)],
    [2, of('views { label } label bank { accounts(accountId: "A") { totalCount } }')],
  ])('%i calls for %s', async (count, document) => {
    expect((await run(document)).lines).toHaveLength(count);
  });

  test('one call for a global id and a field of the same record', async () => {
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

describe('independent reads start at the same time', () => {
  const four =
    'label otherAccounts { totalCount } transactionRequests { totalCount } transaction(transactionId: "T") { uuid }';
  const lines = [path.otherAccounts, path.requests, path.transaction, path.account];
  const customers = Array.from({ length: 20 }, (_, n) => `c${n}: customer(customerId: "C${n}") { email }`);

  test.each<[string, string, readonly string[] | number]>([
    ['an account, its counterparties, its requests and one of its transactions', of(four), lines],
    [
      'through fragments and aliases, except fields that are skipped',
      `${of('...F x: transaction(transactionId: "T") @skip(if: true) { uuid }')}
      fragment F on Account { l: label ... { o: otherAccounts { nodes { kind } } } }`,
      [path.otherAccounts, path.account],
    ],
    [
      'from a transaction to its account, and further',
      of(`transaction(transactionId: "T") { uuid account { ${four} } }`),
      lines,
    ],
    [
      'twenty customers in one query, and root fields',
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

test('a field that is read early below a record that does not exist shows no error', async () => {
  const asked = Promise.withResolvers<void>();
  bank
    .on(path.account, async () => {
      await asked.promise;
      return { status: 404, body: {} };
    })
    .on(path.otherAccounts, () => {
      asked.resolve();
      return { status: 403 };
    });
  const result = await ask(
    of('label otherAccounts { totalCount } transaction(transactionId: "..") { uuid }'),
  );
  expect(result.data).toEqual({ bank: { account: null } });
  expect(failuresOf(result)).toEqual(['bank.account NOT_FOUND']);
});

test('the fields of a counterparty that is found by its IBAN have the id from the list', async () => {
  bank.on(path.otherAccounts, { body: { otherAccounts: [{ id: 'OTHER', IBAN: 'I1' }] } });
  const { data, lines } = await run(
    of('otherAccount(otherAccountId: "I1") { otherAccountId iban account { label } }'),
  );
  expect(lines).toEqual([path.otherAccounts, path.account]);
  expect(data).toContain('"otherAccountId":"OTHER"');
  expect(data).toContain('A as owner');
});

test('an early read that fails is one error, at its own field', async () => {
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
