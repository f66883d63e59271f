import { beforeEach, describe, expect, test } from 'vitest';
import { anyAnswer } from '../support/any-bank.ts';
import { failuresOf, shareBankqlFixture, startBankqlFixture } from '../support/bankql-fixture.ts';
import { otherAccountRecord, transactionRecord } from '../support/full-records.ts';

const { bank, ask } = await shareBankqlFixture();
beforeEach(() => void bank.otherwise(anyAnswer));

const account = 'GET /v1/api/banks/BANK/accounts/A/owner';
const inAccount = (selection: string) => `{ bank { account(accountId: "A") { ${selection} } } }`;

describe('an account', () => {
  test('leads to one other view by its id, and to all its views', async () => {
    const selection = 'view(viewId: "public") { viewId label } views { accountId viewId label }';
    expect(await ask(inAccount(selection))).toEqual({
      data: {
        bank: {
          account: {
            view: { viewId: 'public', label: 'A as public' },
            views: [{ accountId: 'A', viewId: 'owner', label: 'A as owner' }],
          },
        },
      },
    });
    expect(bank.lines().sort()).toEqual([
      `${account}/views`,
      'GET /v1/api/banks/BANK/accounts/A/public/views',
    ]);
  });

  test('has views that fail one by one; `views` is null if the bank refuses the list', async () => {
    bank.on(`${account}/views`, {
      body: { accounts: [{ label: 1.5 }, { balance: {}, id: 'A', label: 'one' }] },
    });
    const result = await ask(inAccount('views { label }'));
    expect(result.data).toEqual({
      bank: { account: { views: [{ label: null }, { label: 'one' }] } },
    });
    expect(failuresOf(result)).toEqual(['bank.account.views.0.label BANK_BAD_RESPONSE']);
    bank.on(`${account}/views`, { status: 403, body: {} });
    const refused = await ask(inAccount('views { label }'));
    expect(refused.data).toEqual({ bank: { account: { views: null } } });
    expect(failuresOf(refused)).toEqual(['bank.account.views FORBIDDEN']);
  });

  test('has no view with an invalid id', async () => {
    expect(failuresOf(await ask(inAccount('view(viewId: "..") { label }')))).toEqual([
      'bank.account.view BAD_USER_INPUT',
    ]);
    expect(bank.lines()).toEqual([]);
  });
});

describe('a transaction', () => {
  const path = `${account}/transactions/T/transaction`;
  const counterparty = 'otherAccountId otherAccount { otherAccountId bankName holder { name } }';
  const transactionWith = (selection: string) =>
    inAccount(`transaction(transactionId: "T") { ${selection} }`);

  test('with empty details, metadata and ids has null members and no counterparty', async () => {
    bank.otherwise({ body: { details: {}, metadata: {}, this_account: '', other_account: '' } });
    const transaction = {
      details: { status: null, value: null },
      metadata: { comments: null },
      otherAccountId: '',
      otherAccount: null,
    };
    const result = await ask(
      transactionWith(`details { status value { amount } } metadata { comments }
        otherAccountId otherAccount { otherAccountId }`),
    );
    expect(result).toEqual({ data: { bank: { account: { transaction } } } });
    expect(bank.lines()).toEqual([path]);
  });

  const whole = { id: 'not-listed', bank: 'B', holder: { is_alias: false, name: 'Ann' } };
  const listed = { ...otherAccountRecord, id: 'listed' };
  test.each([
    ['is shown as the bank writes it whole, without a call', whole, whole, [path]],
    ['is looked up if it is not whole', { id: 'listed' }, listed, [path, `${account}/other_accounts`]],
  ])('has a counterparty that %s', async (_, written, { id, bank: bankName, holder: { name } }, calls) => {
    bank
      .on(path, { body: { ...transactionRecord, id: 'T', other_account: written } })
      .on(`${account}/other_accounts`, { body: { otherAccounts: [listed] } });
    const otherAccount = { otherAccountId: id, bankName, holder: { name } };
    expect(await ask(transactionWith(counterparty))).toEqual({
      data: { bank: { account: { transaction: { otherAccountId: id, otherAccount } } } },
    });
    expect(bank.lines()).toEqual(calls);
  });
});

test('a transaction request in the answer to a payment is the one in the list only if the bank gives it a URL', async () => {
  await using fixture = await startBankqlFixture();
  const put = `${account}/transaction-request-types/T/transaction-requests`.replace('GET', 'PUT');
  const list = `${account}/transaction-requests`;
  const requestOf = (status: string, to: string, more = {}) => ({
    status,
    body: { to: { account_id: to }, value: { amount: '5' } },
    ...more,
  });
  const named = requestOf('INITIATED', 'B', { resource_url: '/requests#1' });
  fixture.bank
    .on(put, { body: { 'transaction-requests': [named, requestOf('COMPLETED', 'C')] } })
    .on(list, { body: { 'transaction-requests': [{ status: 'FAILED' }, named] } });
  const { data } = await fixture.ask(`mutation { putTransactionRequest(input: {
    accountId: "A", transactionRequestType: "T", to: { accountId: "B" }, value: { amount: "5" }, idempotencyKey: "k"
  }) { transactionRequests { id } } }`);
  const [first, second] = Object(data).putTransactionRequest.transactionRequests;
  const again = ({ id }: { id: string }) =>
    fixture.ask('query ($id: ID!) { node(id: $id) { ... on TransactionRequest { status } } }', { id });
  expect(await again(first)).toEqual({ data: { node: { status: 'INITIATED' } } });
  expect(failuresOf(await again(second))).toEqual(['node NOT_FOUND']);
  expect(fixture.bank.lines()).toEqual([put, list, list]);
});

test('a counterparty at the same bank leads to its account, through the same view or another', async () => {
  bank.on(`${account}/other_accounts`, {
    body: {
      otherAccounts: [
        { bank: 'BANK', id: 'B' },
        { bank: 'The Bank', swift_bic: 'BANKXXX', id: 'C' },
        { bank: 'Another', swift_bic: 'ELSEBANK', id: 'D' },
        { bank: 'BANK' },
        { bank: 'BANK', id: '../x' },
      ],
    },
  });
  const result = await ask(
    inAccount(`otherAccounts { nodes {
      bank { bankId } linkedAccount { viewId label } public: linkedAccount(viewId: "public") { viewId label }
    } }`),
  );
  const linked = (id: string | null) =>
    id && {
      linkedAccount: { viewId: 'owner', label: `${id} as owner` },
      public: { viewId: 'public', label: `${id} as public` },
    };
  const nodes = ['B', 'C', null, null, null].map((id) => ({
    bank: { bankId: 'BANK' },
    ...(linked(id) || { linkedAccount: null, public: null }),
  }));
  expect(result.data).toEqual({ bank: { account: { otherAccounts: { nodes } } } });
  const failed = 'bank.account.otherAccounts.nodes.4';
  expect(failuresOf(result)).toEqual([
    `${failed}.linkedAccount BANK_BAD_RESPONSE`,
    `${failed}.public BANK_BAD_RESPONSE`,
  ]);
  expect(bank.lines()).toHaveLength(5);
});
