import { describe, expect, test } from 'vitest';
import { failuresOf, onlyCall, shareBankqlFixture, startBankqlFixture } from '../support/bankql-fixture.ts';
import { transactionRequestRecord } from '../support/full-records.ts';
import { requested } from '../support/requested.ts';

const { bank, ask } = await shareBankqlFixture();

const requests = 'GET /v1/api/banks/BANK/accounts/A/owner/transaction-requests';
const transaction = (id: string) => `GET /v1/api/banks/BANK/accounts/A/owner/transactions/${id}/transaction`;
const query = (args = '', selection = 'uuid') =>
  `{ bank { account(accountId: "A") { transactionRequests { nodes { transactions${args} { ${selection} } } } } } }`;
const requestsOf = (data: unknown) => Object(data).bank.account.transactionRequests.nodes;

/** Requests with these transactions; each request has its id as its uuid. */
function serve(to = bank, ...ids: string[]) {
  to.on(requests, { body: { 'transaction-requests': ids.map((transaction_ids) => ({ transaction_ids })) } });
  return to.otherwise(({ path }) => ({ body: { uuid: /transactions\/(.*)\/transaction$/.exec(path)?.[1] } }));
}

describe('the transactions of a request', () => {
  test.each([
    ['TX-1,TX-2', ['TX-1', 'TX-2']],
    [' TX-1 ,\n\tTX-2,, ', ['TX-1', 'TX-2']],
    ['TX-1 TX-2\u00a0TX-1', ['TX-1', 'TX-2']],
    ['TX-1;TX-2', null],
    ['', []],
    [' , ', []],
  ])('are those that %j names, each read once', async (ids, expected) => {
    serve(bank, ids);
    const result = await ask(query());
    const transactions = expected?.map((uuid) => ({ uuid })) ?? [null];
    expect(requestsOf(result.data)).toEqual([{ transactions }]);
    // This separator is not in the contract, so the text is a single id, which cannot be a segment of a path.
    expect(failuresOf(result)).toEqual(
      expected === null ? ['bank.account.transactionRequests.nodes.0.transactions.0 BANK_BAD_RESPONSE'] : [],
    );
    expect(bank.calls).toHaveLength(1 + (expected?.length ?? 0));
  });

  test('are null one by one if they cannot be read', async () => {
    serve(bank, 'A,B,C', 'C').on(transaction('B'), { status: 403 });
    const result = await ask(query());
    const [a, c] = [{ uuid: 'A' }, { uuid: 'C' }];
    expect(requestsOf(result.data)).toEqual([{ transactions: [a, null, c] }, { transactions: [c] }]);
    expect(failuresOf(result)).toEqual(['bank.account.transactionRequests.nodes.0.transactions.1 FORBIDDEN']);
    expect(bank.calls).toHaveLength(4);
  });

  test('are as many as the entries of a list may be, 10,000, and none of a longer text', async () => {
    const ids = Array.from({ length: 10_000 }, (_, index) => `t${index}`);
    serve(bank, ids.join(), [...ids, 'x'].join());
    const result = await ask(query('(first: 0)'));
    expect(requestsOf(result.data)).toEqual([{ transactions: [] }, { transactions: null }]);
    expect(failuresOf(result)).toEqual([
      'bank.account.transactionRequests.nodes.1.transactions BANK_BAD_RESPONSE',
    ]);
    expect(result.errors?.[0]?.message).toContain('more than 10000 ids');
  });

  const sixty = Array.from({ length: 60 }, (_, index) => `T${index}`).join(',');

  test('are read only for the selected page', async () => {
    serve(bank, sixty);
    const { data } = await ask(query('(first: 2, after: "T9")', 'transactionId uuid'));
    const transactions = ['T10', 'T11'].map((id) => ({ transactionId: id, uuid: id }));
    expect(requestsOf(data)).toEqual([{ transactions }]);
    expect(bank.lines().sort()).toEqual([requests, transaction('T10'), transaction('T11')].sort());
  });

  test('appear once each, so that a page leads to the next although the bank names one twice', async () => {
    serve(bank, 'T1,T2,T1,T3');
    const page = async (args: string) =>
      JSON.stringify((await ask(query(args, 'transactionId'))).data)
        .match(/T\d/g)
        ?.join('');
    expect(await page('')).toBe('T1T2T3');
    expect(await page('(first: 2)')).toBe('T1T2');
    expect(await page('(first: 2, after: "T2")')).toBe('T3');
    expect(bank.lines()).toEqual([requests, requests, requests]);
  });

  test.each([
    ['(first: -1)', 'first'],
    ['(after: "T99")', 'after'],
  ])('are refused for %s', async (args, argument) => {
    serve(bank, 'T1');
    const result = await ask(query(args));
    expect(failuresOf(result)).toEqual([
      'bank.account.transactionRequests.nodes.0.transactions BAD_USER_INPUT',
    ]);
    expect(result.errors?.[0]?.extensions.argument).toEqual([argument]);
    expect(bank.lines()).toEqual([requests]);
  });

  test('have one error if they need more calls than an operation may make', async () => {
    await using fixture = await startBankqlFixture({ limits: { timeoutMs: 20_000, restCalls: 10 } });
    serve(fixture.bank, sixty);
    const { data, errors } = await fixture.ask(query());
    expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['CALL_BUDGET_EXCEEDED']);
    expect(JSON.stringify(data).match(/"T\d+"/g)).toHaveLength(9);
    expect(JSON.stringify(data).match(/null/g)).toHaveLength(51);
  });
});

describe('putTransactionRequest', () => {
  let key = 0;
  const put = (input: string) => `mutation { putTransactionRequest(input: {
    accountId: "ACC", transactionRequestType: "TY PE", idempotencyKey: "${key++}", ${input}
  }) { transactionRequests {
    status to { account { bankId accountId viewId } } transactions { viewId transactionId }
  } } }`;

  test('sends only what is required, to the named bank, through the default view', async () => {
    bank.otherwise((call) => ({ body: requested(call) }));
    const result = await ask(put('bankId: "B2", viewId: null, to: { accountId: "x" }'));
    expect(result.data).toEqual({
      putTransactionRequest: {
        transactionRequests: [
          {
            status: 'INITIATED',
            to: { account: { bankId: 'B2', accountId: 'x', viewId: 'owner' } },
            transactions: null,
          },
        ],
      },
    });
    const { method, path, body } = onlyCall(bank);
    expect([method, path, body]).toEqual([
      'PUT',
      '/v1/api/banks/B2/accounts/ACC/owner/transaction-request-types/TY%20PE/transaction-requests',
      '{"to":{"account_id":"x"}}',
    ]);
  });

  test('answers the requests through its view, with an error at the one that breaks the contract', async () => {
    const line =
      'PUT /v1/api/banks/BANK/accounts/ACC/auditor/transaction-request-types/TY%20PE/transaction-requests';
    const dates = { start_date: new Date().toISOString(), end_date: null };
    const own = { ...transactionRequestRecord, ...dates, from: { account_id: 'ACC' } };
    const broken = { status: true, body: { to: { account_id: 'another', bank_id: 'to-bank' } } };
    bank.on(line, { body: { 'transaction-requests': [own, broken] } });
    const sent = `description: "request-description", value: { amount: "12.50", currency: "request-currency" },
      to: { bankId: "to-bank", accountId: "to-account" }`;
    const result = await ask(put(`viewId: "auditor", ${sent}`));
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
    expect(bank.lines()).toEqual([line]);
  });
});
