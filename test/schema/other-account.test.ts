import { describe, expect, test } from 'vitest';
import { graphql } from '../generated/index.ts';
import { failuresOf, onlyCall, startBankqlFixture } from '../support/bankql-fixture.ts';
import { accountRecord, otherAccountRecord } from '../support/full-records.ts';

graphql(`
  fragment WholeOtherAccount on OtherAccount {
    bankId
    accountId
    viewId
    otherAccountId
    account { bankId accountId viewId }
    bankName
    holder { name isAlias }
    kind
    number
    iban
    swiftBic
  }
`);

const WholeOtherAccounts = graphql(`
  query WholeOtherAccounts($viewId: ID, $filter: OtherAccountFilter) {
    bank {
      account(accountId: "ACC", viewId: $viewId) {
        otherAccounts(filter: $filter) { totalCount nodes { ...WholeOtherAccount } }
      }
    }
  }
`);

const WholeOtherAccountQuery = graphql(`
  query WholeOtherAccountQuery($otherAccountId: ID!) {
    bank {
      account(accountId: "ACC") { otherAccount(otherAccountId: $otherAccountId) { ...WholeOtherAccount } }
    }
  }
`);

const AccountOfOtherAccount = graphql(`
  query AccountOfOtherAccount {
    bank { account(accountId: "ACC") { otherAccounts { nodes { account { label balance { amount } } } } } }
  }
`);

const wholeOtherAccount = {
  bankId: 'BANK',
  accountId: 'ACC',
  viewId: 'owner',
  otherAccountId: 'other-id',
  account: { bankId: 'BANK', accountId: 'ACC', viewId: 'owner' },
  bankName: 'other-bank',
  holder: { name: 'holder-name', isAlias: true },
  kind: 'kind',
  number: 'other-number',
  iban: 'other-iban',
  swiftBic: 'other-swift-bic',
};
const leastOtherAccount = {
  ...wholeOtherAccount,
  otherAccountId: null,
  bankName: 'B',
  holder: null,
  kind: null,
  number: null,
  iban: null,
  swiftBic: null,
};

const list = 'GET /v1/api/banks/BANK/accounts/ACC/owner/other_accounts';

describe('getOtherAccounts', () => {
  test('answers every field from its own place, and null for what is left out', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(list, { body: { otherAccounts: [otherAccountRecord, { bank: 'B' }] } });
    const result = await fixture.ask(WholeOtherAccounts, {});
    const nodes = [wholeOtherAccount, leastOtherAccount];
    expect(result).toEqual({ data: { bank: { account: { otherAccounts: { totalCount: 2, nodes } } } } });
    expect(fixture.bank.lines()).toEqual([list]);
    expect(onlyCall(fixture.bank).body).toBe('');
  });

  test('answers one counterparty, found by its id in the list', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(list, { body: { otherAccounts: [{ bank: 'B' }, otherAccountRecord] } });
    const found = await fixture.ask(WholeOtherAccountQuery, { otherAccountId: 'other-id' });
    expect(found).toEqual({ data: { bank: { account: { otherAccount: wholeOtherAccount } } } });
    expect(fixture.bank.lines()).toEqual([list]);
  });

  test('says NOT_FOUND for a counterparty that the list does not hold', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(list, { body: { otherAccounts: [{ bank: 'B' }, otherAccountRecord] } });
    const result = await fixture.ask(WholeOtherAccountQuery, { otherAccountId: 'nobody' });
    expect(result).toMatchObject({
      data: { bank: { account: { otherAccount: null } } },
      errors: [
        {
          path: ['bank', 'account', 'otherAccount'],
          extensions: { code: 'NOT_FOUND', operation: 'getOtherAccounts' },
        },
      ],
    });
  });

  test.each([
    ['id', 'a'],
    ['IBAN', 'gr16 01'],
    ['number', '7'],
  ])('guesses none of several that share the %s', async (_, name) => {
    await using fixture = await startBankqlFixture();
    const shared = { bank: 'B', id: 'a', IBAN: 'GR1601', number: '7' };
    fixture.bank.on(list, {
      body: {
        otherAccounts: ['One', 'Two'].map((who) => ({ ...shared, holder: { is_alias: false, name: who } })),
      },
    });
    const result = await fixture.ask(WholeOtherAccountQuery, { otherAccountId: name });
    expect(failuresOf(result)).toEqual(['bank.account.otherAccount NOT_FOUND']);
    expect(result.errors?.[0]?.message).toContain(`several entries with the id, IBAN or number ${name}`);
  });

  test('leads back to its account, which is read once for all of them', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank
      .on(list, { body: { otherAccounts: [otherAccountRecord, { bank: 'B' }, { bank: 'C' }] } })
      .on('GET /v1/api/banks/BANK/accounts/ACC/owner/views', { body: { accounts: [accountRecord] } });
    const result = await fixture.ask(AccountOfOtherAccount);
    const account = { label: 'label', balance: { amount: '9007199254740993.250' } };
    expect(result.data?.bank?.account?.otherAccounts?.nodes).toEqual([{ account }, { account }, { account }]);
    expect(fixture.bank.lines()).toEqual([list, 'GET /v1/api/banks/BANK/accounts/ACC/owner/views']);
  });
});

describe('postOtherAccounts', () => {
  test.each([
    [
      'as people write it',
      { iban: ' gr16 0110 1250\t0000 0001 2300 695 ' },
      '{"IBAN":"GR1601101250000000012300695"}',
    ],
    ['with an id', { iban: 'I', id: 'Q' }, '{"IBAN":"I","id":"Q"}'],
    ['without an id', { iban: 'I' }, '{"IBAN":"I"}'],
    ['with an id that is null', { iban: 'I', id: null }, '{"IBAN":"I"}'],
  ])('answers counterparties that a filter asks for, %s', async (_, filter, body) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on('POST /v1/api/banks/BANK/accounts/ACC/auditor/other_accounts', {
      body: { otherAccounts: [otherAccountRecord] },
    });
    const result = await fixture.ask(WholeOtherAccounts, { viewId: 'auditor', filter });
    const there = {
      ...wholeOtherAccount,
      viewId: 'auditor',
      account: { ...wholeOtherAccount.account, viewId: 'auditor' },
    };
    expect(result).toEqual({
      data: { bank: { account: { otherAccounts: { totalCount: 1, nodes: [there] } } } },
    });
    expect(onlyCall(fixture.bank).body).toBe(body);
    expect(fixture.bank.lines()).toEqual(['POST /v1/api/banks/BANK/accounts/ACC/auditor/other_accounts']);
  });
});
