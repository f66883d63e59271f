import { describe, expect, test } from 'vitest';
import { failuresOf, shareBankqlFixture, startBankqlFixture } from '../support/bankql-fixture.ts';
import { accountRecord } from '../support/full-records.ts';

const { bank, ask } = await shareBankqlFixture();

const requestsWith = (selection: string) =>
  `{ bank { account(accountId: "ACC", viewId: "mine") { transactionRequests { nodes { ${selection} } } } } }`;
const namedAccounts = requestsWith(
  'to { bankId accountId account { bankId accountId viewId label } public: account(viewId: "public") { label } }',
);
const nodesOf = (data: unknown) => Object(data).bank.account.transactionRequests.nodes;

const requests = 'GET /v1/api/banks/BANK/accounts/ACC/mine/transaction-requests';
const naming = (to: object) => ({ body: { 'transaction-requests': [{ body: { to } }] } });
const seen = (id: string, label: string) => ({ body: { accounts: [{ ...accountRecord, id, label }] } });

describe('AccountRef', () => {
  test.each<[string, { bank_id?: string | null }, string]>([
    ['the bank that the record names', { bank_id: 'THERE' }, 'THERE'],
    ["the path's bank, where its own is left out", {}, 'BANK'],
    ["the path's bank, where its own is null", { bank_id: null }, 'BANK'],
  ])('leads to the account at %s, through its own view or another', async (_, named, bankId) => {
    const lines = ['mine', 'public'].map(
      (view) => `GET /v1/api/banks/${bankId}/accounts/TO/${view}/views`,
    ) as [string, string];
    bank.on(requests, naming({ account_id: 'TO', ...named }));
    for (const line of lines) bank.on(line, seen('TO', line));
    const result = await ask(namedAccounts);
    expect(result.errors).toBeUndefined();
    const account = { bankId, accountId: 'TO', viewId: 'mine', label: lines[0] };
    expect(nodesOf(result.data)).toEqual([
      { to: { bankId: named.bank_id ?? null, accountId: 'TO', account, public: { label: lines[1] } } },
    ]);
    expect(bank.lines().sort()).toEqual([...lines, requests].sort());
  });

  test.each([
    ['left out', {}],
    ['null', { account_id: null }],
    ['empty', { account_id: '' }],
  ])('has no account and no error if the account id is %s', async (_, account) => {
    bank.on(requests, naming({ bank_id: 'THERE', ...account }));
    const result = await ask(namedAccounts);
    expect(result.errors).toBeUndefined();
    expect(nodesOf(result.data)).toMatchObject([{ to: { bankId: 'THERE', account: null } }]);
    expect(bank.lines()).toEqual([requests]);
  });

  test('makes no call for an account id of the bank that cannot be part of a path', async () => {
    bank.on(requests, naming({ account_id: '../../customers' }));
    const result = await ask(requestsWith('to { accountId account { label } }'));
    expect(nodesOf(result.data)).toEqual([{ to: { accountId: '../../customers', account: null } }]);
    expect(failuresOf(result)).toEqual([
      'bank.account.transactionRequests.nodes.0.to.account BANK_BAD_RESPONSE',
    ]);
    expect(bank.lines()).toEqual([requests]);
  });
});

describe('the counterparty of an AccountRef', () => {
  const others = 'GET /v1/api/banks/BANK/accounts/ACC/mine/other_accounts';
  const people = [
    { bank: 'B', id: 'ann', IBAN: 'GB11 0000' },
    { bank: 'B', id: 'bea', number: '77', swift_bic: 'THEREXXX', holder: { is_alias: false, name: 'Bea' } },
    { bank: 'B', id: 'cem', swift_bic: 'THERE' },
    { bank: 'B', id: 'twice', kind: 'one' },
    { bank: 'B', id: 'twice', kind: 'other' },
  ];

  test.each([
    [{ account_id: 'ann' }, 'ann'],
    [{ account_id: 'bea', bank_id: 'THERE' }, 'bea'],
    // The BIC is that of another bank than the payer's. The request does not name the payer's bank.
    [{ account_id: 'cem' }, 'cem'],
    [{ account_id: 'twice' }, undefined],
    [{ account_id: '77', bank_id: 'THERE' }, undefined],
    [{ account_id: 'nobody' }, undefined],
    [{}, undefined],
  ])('of the payee %j is %s', async (to, expected) => {
    const list = { 'transaction-requests': [{ from: { account_id: 'ann' }, body: { to } }] };
    bank.on(requests, { body: list }).on(others, { body: { otherAccounts: people } });
    const { data, errors } = await ask(
      requestsWith('from { counterparty { otherAccountId } } to { counterparty { otherAccountId } }'),
    );
    expect(errors).toBeUndefined();
    const [request] = nodesOf(data);
    expect(request.to?.counterparty?.otherAccountId).toBe(expected);
    expect(request.from.counterparty).toBeNull();
    expect(bank.lines()).toEqual(Object.keys(to).length === 0 ? [requests] : [requests, others]);
  });

  test('gives the name of the payee of a payment', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank
      .otherwise({ body: { id: 'TX' } })
      .on(others.replace('mine', 'owner'), { body: { otherAccounts: people } });
    const result = await fixture.ask(`mutation { makeTransaction(input: {
      accountId: "ACC", to: { accountId: "bea", bankId: "THERE" }, value: { amount: "1" }, idempotencyKey: "key"
    }) { payment { to { counterparty { holder { name } } } } } }`);
    expect(result).toEqual({
      data: { makeTransaction: { payment: { to: { counterparty: { holder: { name: 'Bea' } } } } } },
    });
  });
});
