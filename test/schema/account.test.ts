import { describe, expect, test } from 'vitest';
import { graphql } from '../generated/index.ts';
import { failuresOf, onlyCall, sentJson, startBankqlFixture } from '../support/bankql-fixture.ts';
import { accountRecord } from '../support/full-records.ts';

graphql(`
  fragment WholeAccount on Account {
    bankId
    accountId
    viewId
    bank { bankId }
    bankIds
    label
    number
    iban
    swiftBic
    types
    balance { currency amount }
    viewsAvailable
    ownerIds
    owners { customerId bankId }
  }
`);

const WholeAccountQuery = graphql(`
  query WholeAccountQuery($accountId: ID!, $viewId: ID) {
    bank { account(accountId: $accountId, viewId: $viewId) { ...WholeAccount } }
  }
`);

const WholeAccounts = graphql(`
  query WholeAccounts($viewId: ID, $scope: AccountScope! = VIEWS) {
    bank {
      accounts(accountId: "ACC", viewId: $viewId, scope: $scope) { totalCount nodes { ...WholeAccount } }
    }
  }
`);

const AccountsOfDefaultScope = graphql(`
  query AccountsOfDefaultScope { bank { accounts(accountId: "ACC") { totalCount } } }
`);

const PutWholeAccount = graphql(`
  mutation PutWholeAccount($input: PutAccountInput!) {
    putAccount(input: $input) { trackId account { ...WholeAccount } }
  }
`);

const PutAccountOnly = graphql(`
  mutation PutAccountOnly($input: PutAccountInput!) {
    putAccount(input: $input) { trackId account { accountId viewId } }
  }
`);

const wholeAccount = {
  bankId: 'BANK',
  accountId: 'ACC',
  viewId: 'owner',
  bank: { bankId: 'BANK' },
  bankIds: ['BANK'],
  label: 'label',
  number: 'account-number',
  iban: 'account-iban',
  swiftBic: 'account-swift-bic',
  types: ['type-1', 'type-2'],
  balance: { currency: 'EUR', amount: '9007199254740993.250' },
  viewsAvailable: ['view-1', 'view-2'],
  ownerIds: ['owner-1', 'owner-2'],
  owners: [
    { customerId: 'owner-1', bankId: 'BANK' },
    { customerId: 'owner-2', bankId: 'BANK' },
  ],
};

const leastAccount = {
  bankId: 'BANK',
  accountId: 'ACC',
  viewId: 'owner',
  bank: { bankId: 'BANK' },
  bankIds: null,
  label: null,
  number: null,
  iban: null,
  swiftBic: null,
  types: null,
  balance: { currency: null, amount: null },
  viewsAvailable: null,
  ownerIds: null,
  owners: null,
};

const ListedAndLinked = graphql(`
  query ListedAndLinked($asksForMore: Boolean!) {
    bank {
      accounts(accountId: "ACC", scope: VIEWS) {
        nodes {
          accountId
          view(viewId: "owner") {
            label
            typeCodes
            balance { amount }
            owners { customerId }
            swiftBic @include(if: $asksForMore)
          }
        }
      }
    }
  }
`);

const views = 'GET /v1/api/banks/BANK/accounts/ACC/owner/views';

describe('an account that a list has without one of its fields', () => {
  const { swift_bic, ...listed } = accountRecord;
  const linked = {
    label: 'label',
    typeCodes: ['OTHER', 'OTHER'],
    balance: { amount: '9007199254740993.250' },
    owners: [{ customerId: 'owner-1' }, { customerId: 'owner-2' }],
  };

  /** The list has two accounts; the bank answers a read of the second with its BIC. */
  async function start() {
    const fixture = await startBankqlFixture();
    fixture.bank.on(views, { body: { accounts: [listed, { ...listed, id: 'ACC-2' }] } });
    const second = views.replace('ACC', 'ACC-2');
    fixture.bank.on(second, { body: { accounts: [{ ...accountRecord, id: 'ACC-2' }] } });
    return { fixture, second };
  }

  test('is not read again if the field is not selected', async () => {
    const { fixture } = await start();
    await using _ = fixture;
    const result = await fixture.ask(ListedAndLinked, { asksForMore: false });
    const nodes = ['ACC', 'ACC-2'].map((accountId) => ({ accountId, view: linked }));
    expect(result).toEqual({ data: { bank: { accounts: { nodes } } } });
    expect(fixture.bank.lines()).toEqual([views]);
  });

  test('is read if the field is selected', async () => {
    const { fixture, second } = await start();
    await using _ = fixture;
    const result = await fixture.ask(ListedAndLinked, { asksForMore: true });
    const view = { ...linked, swiftBic: swift_bic };
    // The list was the answer to the first account's own read: there is nothing else to ask for.
    const nodes = [
      { accountId: 'ACC', view: { ...view, swiftBic: null } },
      { accountId: 'ACC-2', view },
    ];
    expect(result).toEqual({ data: { bank: { accounts: { nodes } } } });
    expect(fixture.bank.lines()).toEqual([views, second]);
  });
});

describe('account', () => {
  test('answers every field from its own place', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(views, { body: { accounts: [accountRecord] } });
    const result = await fixture.ask(WholeAccountQuery, { accountId: 'ACC' });
    expect(result).toEqual({ data: { bank: { account: wholeAccount } } });
    expect(fixture.bank.lines()).toEqual([views]);
    expect(onlyCall(fixture.bank).body).toBe('');
  });

  test("is the entry with the path's id among several", async () => {
    await using fixture = await startBankqlFixture();
    const accounts = [{ balance: {} }, { balance: {}, id: 'acc' }, accountRecord, { balance: {}, id: 'ACC' }];
    fixture.bank.on(views, { body: { accounts } });
    const result = await fixture.ask(WholeAccountQuery, { accountId: 'ACC' });
    expect(result).toEqual({ data: { bank: { account: wholeAccount } } });
  });

  test("is the bank's own entry, although another bank's with the same id stands before it", async () => {
    await using fixture = await startBankqlFixture();
    const foreign = { ...accountRecord, bank_id: 'OTHER', label: 'foreign' };
    fixture.bank.on(views, { body: { accounts: [foreign, accountRecord] } });
    const result = await fixture.ask(WholeAccountQuery, { accountId: 'ACC' });
    expect(result).toEqual({ data: { bank: { account: wholeAccount } } });
  });

  test.each([
    ['none', {}],
    ['null', { id: null }],
    ['an empty one', { id: '' }],
  ])('is a single entry whose id is %s', async (_, id) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(views, { body: { accounts: [{ balance: {}, ...id }] } });
    const result = await fixture.ask(WholeAccountQuery, { accountId: 'ACC' });
    expect(result).toEqual({ data: { bank: { account: leastAccount } } });
  });

  test.each([
    [
      'several entries have other ids',
      [
        { balance: {}, id: 'A' },
        { balance: {}, id: 'B' },
      ],
    ],
    ['several entries have no id', [{ balance: {} }, { balance: {} }]],
    ['the list is empty', []],
  ])('is NOT_FOUND where %s', async (_, accounts) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(views, { body: { accounts } });
    const result = await fixture.ask(WholeAccountQuery, { accountId: 'ACC' });
    expect(result.data).toEqual({ bank: { account: null } });
    expect(result.errors).toMatchObject([
      { path: ['bank', 'account'], extensions: { code: 'NOT_FOUND', operation: 'getAccountsScope' } },
    ]);
  });

  test('is seen through the view that is named, and so is what hangs on it', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on('GET /v1/api/banks/BANK/accounts/ACC/my%20view/views', {
      body: { accounts: [accountRecord] },
    });
    const result = await fixture.ask(WholeAccountQuery, { accountId: 'ACC', viewId: 'my view' });
    expect(result).toEqual({ data: { bank: { account: { ...wholeAccount, viewId: 'my view' } } } });
  });
});

describe('accounts', () => {
  const permissions = 'GET /v1/api/banks/BANK/accounts/ACC/owner/permissions';

  test('answers all entries, each by its own id; one without an id among others has none to give', async () => {
    await using fixture = await startBankqlFixture();
    const accounts = [accountRecord, { balance: {}, id: 'B' }, { balance: {} }];
    fixture.bank.on(views, { body: { accounts } });
    const result = await fixture.ask(WholeAccounts, {});
    const nodes = [wholeAccount, { ...leastAccount, accountId: 'B' }, null];
    expect(result.data).toEqual({ bank: { accounts: { totalCount: 3, nodes } } });
    expect(failuresOf(result)).toEqual(['bank.accounts.nodes.2.accountId BANK_BAD_RESPONSE']);
    expect(fixture.bank.lines()).toEqual([views]);
  });

  test('asks for the scope that is named, through the view that is named', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank
      .on(permissions, { body: { accounts: [] } })
      .on('GET /v1/api/banks/BANK/accounts/ACC/public/permissions', { body: { accounts: [accountRecord] } });
    await fixture.ask(WholeAccounts, { scope: 'PERMISSIONS' });
    const result = await fixture.ask(WholeAccounts, { scope: 'PERMISSIONS', viewId: 'public' });
    expect(result.data?.bank?.accounts?.nodes).toEqual([{ ...wholeAccount, viewId: 'public' }]);
    expect(fixture.bank.lines()).toEqual([
      permissions,
      'GET /v1/api/banks/BANK/accounts/ACC/public/permissions',
    ]);
  });

  test('asks for the scope `views` where none is named', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(views, { body: { accounts: [] } });
    expect(await fixture.ask(AccountsOfDefaultScope)).toEqual({
      data: { bank: { accounts: { totalCount: 0 } } },
    });
    expect(fixture.bank.lines()).toEqual([views]);
  });
});

describe('putAccount', () => {
  const line = 'PUT /v1/api/banks/BANK/accounts/ACC';

  test('sends every field in its own place, then reads the account through the view', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank
      .on(line, { body: { balance: {}, label: 'what the PUT answered' } })
      .on('GET /v1/api/banks/BANK/accounts/ACC/auditor/views', { body: { accounts: [accountRecord] } });
    const result = await fixture.ask(PutWholeAccount, {
      input: {
        accountId: 'ACC',
        viewId: 'auditor',
        account: {
          balance: { currency: 'c', amount: '12345678901234567890.10' },
          bankId: 'b',
          iban: 'i',
          id: 'd',
          label: 'l',
          number: 'n',
          ownerIds: ['o1', 'o2'],
          swiftBic: 's',
          types: ['t1', 't2'],
          viewsAvailable: ['v1', 'v2'],
        },
      },
    });
    const [put] = fixture.bank.calls;
    expect(put && sentJson(put)).toEqual({
      balance: { currency: 'c', amount: { number: '12345678901234567890.10' } },
      bank_id: 'b',
      IBAN: 'i',
      id: 'd',
      label: 'l',
      number: 'n',
      owners: ['o1', 'o2'],
      swift_bic: 's',
      type: ['t1', 't2'],
      views_available: ['v1', 'v2'],
    });
    expect(result).toEqual({
      data: {
        putAccount: { trackId: put?.headers['track-id'], account: { ...wholeAccount, viewId: 'auditor' } },
      },
    });
    expect(fixture.bank.lines()).toEqual([line, 'GET /v1/api/banks/BANK/accounts/ACC/auditor/views']);
  });

  test.each([
    ['left out', { balance: {} }],
    [
      'null',
      {
        balance: { currency: null, amount: null },
        bankId: null,
        iban: null,
        id: null,
        label: null,
        number: null,
        ownerIds: null,
        swiftBic: null,
        types: null,
        viewsAvailable: null,
      },
    ],
  ])('sends none of the fields that are %s', async (_, account) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, { body: {} });
    await fixture.ask(PutAccountOnly, { input: { accountId: 'ACC', viewId: null, account } });
    expect(onlyCall(fixture.bank).body).toBe('{"balance":{}}');
  });

  test('reads nothing where the ids are all that is selected of the account', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on('PUT /v1/api/banks/B2/accounts/ACC', { body: {} });
    const result = await fixture.ask(PutAccountOnly, {
      input: { bankId: 'B2', accountId: 'ACC', account: { balance: {} } },
    });
    expect(result).toEqual({
      data: {
        putAccount: {
          trackId: onlyCall(fixture.bank).headers['track-id'],
          account: { accountId: 'ACC', viewId: 'owner' },
        },
      },
    });
  });

  test('keeps its Track-ID where the account cannot be read afterwards', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, { body: {} });
    const result = await fixture.ask(PutWholeAccount, {
      input: { accountId: 'ACC', account: { balance: {} } },
    });
    expect(result.data?.putAccount).toEqual({
      trackId: fixture.bank.calls[0]?.headers['track-id'],
      account: null,
    });
    expect(failuresOf(result)).toEqual(['putAccount.account NOT_FOUND']);
  });
});
