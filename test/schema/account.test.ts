import { describe, expect, test } from 'vitest';
import { failuresOf, sentJson, shareBankqlFixture } from '../support/bankql-fixture.ts';
import { accountRecord } from '../support/full-records.ts';
import { accountOf } from '../support/records.ts';

const { bank, ask } = await shareBankqlFixture();

const selection = 'bankId accountId viewId label';
const list = (view = '') =>
  `{ bank { accounts(accountId: "ACC"${view}) { totalCount nodes { ${selection} } } } }`;
const whole = { bankId: 'BANK', accountId: 'ACC', viewId: 'owner', label: 'label' };
const views = 'GET /v1/api/banks/BANK/accounts/ACC/owner/views';
const permissions = views.replace('views', 'permissions');

describe('account', () => {
  const one = `{ bank { account(accountId: "ACC") { ${selection} } } }`;

  test.each<[string, readonly object[]]>([
    [
      "the entry with the path's id among several",
      [accountOf(), accountOf({ id: 'acc' }), accountRecord, accountOf({ id: 'ACC' })],
    ],
    [
      "the bank's own entry, although another bank's with the same id stands before it",
      [{ ...accountRecord, bank_id: 'OTHER', label: 'foreign' }, accountRecord],
    ],
    ['a single entry whose id is left out', [accountOf({ label: 'label' })]],
    ['a single entry whose id is null', [accountOf({ label: 'label', id: null })]],
    ['a single entry whose id is empty', [accountOf({ label: 'label', id: '' })]],
  ])('is %s', async (_, accounts) => {
    bank.on(views, { body: { accounts } });
    expect(await ask(one)).toEqual({ data: { bank: { account: whole } } });
  });

  test.each<[string, readonly object[]]>([
    ['several entries have other ids', [accountOf({ id: 'A' }), accountOf({ id: 'B' })]],
    ['several entries have no id', [accountOf(), accountOf()]],
    ['the list is empty', []],
  ])('is NOT_FOUND if %s', async (_, accounts) => {
    bank.on(views, { body: { accounts } });
    const result = await ask(one);
    expect(result.data).toEqual({ bank: { account: null } });
    expect(failuresOf(result)).toEqual(['bank.account NOT_FOUND']);
    expect(result.errors?.[0]?.extensions.operation).toBe('getAccountsScope');
  });
});

describe('accounts', () => {
  test('are all entries of the list, each with its own id; an entry without an id has its other fields', async () => {
    bank.on(permissions, {
      body: { accounts: [accountRecord, accountOf({ id: 'B' }), { ...accountRecord, id: undefined }] },
    });
    const result = await ask(list());
    const nodes = [whole, { ...whole, accountId: 'B', label: null }, { ...whole, accountId: null }];
    expect(result).toEqual({ data: { bank: { accounts: { totalCount: 3, nodes } } } });
    expect(bank.lines()).toEqual([permissions]);
  });

  test('are read in the scope `permissions` through the named view; `Account.views` reads the scope `views`', async () => {
    const ofPublic = permissions.replace('owner', 'public');
    bank.otherwise({ body: { accounts: [] } }).on(ofPublic, { body: { accounts: [accountRecord] } });
    await ask(list());
    expect(await ask(list(', viewId: "public"'))).toEqual({
      data: { bank: { accounts: { totalCount: 1, nodes: [{ ...whole, viewId: 'public' }] } } },
    });
    await ask('{ bank { account(accountId: "ACC", viewId: "public") { views { accountId } } } }');
    expect(bank.lines()).toEqual([permissions, ofPublic, views.replace('owner', 'public')]);
  });
});

describe('putAccount', () => {
  const line = 'PUT /v1/api/banks/BANK/accounts/ACC';
  const put = (input: string) =>
    `mutation { putAccount(input: { accountId: "ACC", ${input} }) { trackId account { ${selection} } } }`;

  test('reads the account through the view and ignores the answer to the PUT', async () => {
    const read = 'GET /v1/api/banks/BANK/accounts/ACC/auditor/views';
    bank
      .on(line, { body: accountOf({ label: 'what the PUT answered' }) })
      .on(read, { body: { accounts: [accountRecord] } });
    const result = await ask(put('viewId: "auditor", account: { balance: { amount: "1.10" } }'));
    const [sent] = bank.calls;
    expect(sent && sentJson(sent)).toEqual({ balance: { amount: { number: '1.10' } } });
    expect(result).toEqual({
      data: { putAccount: { trackId: sent?.headers['track-id'], account: { ...whole, viewId: 'auditor' } } },
    });
    expect(bank.lines()).toEqual([line, read]);
  });
});
