import { describe, expect, test } from 'vitest';
import { failuresOf, onlyCall, sentJson, startBankqlFixture } from '../support/bankql-fixture.ts';
import { accountRecord } from '../support/full-records.ts';

const selection = 'bankId accountId viewId label';
const one = (view = '') => `{ bank { account(accountId: "ACC"${view}) { ${selection} } } }`;
const list = (scope: string, view = '') =>
  `{ bank { accounts(accountId: "ACC", scope: ${scope}${view}) { totalCount nodes { ${selection} } } } }`;

const linkedFromList = (more = '') => `{ bank { accounts(accountId: "ACC", scope: VIEWS) { nodes {
  accountId view(viewId: "owner") { label types balance { amount } owners { customerId } ${more} } } } } }`;
const whole = { bankId: 'BANK', accountId: 'ACC', viewId: 'owner', label: 'label' };
const views = 'GET /v1/api/banks/BANK/accounts/ACC/owner/views';

describe('an account that a list has without one of its fields', () => {
  const { swift_bic, ...listed } = accountRecord;
  const linked = {
    label: 'label',
    types: accountRecord.type,
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
    const result = await fixture.ask(linkedFromList());
    const nodes = ['ACC', 'ACC-2'].map((accountId) => ({ accountId, view: linked }));
    expect(result).toEqual({ data: { bank: { accounts: { nodes } } } });
    expect(fixture.bank.lines()).toEqual([views]);
  });

  test('is read if the field is selected', async () => {
    const { fixture, second } = await start();
    await using _ = fixture;
    const result = await fixture.ask(linkedFromList('swiftBic'));
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
  test.each<[string, readonly object[]]>([
    [
      "the entry with the path's id among several",
      [{ balance: {} }, { balance: {}, id: 'acc' }, accountRecord, { balance: {}, id: 'ACC' }],
    ],
    [
      "the bank's own entry, although another bank's with the same id stands before it",
      [{ ...accountRecord, bank_id: 'OTHER', label: 'foreign' }, accountRecord],
    ],
    ['a single entry whose id is left out', [{ balance: {}, label: 'label' }]],
    ['a single entry whose id is null', [{ balance: {}, label: 'label', id: null }]],
    ['a single entry whose id is empty', [{ balance: {}, label: 'label', id: '' }]],
  ])('is %s', async (_, accounts) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(views, { body: { accounts } });
    expect(await fixture.ask(one())).toEqual({ data: { bank: { account: whole } } });
  });

  test.each<[string, readonly object[]]>([
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
    const result = await fixture.ask(one());
    expect(result.data).toEqual({ bank: { account: null } });
    expect(result.errors).toMatchObject([
      { path: ['bank', 'account'], extensions: { code: 'NOT_FOUND', operation: 'getAccountsScope' } },
    ]);
  });

  test('is seen through the view that is named', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on('GET /v1/api/banks/BANK/accounts/ACC/my%20view/views', {
      body: { accounts: [accountRecord] },
    });
    const result = await fixture.ask(one(', viewId: "my view"'));
    expect(result).toEqual({ data: { bank: { account: { ...whole, viewId: 'my view' } } } });
  });
});

describe('accounts', () => {
  const permissions = 'GET /v1/api/banks/BANK/accounts/ACC/owner/permissions';

  test('answers all entries, each by its own id; one without an id among others has none to give', async () => {
    await using fixture = await startBankqlFixture();
    const accounts = [accountRecord, { balance: {}, id: 'B' }, { balance: {} }];
    fixture.bank.on(views, { body: { accounts } });
    const result = await fixture.ask(list('VIEWS'));
    const nodes = [whole, { ...whole, accountId: 'B', label: null }, null];
    expect(result.data).toEqual({ bank: { accounts: { totalCount: 3, nodes } } });
    expect(failuresOf(result)).toEqual(['bank.accounts.nodes.2.accountId BANK_BAD_RESPONSE']);
    expect(fixture.bank.lines()).toEqual([views]);
  });

  test('asks for the scope that is named, or `views`, through the view that is named', async () => {
    await using fixture = await startBankqlFixture();
    const ofPublic = 'GET /v1/api/banks/BANK/accounts/ACC/public/permissions';
    fixture.bank.otherwise({ body: { accounts: [] } }).on(ofPublic, { body: { accounts: [accountRecord] } });
    await fixture.ask('{ bank { accounts(accountId: "ACC") { totalCount } } }');
    await fixture.ask(list('PERMISSIONS'));
    expect(await fixture.ask(list('PERMISSIONS', ', viewId: "public"'))).toEqual({
      data: { bank: { accounts: { totalCount: 1, nodes: [{ ...whole, viewId: 'public' }] } } },
    });
    expect(fixture.bank.lines()).toEqual([views, permissions, ofPublic]);
  });
});

describe('putAccount', () => {
  const line = 'PUT /v1/api/banks/BANK/accounts/ACC';
  const put = (input: string, selected = selection) =>
    `mutation { putAccount(input: { accountId: "ACC", ${input} }) { trackId account { ${selected} } } }`;

  test('reads the account through the view, whatever the PUT answered', async () => {
    await using fixture = await startBankqlFixture();
    const read = 'GET /v1/api/banks/BANK/accounts/ACC/auditor/views';
    fixture.bank
      .on(line, { body: { balance: {}, label: 'what the PUT answered' } })
      .on(read, { body: { accounts: [accountRecord] } });
    const result = await fixture.ask(
      put('viewId: "auditor", account: { balance: { amount: "12345678901234567890.10" } }'),
    );
    const [sent] = fixture.bank.calls;
    expect(sent && sentJson(sent)).toEqual({ balance: { amount: { number: '12345678901234567890.10' } } });
    expect(result).toEqual({
      data: { putAccount: { trackId: sent?.headers['track-id'], account: { ...whole, viewId: 'auditor' } } },
    });
    expect(fixture.bank.lines()).toEqual([line, read]);
  });

  test('reads nothing where the ids are all that is selected of the account', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on('PUT /v1/api/banks/B2/accounts/ACC', { body: {} });
    const result = await fixture.ask(put('bankId: "B2", account: { balance: {} }', 'accountId viewId'));
    const trackId = onlyCall(fixture.bank).headers['track-id'];
    expect(result).toEqual({
      data: { putAccount: { trackId, account: { accountId: 'ACC', viewId: 'owner' } } },
    });
  });

  test('keeps its Track-ID where the account cannot be read afterwards', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, { body: {} });
    const result = await fixture.ask(put('account: { balance: {} }'));
    const trackId = fixture.bank.calls[0]?.headers['track-id'];
    expect(result.data).toEqual({ putAccount: { trackId, account: null } });
    expect(failuresOf(result)).toEqual(['putAccount.account NOT_FOUND']);
  });
});
