import { describe, expect, test } from 'vitest';
import { failuresOf, onlyCall, startBankqlFixture } from '../support/bankql-fixture.ts';
import { transactionRequestRecord } from '../support/full-records.ts';

const requestsOf = (data: unknown) => Object(data).bank.account.transactionRequests.nodes;
const TransactionsOfRequests =
  '{ bank { account(accountId: "ACC") { transactionRequests { nodes { transactions { uuid } } } } } }';

describe('the transactions of a request', () => {
  test.each([
    ['TX-1,TX-2', ['TX-1', 'TX-2']],
    [' TX-1 ,\n\tTX-2,, ', ['TX-1', 'TX-2']],
    ['TX-1 TX-2\u00a0TX-1', ['TX-1', 'TX-2']],
    ['TX-1;TX-2', null],
    ['', []],
    [' , ', []],
  ])('are those that %j names, each read once', async (ids, expected) => {
    await using fixture = await startBankqlFixture();
    fixture.bank
      .on('GET /v1/api/banks/BANK/accounts/ACC/owner/transaction-requests', {
        body: { 'transaction-requests': [{ transaction_ids: ids }] },
      })
      .otherwise(({ path }) => ({ body: { uuid: /transactions\/(.*)\/transaction$/.exec(path)?.[1] } }));
    const result = await fixture.ask(TransactionsOfRequests);
    const transactions = expected === null ? [null] : expected.map((uuid) => ({ uuid }));
    expect(requestsOf(result.data)).toEqual([{ transactions }]);
    // A separator that the contract does not name makes one id, which can be no segment of a path.
    expect(failuresOf(result)).toEqual(
      expected === null ? ['bank.account.transactionRequests.nodes.0.transactions.0 BANK_BAD_RESPONSE'] : [],
    );
    expect(fixture.bank.calls).toHaveLength(1 + new Set(expected).size);
  });

  test('fail one by one', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank
      .on('GET /v1/api/banks/BANK/accounts/ACC/owner/transaction-requests', {
        body: { 'transaction-requests': [{ transaction_ids: 'A,B,C' }, { transaction_ids: 'C' }] },
      })
      .on('GET /v1/api/banks/BANK/accounts/ACC/owner/transactions/B/transaction', { status: 403 })
      .otherwise({ body: { uuid: 'U' } });
    const result = await fixture.ask(TransactionsOfRequests);
    expect(requestsOf(result.data)).toEqual([
      { transactions: [{ uuid: 'U' }, null, { uuid: 'U' }] },
      { transactions: [{ uuid: 'U' }] },
    ]);
    expect(failuresOf(result)).toEqual(['bank.account.transactionRequests.nodes.0.transactions.1 FORBIDDEN']);
    expect(fixture.bank.calls).toHaveLength(4);
  });
});

describe('putTransactionRequest', () => {
  const put = (input: string) => `mutation { putTransactionRequest(input: {
    accountId: "ACC", transactionRequestType: "TY PE", idempotencyKey: "key", ${input}
  }) { transactionRequests {
    status to { account { bankId accountId viewId } } transactions { viewId transactionId }
  } } }`;

  test('sends what is required alone, to the bank that is named, through the default view', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: { 'transaction-requests': [{ status: 'INITIATED' }] } });
    const result = await fixture.ask(put('bankId: "B2", viewId: null, to: {}'));
    expect(result.data).toEqual({
      putTransactionRequest: { transactionRequests: [{ status: 'INITIATED', to: null, transactions: null }] },
    });
    const { method, path, body } = onlyCall(fixture.bank);
    expect([method, path, body]).toEqual([
      'PUT',
      '/v1/api/banks/B2/accounts/ACC/owner/transaction-request-types/TY%20PE/transaction-requests',
      '{"to":{}}',
    ]);
  });

  test('shows the requests of the answer through its view, and fails at the one that breaks the contract', async () => {
    await using fixture = await startBankqlFixture();
    const line =
      'PUT /v1/api/banks/BANK/accounts/ACC/auditor/transaction-request-types/TY%20PE/transaction-requests';
    const own = { ...transactionRequestRecord, from: { account_id: 'ACC' } };
    const broken = { status: true, body: { to: { account_id: 'another', bank_id: 'to-bank' } } };
    fixture.bank.on(line, { body: { 'transaction-requests': [own, broken] } });
    const sent = `description: "request-description", value: { amount: "12.50", currency: "request-currency" },
      to: { bankId: "to-bank", accountId: "to-account" }`;
    const result = await fixture.ask(put(`viewId: "auditor", ${sent}`));
    const whole = {
      status: 'COMPLETED',
      to: { account: { bankId: 'to-bank', accountId: 'to-account', viewId: 'auditor' } },
      transactions: ['TX-1', 'TX-2'].map((transactionId) => ({ viewId: 'auditor', transactionId })),
    };
    expect(result.data).toEqual({
      putTransactionRequest: {
        transactionRequests: [
          whole,
          {
            status: null,
            to: { account: { bankId: 'to-bank', accountId: 'another', viewId: 'auditor' } },
            transactions: null,
          },
        ],
      },
    });
    expect(failuresOf(result)).toEqual([
      'putTransactionRequest.transactionRequests.1.status BANK_BAD_RESPONSE',
    ]);
    expect(fixture.bank.lines()).toEqual([line]);
  });
});

describe('a page of the transactions of a request', () => {
  const requests = `GET /v1/api/banks/BANK/accounts/A/owner/transaction-requests`;
  const transaction = (id: string) =>
    `GET /v1/api/banks/BANK/accounts/A/owner/transactions/${id}/transaction`;
  const ids = Array.from({ length: 60 }, (_, index) => `T${index}`);
  const ask = (args: string) =>
    `{ bank { account(accountId: "A") { transactionRequests { nodes { transactions${args} { transactionId uuid } } } } } }`;

  test('are cut to the page before any of them is read', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(requests, { body: { 'transaction-requests': [{ transaction_ids: ids.join(',') }] } });
    for (const id of ids) fixture.bank.on(transaction(id), { body: { uuid: `uuid-${id}` } });
    const { data, errors } = await fixture.ask(ask('(first: 2, after: "T9")'));
    expect(errors).toBeUndefined();
    expect(JSON.stringify(data)).toContain(
      '"transactions":[{"transactionId":"T10","uuid":"uuid-T10"},{"transactionId":"T11","uuid":"uuid-T11"}]',
    );
    expect(fixture.bank.lines().sort()).toEqual([requests, transaction('T10'), transaction('T11')].sort());
  });

  test('are each there once, so that a page leads to the next although the bank names one twice', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(requests, { body: { 'transaction-requests': [{ transaction_ids: 'T1,T2,T1,T3' }] } });
    const page = async (args: string) => {
      const { data } = await fixture.ask(ask(args).replace(' uuid', ''));
      return JSON.stringify(data).match(/T\d/g);
    };
    expect(await page('')).toEqual(['T1', 'T2', 'T3']);
    expect(await page('(first: 2)')).toEqual(['T1', 'T2']);
    expect(await page('(first: 2, after: "T2")')).toEqual(['T3']);
    expect(fixture.bank.lines()).toEqual([requests, requests, requests]);
  });

  test.each([
    ['(first: -1)', 'first'],
    ['(after: "T99")', 'after'],
  ])('%s is refused', async (args, argument) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(requests, { body: { 'transaction-requests': [{ transaction_ids: 'T1' }] } });
    const result = await fixture.ask(ask(args));
    expect(failuresOf(result)).toEqual([
      'bank.account.transactionRequests.nodes.0.transactions BAD_USER_INPUT',
    ]);
    expect(result.errors?.[0]?.extensions.argument).toEqual([argument]);
    expect(fixture.bank.lines()).toEqual([requests]);
  });

  test('have one error if the operation may not make that many calls', async () => {
    await using fixture = await startBankqlFixture({ limits: { timeoutMs: 20_000, restCalls: 10 } });
    fixture.bank.on(requests, { body: { 'transaction-requests': [{ transaction_ids: ids.join(',') }] } });
    for (const id of ids) fixture.bank.on(transaction(id), { body: { uuid: `uuid-${id}` } });
    const { data, errors } = await fixture.ask(ask(''));
    expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['CALL_BUDGET_EXCEEDED']);
    expect(JSON.stringify(data).match(/uuid-/g)).toHaveLength(9);
    expect(JSON.stringify(data).match(/null/g)).toHaveLength(51);
  });
});
