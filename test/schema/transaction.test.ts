import { describe, expect, test } from 'vitest';
import { graphql } from '../generated/index.ts';
import { onlyCall, sentJson, startBankqlFixture } from '../support/bankql-fixture.ts';
import { accountRecord, otherAccountRecord, transactionRecord } from '../support/full-records.ts';
import { emptyDetails, fullInput, fullInputSent, wholeDetails } from './transaction-values.ts';

graphql(`
  fragment WholeTransaction on Transaction {
    bankId
    accountId
    viewId
    transactionId
    account { bankId accountId viewId }
    uuid
    details {
      approvedByIpAddress
      approvedByUserId
      cancelledByIpAddress
      cancelledByUserId
      completed
      description
      newBalance { currency amount }
      pausedByIpAddress
      pausedByUserId
      posted
      postedByIpAddress
      postedByUserId
      status
      type
      value { currency amount }
    }
    metadata { comments narrative tags where }
    thisAccountId
    thisAccount { bankId accountId viewId }
    otherAccountId
    otherAccount { bankId accountId viewId otherAccountId }
  }
`);

const WholeTransactionQuery = graphql(`
  query WholeTransactionQuery {
    bank {
      account(accountId: "ACC", viewId: "auditor") { transaction(transactionId: "TX") { ...WholeTransaction } }
    }
  }
`);

const TransactionLinks = graphql(`
  query TransactionLinks {
    bank {
      account(accountId: "ACC") {
        transaction(transactionId: "TX") {
          account { label }
          thisAccount { label }
          otherAccount { kind }
        }
      }
    }
  }
`);

const PutWholeTransaction = graphql(`
  mutation PutWholeTransaction($input: PutTransactionMetadataInput!) {
    putTransactionMetadata(input: $input) { trackId transaction { ...WholeTransaction } }
  }
`);

const here = { bankId: 'BANK', accountId: 'ACC', viewId: 'auditor' };
const wholeTransaction = {
  ...here,
  transactionId: 'TX',
  account: here,
  uuid: 'uuid',
  details: wholeDetails,
  metadata: { comments: 'comments', narrative: 'narrative', tags: 'tags', where: 'where' },
  thisAccountId: 'this-account',
  thisAccount: { ...here, accountId: 'this-account' },
  otherAccountId: 'other-account',
  otherAccount: { ...here, otherAccountId: 'other-account' },
};
const emptyTransaction = {
  ...here,
  transactionId: 'TX',
  account: here,
  uuid: null,
  details: null,
  metadata: null,
  thisAccountId: null,
  thisAccount: null,
  otherAccountId: null,
  otherAccount: null,
};

describe('getTransaction', () => {
  const line = 'GET /v1/api/banks/BANK/accounts/ACC/auditor/transactions/TX/transaction';

  test('answers every field from its own place', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, { body: transactionRecord });
    const result = await fixture.ask(WholeTransactionQuery);
    expect(result).toEqual({ data: { bank: { account: { transaction: wholeTransaction } } } });
    expect(fixture.bank.lines()).toEqual([line]);
    expect(onlyCall(fixture.bank).body).toBe('');
  });

  test.each([
    ['left out', {}],
    ['null', Object.fromEntries(Object.keys(transactionRecord).map((name) => [name, null]))],
  ])('answers null without an error, links too, for fields that are %s', async (_, body) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, { body });
    const result = await fixture.ask(WholeTransactionQuery);
    expect(result).toEqual({ data: { bank: { account: { transaction: emptyTransaction } } } });
    expect(fixture.bank.calls).toHaveLength(1);
  });

  test('answers null for the members of empty details and metadata', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, { body: { details: {}, metadata: {}, this_account: '', other_account: '' } });
    const result = await fixture.ask(WholeTransactionQuery);
    expect(result.errors).toBeUndefined();
    expect(result.data?.bank?.account?.transaction).toEqual({
      ...emptyTransaction,
      details: emptyDetails,
      metadata: { comments: null, narrative: null, tags: null, where: null },
      thisAccountId: '',
      otherAccountId: '',
    });
  });

  test('leads to its account, this account and the other account, each read once', async () => {
    await using fixture = await startBankqlFixture();
    const base = 'GET /v1/api/banks/BANK/accounts';
    fixture.bank
      .on(`${base}/ACC/owner/transactions/TX/transaction`, {
        body: { this_account: 'THIS', other_account: 'other-id' },
      })
      .on(`${base}/ACC/owner/views`, { body: { accounts: [accountRecord] } })
      .on(`${base}/THIS/owner/views`, { body: { accounts: [{ balance: {}, id: 'THIS', label: 'this' }] } })
      .on(`${base}/ACC/owner/other_accounts`, { body: { otherAccounts: [otherAccountRecord] } });
    const result = await fixture.ask(TransactionLinks);
    expect(result).toEqual({
      data: {
        bank: {
          account: {
            transaction: {
              account: { label: 'label' },
              thisAccount: { label: 'this' },
              otherAccount: { kind: 'kind' },
            },
          },
        },
      },
    });
    expect(fixture.bank.calls).toHaveLength(4);
  });
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

describe('putTransactionMetadata', () => {
  const line = 'PUT /v1/api/banks/BANK/accounts/ACC/auditor/transactions/TX/metadata/TYPE';
  const input = { accountId: 'ACC', viewId: 'auditor', transactionId: 'TX', metadataType: 'TYPE' };

  test('sends every field in its own place, and answers the transaction as the bank did', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, { body: transactionRecord });
    const result = await fixture.ask(PutWholeTransaction, { input: { ...input, transaction: fullInput } });
    const call = onlyCall(fixture.bank);
    expect(sentJson(call)).toEqual(fullInputSent);
    expect(result).toEqual({
      data: {
        putTransactionMetadata: { trackId: call.headers['track-id'], transaction: wholeTransaction },
      },
    });
    expect(fixture.bank.lines()).toEqual([line]);
  });

  const nulls = <T extends object>(value: T) =>
    Object.fromEntries(Object.keys(value).map((name) => [name, null])) as { [Name in keyof T]: null };

  test.each([
    ['left out', { details: { approvedByIpAddress: 'ip' }, metadata: { comments: 'c' } }],
    [
      'null',
      {
        ...nulls(fullInput),
        details: { ...nulls(fullInput.details), approvedByIpAddress: 'ip' },
        metadata: { ...nulls(fullInput.metadata), comments: 'c' },
      },
    ],
  ])('sends none of the fields that are %s', async (_, transaction) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, { body: {} });
    const result = await fixture.ask(PutWholeTransaction, { input: { ...input, transaction } });
    expect(sentJson(onlyCall(fixture.bank))).toEqual({
      details: { approved_by_ip_address: 'ip' },
      metadata: { comments: 'c' },
    });
    expect(result.data?.putTransactionMetadata?.transaction).toEqual(emptyTransaction);
  });

  test('sends an amount without a currency, and the one required field alone', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: {} });
    for (const details of [
      { approvedByIpAddress: 'ip', value: { amount: '-1.50', currency: null } },
      { approvedByIpAddress: '' },
    ]) {
      const transaction = { details, metadata: null };
      await fixture.ask(PutWholeTransaction, {
        input: { ...input, bankId: 'B2', viewId: null, transaction },
      });
    }
    expect(fixture.bank.calls.map(({ path, body }) => `${path} ${body}`)).toEqual([
      '/v1/api/banks/B2/accounts/ACC/owner/transactions/TX/metadata/TYPE {"details":{"approved_by_ip_address":"ip","value":{"amount":-1.50}}}',
      '/v1/api/banks/B2/accounts/ACC/owner/transactions/TX/metadata/TYPE {"details":{"approved_by_ip_address":""}}',
    ]);
  });
});
