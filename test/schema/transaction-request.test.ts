import { describe, expect, test } from 'vitest';
import { graphql } from '../generated/index.ts';
import { failuresOf, onlyCall, sentJson, startBankqlFixture } from '../support/bankql-fixture.ts';
import { transactionRequestRecord } from '../support/full-records.ts';

graphql(`
  fragment WholeTransactionRequest on TransactionRequest {
    description
    resourceUrl
    status
    startDate
    endDate
    challenge
    from { bankId accountId account { bankId accountId viewId } }
    to { bankId accountId account { bankId accountId viewId } }
    value { currency amount }
    transactionIds
    transactions { bankId accountId viewId transactionId }
  }
`);

const WholeTransactionRequests = graphql(`
  query WholeTransactionRequests {
    bank {
      account(accountId: "ACC", viewId: "auditor") {
        transactionRequests { totalCount nodes { ...WholeTransactionRequest } }
      }
    }
  }
`);

const TransactionsOfRequests = graphql(`
  query TransactionsOfRequests {
    bank { account(accountId: "ACC") { transactionRequests { nodes { transactions { uuid } } } } }
  }
`);

const PutWholeTransactionRequest = graphql(`
  mutation PutWholeTransactionRequest($input: PutTransactionRequestInput!) {
    putTransactionRequest(input: $input) {
      trackId
      replayed
      transactionRequests { ...WholeTransactionRequest }
    }
  }
`);

const viewed = { bankId: 'BANK', accountId: 'ACC', viewId: 'auditor' };
const named = (bankId: string, accountId: string) => ({
  bankId,
  accountId,
  account: { bankId, accountId, viewId: 'auditor' },
});
const wholeRequest = {
  description: 'request-description',
  resourceUrl: 'resource-url',
  status: 'COMPLETED',
  startDate: 'start-date',
  endDate: 'end-date',
  challenge: 'challenge',
  from: named('from-bank', 'from-account'),
  to: named('to-bank', 'to-account'),
  value: { currency: 'request-currency', amount: '12.50' },
  transactionIds: 'TX-1, TX-2',
  transactions: [
    { ...viewed, transactionId: 'TX-1' },
    { ...viewed, transactionId: 'TX-2' },
  ],
};
const emptyRequest = Object.fromEntries(Object.keys(wholeRequest).map((name) => [name, null]));

describe('getTransactionsRequest', () => {
  const line = 'GET /v1/api/banks/BANK/accounts/ACC/auditor/transaction-requests';

  test('answers every field from its own place, and null for what is left out', async () => {
    await using fixture = await startBankqlFixture();
    const nulls = Object.fromEntries(Object.keys(transactionRequestRecord).map((name) => [name, null]));
    fixture.bank.on(line, {
      body: { 'transaction-requests': [transactionRequestRecord, {}, nulls, { body: {} }] },
    });
    const result = await fixture.ask(WholeTransactionRequests);
    const nodes = [wholeRequest, emptyRequest, emptyRequest, emptyRequest];
    expect(result).toEqual({
      data: { bank: { account: { transactionRequests: { totalCount: 4, nodes } } } },
    });
    expect(fixture.bank.lines()).toEqual([line]);
    expect(onlyCall(fixture.bank).body).toBe('');
  });

  test.each([
    ['TX-1,TX-2', ['TX-1', 'TX-2']],
    [' TX-1 ,\n\tTX-2,, ', ['TX-1', 'TX-2']],
    ['TX-1 TX-2\u00a0TX-1', ['TX-1', 'TX-2']],
    ['TX-1;TX-2', null],
    ['', []],
    [' , ', []],
  ])('reads the transactions that %j names, each once', async (ids, expected) => {
    await using fixture = await startBankqlFixture();
    fixture.bank
      .on('GET /v1/api/banks/BANK/accounts/ACC/owner/transaction-requests', {
        body: { 'transaction-requests': [{ transaction_ids: ids }] },
      })
      .otherwise(({ path }) => ({ body: { uuid: /transactions\/(.*)\/transaction$/.exec(path)?.[1] } }));
    const result = await fixture.ask(TransactionsOfRequests);
    const transactions = expected === null ? [null] : expected.map((uuid) => ({ uuid }));
    expect(result.data?.bank?.account?.transactionRequests?.nodes).toEqual([{ transactions }]);
    // A separator that the contract does not name makes one id, which can be no segment of a path.
    expect(failuresOf(result)).toEqual(
      expected === null ? ['bank.account.transactionRequests.nodes.0.transactions.0 BANK_BAD_RESPONSE'] : [],
    );
    expect(fixture.bank.calls).toHaveLength(1 + new Set(expected).size);
  });

  test('fails for the one transaction that cannot be read', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank
      .on('GET /v1/api/banks/BANK/accounts/ACC/owner/transaction-requests', {
        body: { 'transaction-requests': [{ transaction_ids: 'A,B,C' }, { transaction_ids: 'C' }] },
      })
      .on('GET /v1/api/banks/BANK/accounts/ACC/owner/transactions/B/transaction', { status: 403 })
      .otherwise({ body: { uuid: 'U' } });
    const result = await fixture.ask(TransactionsOfRequests);
    expect(result.data?.bank?.account?.transactionRequests?.nodes).toEqual([
      { transactions: [{ uuid: 'U' }, null, { uuid: 'U' }] },
      { transactions: [{ uuid: 'U' }] },
    ]);
    expect(failuresOf(result)).toEqual(['bank.account.transactionRequests.nodes.0.transactions.1 FORBIDDEN']);
    expect(fixture.bank.calls).toHaveLength(4);
  });
});

describe('putTransactionRequest', () => {
  const line =
    'PUT /v1/api/banks/BANK/accounts/ACC/auditor/transaction-request-types/TY%20PE/transaction-requests';
  const least = {
    accountId: 'ACC',
    viewId: 'auditor',
    transactionRequestType: 'TY PE',
    to: {},
    idempotencyKey: 'key',
  };

  test('sends every field in its own place, and answers the requests as the bank did', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, { body: { 'transaction-requests': [transactionRequestRecord, {}] } });
    const result = await fixture.ask(PutWholeTransactionRequest, {
      input: {
        ...least,
        to: { bankId: 'tb', accountId: 'ta' },
        value: { currency: 'c', amount: '0.010' },
        description: 'd',
        challengeType: 'ch',
      },
    });
    const call = onlyCall(fixture.bank);
    expect(sentJson(call)).toEqual({
      to: { bank_id: 'tb', account_id: 'ta' },
      value: { currency: 'c', amount: { number: '0.010' } },
      description: 'd',
      challenge_type: 'ch',
    });
    expect(result).toEqual({
      data: {
        putTransactionRequest: {
          trackId: call.headers['track-id'],
          replayed: false,
          transactionRequests: [wholeRequest, emptyRequest],
        },
      },
    });
    expect(fixture.bank.lines()).toEqual([line]);
  });

  test.each([
    ['left out', { to: {}, value: {} }],
    [
      'null',
      {
        bankId: null,
        to: { bankId: null, accountId: null },
        value: { currency: null, amount: null },
        description: null,
        challengeType: null,
      },
    ],
  ])('sends none of the fields that are %s', async (_, fields) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, { body: { 'transaction-requests': [] } });
    const result = await fixture.ask(PutWholeTransactionRequest, { input: { ...least, ...fields } });
    expect(result.data?.putTransactionRequest?.transactionRequests).toEqual([]);
    expect(sentJson(onlyCall(fixture.bank))).toEqual({ to: {}, value: {} });
  });

  test('sends the required field alone, to the bank that is named, through the default view', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: { 'transaction-requests': [] } });
    await fixture.ask(PutWholeTransactionRequest, {
      input: { ...least, bankId: 'B2', viewId: null, value: null },
    });
    expect(fixture.bank.lines()).toEqual([
      'PUT /v1/api/banks/B2/accounts/ACC/owner/transaction-request-types/TY%20PE/transaction-requests',
    ]);
    expect(onlyCall(fixture.bank).body).toBe('{"to":{}}');
  });

  test('fails at the one answered request that breaks the contract', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, {
      body: { 'transaction-requests': [5, transactionRequestRecord, { status: true }] },
    });
    const to = { bankId: 'to-bank', accountId: 'to-account' };
    const result = await fixture.ask(PutWholeTransactionRequest, { input: { ...least, to } });
    expect(result.data?.putTransactionRequest?.transactionRequests).toEqual([
      null,
      wholeRequest,
      emptyRequest,
    ]);
    expect(failuresOf(result)).toEqual([
      'putTransactionRequest.transactionRequests.0 BANK_BAD_RESPONSE',
      'putTransactionRequest.transactionRequests.2.status BANK_BAD_RESPONSE',
    ]);
  });
});
