import { describe, expect, test } from 'vitest';
import { graphql } from '../generated/index.ts';
import { failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';
import { accountRecord } from '../support/full-records.ts';

const requestsWith = (selection: string) =>
  `{ bank { account(accountId: "ACC", viewId: "mine") { transactionRequests { nodes { ${selection} } } } } }`;
const NamedAccounts = requestsWith('to { bankId accountId account { bankId accountId viewId label } }');
const nodesOf = (data: unknown) => Object(data).bank.account.transactionRequests.nodes;

const requests = 'GET /v1/api/banks/BANK/accounts/ACC/mine/transaction-requests';
const naming = (to: object) => ({ body: { 'transaction-requests': [{ body: { to } }] } });
const seen = (line: string, id: string) => ({ body: { accounts: [{ ...accountRecord, id, label: line }] } });

describe('AccountRef', () => {
  test.each<[string, { bank_id?: string | null }, string]>([
    ['the bank that the record names', { bank_id: 'THERE' }, 'THERE'],
    ["the path's bank, where its own is left out", {}, 'BANK'],
    ["the path's bank, where its own is null", { bank_id: null }, 'BANK'],
  ])('leads to the account at %s, through its own view', async (_, bank, bankId) => {
    await using fixture = await startBankqlFixture();
    const line = `GET /v1/api/banks/${bankId}/accounts/TO/mine/views`;
    fixture.bank.on(requests, naming({ account_id: 'TO', ...bank })).on(line, seen('l', 'TO'));
    const result = await fixture.ask(NamedAccounts);
    expect(result.errors).toBeUndefined();
    const account = { bankId, accountId: 'TO', viewId: 'mine', label: 'l' };
    expect(nodesOf(result.data)).toEqual([
      { to: { bankId: bank.bank_id ?? null, accountId: 'TO', account } },
    ]);
    expect(fixture.bank.lines()).toEqual([requests, line]);
  });

  test('is seen through another view where one is named', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank
      .on(requests, naming({ account_id: 'TO' }))
      .on('GET /v1/api/banks/BANK/accounts/TO/mine/views', seen('seen as mine', 'TO'))
      .on('GET /v1/api/banks/BANK/accounts/TO/public/views', seen('seen as public', 'TO'));
    const result = await fixture.ask(
      requestsWith('to { account { viewId label } public: account(viewId: "public") { viewId label } }'),
    );
    expect(nodesOf(result.data)).toEqual([
      {
        to: {
          account: { viewId: 'mine', label: 'seen as mine' },
          public: { viewId: 'public', label: 'seen as public' },
        },
      },
    ]);
    expect(fixture.bank.calls).toHaveLength(3);
  });

  test.each([
    ['left out', {}],
    ['null', { account_id: null }],
    ['empty', { account_id: '' }],
  ])('leads nowhere, without an error, where the account id is %s', async (_, account) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(requests, naming({ bank_id: 'THERE', ...account }));
    const result = await fixture.ask(NamedAccounts);
    expect(result.errors).toBeUndefined();
    expect(nodesOf(result.data)).toMatchObject([{ to: { bankId: 'THERE', account: null } }]);
    expect(fixture.bank.lines()).toEqual([requests]);
  });

  test('makes no call for an account id of the bank that can be no segment of a path', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(requests, naming({ account_id: '../../customers' }));
    const result = await fixture.ask(NamedAccounts);
    expect(nodesOf(result.data)).toEqual([
      { to: { bankId: null, accountId: '../../customers', account: null } },
    ]);
    expect(failuresOf(result)).toEqual([
      'bank.account.transactionRequests.nodes.0.to.account BANK_BAD_RESPONSE',
    ]);
    expect(fixture.bank.lines()).toEqual([requests]);
  });
});

const PaidPeople = requestsWith(
  'from { counterparty { otherAccountId } } to { counterparty { otherAccountId holder { name } } }',
);
const PaymentTo = graphql(`
  mutation PaymentTo($to: AccountRefInput!) {
    makeTransaction(input: { accountId: "ACC" to: $to value: { amount: "1", currency: "EUR" } idempotencyKey: "key" }) {
      payment { description to { counterparty { holder { name } } } }
    }
  }
`);

describe('the counterparty of an AccountRef', () => {
  const others = 'GET /v1/api/banks/BANK/accounts/ACC/mine/other_accounts';
  const people = [
    { bank: 'B', id: 'ann', IBAN: 'GB11 0000', holder: { is_alias: false, name: 'Ann' } },
    { bank: 'B', id: 'bea', number: '77', swift_bic: 'THEREXXX', holder: { is_alias: false, name: 'Bea' } },
    { bank: 'B', id: 'cem', swift_bic: 'THERE', holder: { is_alias: false, name: 'Cem' } },
    { bank: 'B', id: 'twice', holder: { is_alias: false, name: 'One' } },
    { bank: 'B', id: 'twice', holder: { is_alias: false, name: 'Other' } },
  ];

  test.each([
    [{ account_id: 'ann' }, 'ann'],
    [{ account_id: 'bea', bank_id: 'THERE' }, 'bea'],
    // Its BIC names another bank than the payer's, which the request leaves out.
    [{ account_id: 'cem' }, 'cem'],
    [{ account_id: 'twice' }, undefined],
    [{ account_id: '77', bank_id: 'THERE' }, undefined],
    [{ account_id: 'nobody' }, undefined],
    [{}, undefined],
  ])('of one that is paid, %j, is %s', async (to, expected) => {
    await using fixture = await startBankqlFixture();
    const list = { 'transaction-requests': [{ from: { account_id: 'ann' }, body: { to } }] };
    fixture.bank.on(requests, { body: list }).on(others, { body: { otherAccounts: people } });
    const { data, errors } = await fixture.ask(PaidPeople);
    expect(errors).toBeUndefined();
    const [request] = nodesOf(data);
    expect(request?.to?.counterparty?.otherAccountId).toBe(expected);
    expect(request?.from?.counterparty).toBeNull();
    expect(fixture.bank.lines()).toEqual(Object.keys(to).length === 0 ? [requests] : [requests, others]);
  });

  test('says by name who was paid', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank
      .otherwise({ body: { id: 'TX' } })
      .on(others.replace('mine', 'owner'), { body: { otherAccounts: people } });
    const { data, errors } = await fixture.ask(PaymentTo, { to: { accountId: 'bea', bankId: 'THERE' } });
    expect(errors).toBeUndefined();
    expect(data?.makeTransaction?.payment).toEqual({
      description: null,
      to: { counterparty: { holder: { name: 'Bea' } } },
    });
  });
});
