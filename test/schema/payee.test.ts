import { describe, expect, test } from 'vitest';
import type { OtherAccount } from '../../src/contract/other-account.ts';
import { failuresOf, shareBankqlFixture, startBankqlFixture } from '../support/bankql-fixture.ts';

const { bank, ask } = await shareBankqlFixture();

const account = 'GET /v1/api/banks/BANK/accounts/ACC/owner';
const others = `${account}/other_accounts`;
const inAccount = (selection: string) => `{ bank { account(accountId: "ACC") { ${selection} } } }`;
const listing = inAccount('otherAccounts { nodes { payee { accountId bankId } } }');
const counterparty = (change: Readonly<Record<string, unknown>>) => ({ bank: 'Their bank', ...change });

interface Listed {
  readonly bank: {
    readonly account: {
      readonly otherAccounts: { readonly nodes: readonly { readonly payee: Payee | null }[] };
    };
  };
}
interface Payee {
  readonly accountId: string;
  readonly bankId: string;
}

async function payeesOf(...listed: readonly object[]) {
  bank.on(others, { body: { otherAccounts: listed } });
  const result = await ask<Listed, object>(listing);
  expect(bank.lines()).toEqual([others]);
  return { ...result, payees: result.data?.bank.account.otherAccounts.nodes.map(({ payee }) => payee) };
}

const ann = { id: 'ann', swift_bic: 'THEREXXX' };

describe('the payee of a counterparty', () => {
  test.each<[string, Partial<OtherAccount>, Payee | null]>([
    ['by its id and the code of its bank', ann, { accountId: 'ann', bankId: 'THEREXXX' }],
    ['at this bank, by its BIC', { id: 'ann', swift_bic: 'BANK' }, { accountId: 'ann', bankId: 'BANK' }],
    [
      'at this bank, by the head office',
      { id: 'ann', swift_bic: 'BANKXXX' },
      { accountId: 'ann', bankId: 'BANK' },
    ],
    [
      'at this bank, by the code in `bank`',
      { id: 'ann', bank: 'BANK' },
      { accountId: 'ann', bankId: 'BANK' },
    ],
    [
      'at this bank, by both',
      { id: 'ann', bank: 'BANK', swift_bic: 'BANKXXX' },
      { accountId: 'ann', bankId: 'BANK' },
    ],
    ['of whose bank only the name is known', { id: 'ann' }, null],
    ['whose two codes contradict', { id: 'ann', bank: 'BANK', swift_bic: 'THERE' }, null],
    [
      'without an id, although it has an IBAN and a number',
      { IBAN: 'GB00', number: '7', swift_bic: 'BANK' },
      null,
    ],
    ['with an empty id', { id: '', IBAN: 'GB00', swift_bic: 'BANK' }, null],
    ['whose id no payment takes', { id: 'a/b', swift_bic: 'BANK' }, null],
    ['whose bank’s code no payment takes', { id: 'ann', swift_bic: 'TH/ERE' }, null],
  ])('%s', async (_, record, expected) => {
    const { payees, errors } = await payeesOf(counterparty(record));
    expect(errors).toBeUndefined();
    expect(payees).toEqual([expected]);
  });

  test('is null for an id that another counterparty has, also if a search finds one of them', async () => {
    const twins = [counterparty(ann), counterparty({ ...ann, swift_bic: 'OTHER', IBAN: 'GB00' })];
    expect((await payeesOf(...twins, counterparty({ ...ann, id: 'bea' }))).payees).toEqual([
      null,
      null,
      { accountId: 'bea', bankId: 'THEREXXX' },
    ]);
    const search = 'otherAccounts(search: "GB00") { nodes { payee { accountId } } }';
    const byIban = 'otherAccount(otherAccountId: "GB00") { iban payee { accountId } }';
    bank.on(others, { body: { otherAccounts: twins } });
    expect(await ask(inAccount(`${search} ${byIban}`))).toEqual({
      data: {
        bank: {
          account: {
            otherAccounts: { nodes: [{ payee: null }] },
            otherAccount: { iban: 'GB00', payee: null },
          },
        },
      },
    });
    expect(bank.lines()).toEqual([others, others]);
  });

  test('is held against the whole list also if the bank has searched it', async () => {
    const searched = others.replace('GET', 'POST');
    bank
      .on(searched, { body: { otherAccounts: [counterparty({ ...ann, IBAN: 'GB00' })] } })
      .on(others, { body: { otherAccounts: [counterparty({ ...ann, IBAN: 'GB00' }), counterparty(ann)] } });
    const { data } = await ask<Listed, object>(
      inAccount('otherAccounts(filter: { iban: "GB00" }) { nodes { payee { accountId bankId } } }'),
    );
    expect(data?.bank.account.otherAccounts.nodes).toEqual([{ payee: null }]);
    expect(bank.lines()).toEqual([searched, others]);
  });

  test('is an error where the bank’s values break the contract', async () => {
    const result = await payeesOf(counterparty({ ...ann, swift_bic: {} }), counterparty({ id: ['x'] }));
    expect(result.payees).toEqual([null, null]);
    expect(failuresOf(result)).toEqual(
      [0, 1].map((n) => `bank.account.otherAccounts.nodes.${n}.payee BANK_BAD_RESPONSE`),
    );
  });

  test.each([
    ['that has two of its id', [ann, ann], null],
    ['that has it at another bank', [{ ...ann, swift_bic: 'OTHER' }], null],
    ['that has it', [ann], { accountId: 'ann' }],
    ['that does not say its bank', [{ id: 'ann' }], { accountId: 'ann' }],
    ['that does not have it', [], { accountId: 'ann' }],
  ])(
    'of a transaction that has the whole counterparty is held against the list: one %s',
    async (_, listed, payee) => {
      const transaction = `${account}/transactions/T/transaction`;
      bank
        .on(transaction, { body: { other_account: counterparty(ann) } })
        .on(others, { body: { otherAccounts: listed.map(counterparty) } });
      const { data } = await ask(
        inAccount('transaction(transactionId: "T") { otherAccount { bankName payee { accountId } } }'),
      );
      expect(data).toEqual({
        bank: { account: { transaction: { otherAccount: { bankName: 'Their bank', payee } } } },
      });
      expect(bank.lines()).toEqual([transaction, others]);
    },
  );
});

describe('a payee goes into a payment as it is', () => {
  test.each([
    ['makeTransaction', 'MakeTransactionInput', {}, { from: { bank_id: 'BANK', account_id: 'ACC' } }],
    ['putTransactionRequest', 'PutTransactionRequestInput', { transactionRequestType: 'SEPA' }, {}],
  ])('%s', async (field, type, more, sent) => {
    await using fixture = await startBankqlFixture();
    fixture.bank
      .otherwise({ body: { id: 'TX' } })
      .on(others, { body: { otherAccounts: [counterparty(ann)] } });
    const { data } = await fixture.ask<Listed, object>(listing);
    const to = data?.bank.account.otherAccounts.nodes[0]?.payee;
    const input = { accountId: 'ACC', to, value: { amount: '1.50' }, idempotencyKey: field, ...more };
    await fixture.ask(`mutation ($input: ${type}!) { ${field}(input: $input) { userErrors { code } } }`, {
      input,
    });
    // `accountId` and `bankId` name the account that pays, and bankql makes the bank's `from` from them.
    expect(JSON.parse(fixture.bank.calls[1]?.body ?? '')).toEqual({
      ...sent,
      to: { account_id: 'ann', bank_id: 'THEREXXX' },
      value: { amount: 1.5 },
    });
  });

  test.each(['makeTransaction', 'putTransactionRequest'])(
    '%s takes no second name of who pays',
    async (field) => {
      const type = field === 'makeTransaction' ? '' : 'transactionRequestType: "T"';
      const { errors } = await ask(`mutation { ${field}(input: { accountId: "ACC", from: { accountId: "ACC" },
      to: { accountId: "x" }, value: { amount: 1 }, idempotencyKey: "k", ${type} }) { replayed } }`);
      expect(errors).toMatchObject([{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }]);
      expect(bank.lines()).toEqual([]);
    },
  );
});
