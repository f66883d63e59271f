import { describe, expect, test } from 'vitest';
import { onlyCall, startBankqlFixture } from '../support/bankql-fixture.ts';
import { otherAccountRecord, transactionRecord } from '../support/full-records.ts';

test('a transaction with empty details, metadata and ids has their members, and leads to no account', async () => {
  await using fixture = await startBankqlFixture();
  fixture.bank.otherwise({ body: { details: {}, metadata: {}, this_account: '', other_account: '' } });
  const result = await fixture.ask(`{ bank { account(accountId: "ACC") { transaction(transactionId: "TX") {
    details { status value { amount } } metadata { comments tags }
    thisAccountId thisAccount { accountId } otherAccountId otherAccount { otherAccountId }
  } } } }`);
  const transaction = {
    details: { status: null, value: null },
    metadata: { comments: null, tags: null },
    thisAccountId: '',
    thisAccount: null,
    otherAccountId: '',
    otherAccount: null,
  };
  expect(result).toEqual({ data: { bank: { account: { transaction } } } });
  expect(fixture.bank.calls).toHaveLength(1);
});

describe('a counterparty that the bank writes whole in a transaction', () => {
  const query = `{ bank { account(accountId: "ACC") { transaction(transactionId: "TX") {
    otherAccountId otherAccount { otherAccountId bankName holder { name } }
  } } } }`;
  const line = 'GET /v1/api/banks/BANK/accounts/ACC/owner/transactions/TX/transaction';
  const others = 'GET /v1/api/banks/BANK/accounts/ACC/owner/other_accounts';
  const whole = { id: 'not-listed', bank: 'B', holder: { is_alias: false, name: 'Ann' } };

  test.each([
    ['is shown as written, without a call', whole, whole, [line]],
    [
      'is looked up if it is not whole',
      { id: 'other-id' },
      { ...otherAccountRecord, id: 'other-id' },
      [line, others],
    ],
  ])('%s', async (_, written, { id, bank, holder }, calls) => {
    await using fixture = await startBankqlFixture();
    fixture.bank
      .on(line, { body: { ...transactionRecord, other_account: written } })
      .on(others, { body: { otherAccounts: [{ ...otherAccountRecord, id: 'other-id' }] } });
    const { data, errors } = await fixture.ask(query);
    expect(errors).toBeUndefined();
    expect(data).toEqual({
      bank: {
        account: {
          transaction: {
            otherAccountId: id,
            otherAccount: { otherAccountId: id, bankName: bank, holder: { name: holder.name } },
          },
        },
      },
    });
    expect(fixture.bank.lines()).toEqual(calls);
  });
});

test.each([
  ['the view that is named', 'viewId: "auditor"', 'BANK', 'auditor'],
  ['the bank that is named, and the default view', 'bankId: "B2", viewId: null', 'B2', 'owner'],
])('putTransactionMetadata goes through %s', async (_, input, bankId, viewId) => {
  await using fixture = await startBankqlFixture();
  fixture.bank.otherwise({ body: transactionRecord });
  const result = await fixture.ask(`mutation { putTransactionMetadata(input: {
    accountId: "ACC", transactionId: "TX", metadataType: "TYPE", ${input}
    transaction: { details: { approvedByIpAddress: "", value: { amount: "-1.50" } } }
  }) { transaction { bankId viewId uuid } } }`);
  expect(result).toEqual({
    data: { putTransactionMetadata: { transaction: { bankId, viewId, uuid: 'uuid' } } },
  });
  const { path, body } = onlyCall(fixture.bank);
  expect(path).toBe(`/v1/api/banks/${bankId}/accounts/ACC/${viewId}/transactions/TX/metadata/TYPE`);
  expect(body).toBe('{"details":{"approved_by_ip_address":"","value":{"amount":-1.50}}}');
});
