import { expect, test } from 'vitest';
import { failuresOf, onlyCall, startBankqlFixture } from '../support/bankql-fixture.ts';
import { otherAccountRecord } from '../support/full-records.ts';

test.each([
  ['id', 'a'],
  ['IBAN', 'gr16 01'],
  ['number', '7'],
])('none of several counterparties that share the %s is guessed', async (_, name) => {
  await using fixture = await startBankqlFixture();
  const shared = { bank: 'B', id: 'a', IBAN: 'GR1601', number: '7' };
  fixture.bank.on('GET /v1/api/banks/BANK/accounts/ACC/owner/other_accounts', {
    body: {
      otherAccounts: ['One', 'Two'].map((who) => ({ ...shared, holder: { is_alias: false, name: who } })),
    },
  });
  const result = await fixture.ask(
    `{ bank { account(accountId: "ACC") { otherAccount(otherAccountId: "${name}") { kind } } } }`,
  );
  expect(failuresOf(result)).toEqual(['bank.account.otherAccount NOT_FOUND']);
  expect(result.errors?.[0]?.extensions.operation).toBe('getOtherAccounts');
  expect(result.errors?.[0]?.message).toContain(`several entries with the id, IBAN or number ${name}`);
});

test.each([
  [
    'as people write it',
    { iban: ' gr16 0110 1250\t0000 0001 2300 695 ' },
    '{"IBAN":"GR1601101250000000012300695"}',
  ],
  ['with an id', { iban: 'I', id: 'Q' }, '{"IBAN":"I","id":"Q"}'],
  ['without an id', { iban: 'I' }, '{"IBAN":"I"}'],
  ['with an id that is null', { iban: 'I', id: null }, '{"IBAN":"I"}'],
])('counterparties are those that a filter asks the bank for by an IBAN, %s', async (_, filter, body) => {
  await using fixture = await startBankqlFixture();
  fixture.bank.on('POST /v1/api/banks/BANK/accounts/ACC/auditor/other_accounts', {
    body: { otherAccounts: [otherAccountRecord] },
  });
  const result = await fixture.ask(
    `query ($filter: OtherAccountFilter) { bank { account(accountId: "ACC", viewId: "auditor") {
      otherAccounts(filter: $filter) { totalCount nodes { otherAccountId account { viewId } } }
    } } }`,
    { filter },
  );
  const nodes = [{ otherAccountId: 'other-id', account: { viewId: 'auditor' } }];
  expect(result).toEqual({ data: { bank: { account: { otherAccounts: { totalCount: 1, nodes } } } } });
  expect(onlyCall(fixture.bank).body).toBe(body);
});
