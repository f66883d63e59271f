import { describe, expect, test } from 'vitest';
import { graphql } from '../generated/index.ts';
import { anyAnswer } from '../support/any-bank.ts';
import { type BankqlFixture, exact, startBankqlFixture } from '../support/bankql-fixture.ts';

const base = 'GET /v1/api/banks/BANK/accounts';
const path = {
  account: `${base}/A/owner/views`,
  otherAccounts: `${base}/A/owner/other_accounts`,
  requests: `${base}/A/owner/transaction-requests`,
  transaction: `${base}/A/owner/transactions/T/transaction`,
  branches: 'GET /v1/api/banks/BANK/branches',
};
const of = (selection: string) => `{ bank { account(accountId: "A") { ${selection} } } }`;

async function linesOf(document: string) {
  await using fixture = await startBankqlFixture();
  fixture.bank.otherwise(anyAnswer);
  const result = await fixture.ask(document);
  expect(result.errors).toBeUndefined();
  return fixture.bank.lines();
}

describe('calls', () => {
  test('ten aliased accounts with two distinct owners between them cost 10 + 2', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(({ path, ...call }) => {
      const index = Number(/\/accounts\/A(\d)\//.exec(path)?.[1]);
      if (Number.isNaN(index)) return anyAnswer({ path, ...call });
      return {
        body: {
          accounts: [
            { balance: { amount: exact(`${index}.50`) }, owners: index % 2 ? ['O1', 'O2'] : ['O2'] },
          ],
        },
      };
    });
    const names = Array.from({ length: 10 }, (_, index) => `A${index}`);
    const aliases = names.map(
      (id) => `${id}: account(accountId: "${id}") { balance { amount } owners { legalName } }`,
    );
    const result = await fixture.ask(`{ bank { ${aliases.join(' ')} } }`);
    const [one, two] = [{ legalName: 'name of O1' }, { legalName: 'name of O2' }];
    expect(result).toEqual({
      data: {
        bank: Object.fromEntries(
          names.map((id, index) => [
            id,
            { balance: { amount: `${index}.50` }, owners: index % 2 ? [one, two] : [two] },
          ]),
        ),
      },
    });
    expect(fixture.bank.calls).toHaveLength(12);
    expect(
      fixture.bank
        .lines()
        .filter((line) => line.includes('/customers/'))
        .sort(),
    ).toEqual(['GET /v1/api/banks/BANK/customers/O1', 'GET /v1/api/banks/BANK/customers/O2']);
  });

  test.each([
    ['of the account: counterparties', of('otherAccounts { nodes { kind } }'), [path.otherAccounts]],
    ['of the account: requests', of('transactionRequests { nodes { status } }'), [path.requests]],
    ['of the account: a transaction', of('transaction(transactionId: "T") { uuid }'), [path.transaction]],
    [
      'of the account: a counterparty',
      of('otherAccount(otherAccountId: "OTHER") { kind }'),
      [path.otherAccounts],
    ],
    ['of the account and its bank', of('bank { bankId branches { totalCount } }'), [path.branches]],
    [
      'of a counterparty',
      of('otherAccount(otherAccountId: "X") { otherAccountId account { accountId } }'),
      [],
    ],
    [
      "of a counterparty's account",
      of('otherAccount(otherAccountId: "X") { account { otherAccounts { totalCount } } }'),
      [path.otherAccounts],
    ],
    [
      'of a transaction',
      of('transaction(transactionId: "T") { transactionId bankId accountId viewId account { id } }'),
      [],
    ],
    [
      "of a transaction's account",
      of('transaction(transactionId: "T") { account { transactionRequests { totalCount } } }'),
      [path.requests],
    ],
    [
      "of a transaction's ends",
      of('transaction(transactionId: "T") { thisAccount { accountId } otherAccount { otherAccountId id } }'),
      [path.transaction],
    ],
    [
      "of a request's ends and transactions",
      of(
        'transactionRequests { nodes { from { account { accountId viewId } } to { account { id } } transactions { transactionId account { accountId } } } }',
      ),
      [path.requests],
    ],
    ['of owners', of('owners { customerId bankId id bank { bankId } __typename }'), [path.account]],
    ['of a customer', '{ bank { customer(customerId: "C") { customerId id bank { id } } } }', []],
    [
      "of a customer's banks",
      '{ bank { customer(customerId: "C") { banks { bankId id } } } }',
      ['GET /v1/api/banks/BANK/customers/C'],
    ],
    ['of a branch', '{ bank { branch(branchId: "BRANCH") { branchId id bank { bankId } } } }', []],
    ['of a product', '{ bank { product(productId: "P") { productId id bank { bankId } } } }', []],
    ['of a bank', '{ bank(bankId: "ANY") { id bankId } }', []],
  ])('are not spent on what the ids answer: %s', async (_, document, lines) => {
    expect(await linesOf(document)).toEqual(lines);
  });

  test.each([
    [
      'aliases',
      '{ bank { a: account(accountId: "A") { label } b: account(accountId: "A", viewId: "owner") { iban } } }',
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
      '{ bank { branch(branchId: "BRANCH") { name } b: branch(branchId: "BRANCH") { bankName } branches { totalCount } } }',
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
      '{ bank { a: account(accountId: "A", viewId: "v") { label } b: account(accountId: "A", viewId: "w") { label } } }',
      2,
    ],
    [
      'one account in two scopes',
      '{ bank { a: accounts(accountId: "A") { totalCount } b: accounts(accountId: "A", scope: PERMISSIONS) { totalCount } } }',
      2,
    ],
  ])('are spent once for each record: %s', async (_, document, count) => {
    expect(await linesOf(document)).toHaveLength(count);
  });

  test("five transactions' counterparties cost one getOtherAccounts", async () => {
    const five = [1, 2, 3, 4, 5].map(
      (n) => `t${n}: transaction(transactionId: "T${n}") { otherAccount { kind } }`,
    );
    const lines = await linesOf(of(five.join(' ')));
    expect(lines.filter((line) => line === path.otherAccounts)).toHaveLength(1);
    expect(lines).toHaveLength(6);
  });

  test('a record asked for by its global id and by a field is read once', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(anyAnswer);
    const found = await fixture.ask(GlobalIdOfAccount);
    const id = found.data?.bank?.account?.id ?? '';
    const result = await fixture.ask(AccountByFieldAndNode, { id });
    expect(result).toEqual({
      data: {
        bank: { account: { label: 'A as owner' } },
        node: { label: 'A as owner' },
        nodes: [{ label: 'A as owner' }, { label: 'A as owner' }],
      },
    });
    expect(fixture.bank.lines()).toEqual([path.account]);
  });
});

const GlobalIdOfAccount = graphql(`
  query GlobalIdOfAccount { bank { account(accountId: "A") { id } } }
`);
const AccountByFieldAndNode = graphql(`
  query AccountByFieldAndNode($id: ID!) {
    bank { account(accountId: "A") { label } }
    node(id: $id) { ... on Account { label } }
    nodes(ids: [$id, $id]) { ... on Account { label } }
  }
`);

describe('independent records leave at once', () => {
  /** The lines that arrive while no answer leaves; then lets all answers go. */
  async function arriving(fixture: BankqlFixture, document: string, count: number) {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    fixture.bank.otherwise(async (call) => {
      await released;
      return anyAnswer(call);
    });
    const answer = fixture.ask(document);
    await expect.poll(() => fixture.bank.calls).toHaveLength(count);
    const lines = fixture.bank.lines().sort();
    release();
    expect((await answer).errors).toBeUndefined();
    return lines;
  }

  const four =
    'label otherAccounts { totalCount } transactionRequests { totalCount } transaction(transactionId: "T") { uuid }';

  test('an account, its counterparties, its requests and one of its transactions', async () => {
    await using fixture = await startBankqlFixture();
    const lines = await arriving(fixture, of(four), 4);
    expect(lines).toEqual([path.otherAccounts, path.requests, path.transaction, path.account].sort());
    expect(fixture.bank.calls).toHaveLength(4);
  });

  test('also through fragments and aliases, and not what is skipped', async () => {
    await using fixture = await startBankqlFixture();
    const document = `${of('...F x: transaction(transactionId: "T") @skip(if: true) { uuid }')}
      fragment F on Account { l: label ... { o: otherAccounts { nodes { kind } } } }`;
    await arriving(fixture, document, 2);
    expect(fixture.bank.calls).toHaveLength(2);
  });

  test('also from a transaction to its account, and on from there', async () => {
    await using fixture = await startBankqlFixture();
    const document = of(`transaction(transactionId: "T") { uuid account { ${four} } }`);
    await arriving(fixture, document, 4);
    expect(fixture.bank.calls).toHaveLength(4);
  });

  test('twenty branches of one query, root fields and nodes', async () => {
    await using fixture = await startBankqlFixture();
    const ids = Array.from({ length: 20 }, (_, n) => `c${n}: customer(customerId: "C${n}") { email }`);
    await arriving(
      fixture,
      `{ bank { ${ids.join(' ')} messages { totalCount } } metadata(id: "M") { totalCount } }`,
      22,
    );
  });
});

describe('what is asked for ahead', () => {
  test('fails once, at its own field, where it fails', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(path.otherAccounts, { status: 403 }).otherwise(anyAnswer);
    const result = await fixture.ask(
      of('label otherAccounts { totalCount } transaction(transactionId: "..") { uuid }'),
    );
    expect(result.data).toEqual({
      bank: { account: { label: 'A as owner', otherAccounts: null, transaction: null } },
    });
    expect(result.errors?.map(({ path, extensions }) => `${path?.at(-1)} ${extensions.code}`).sort()).toEqual(
      ['otherAccounts FORBIDDEN', 'transaction BAD_USER_INPUT'],
    );
    expect(fixture.bank.lines().sort()).toEqual([path.otherAccounts, path.account].sort());
  });
});
