import { describe, expect, test } from 'vitest';
import { encodeGlobalId } from '../../src/schema/plugin/global-id.ts';
import { anyAnswer } from '../support/any-bank.ts';
import { type BankqlFixture, startBankqlFixture } from '../support/bankql-fixture.ts';

/** bankql in front of a bank that has every record, with three REST calls for each operation. */
async function startLimited() {
  const fixture = await startBankqlFixture({ limits: { timeoutMs: 20_000, restCalls: 3 } });
  fixture.bank.otherwise(anyAnswer);
  return fixture;
}

/** The number of an operation's calls that reach the bank, and the error codes of its answer. */
async function outcomeOf({ bank, ask }: BankqlFixture, query: string, variables?: object) {
  bank.calls.length = 0;
  const { errors = [] } = await ask<unknown, unknown>(query, variables);
  return { calls: bank.calls.length, codes: errors.map(({ extensions }) => extensions.code) };
}

const customers = (count: number, fields: string) =>
  `{ bank { ${Array.from({ length: count }, (_, index) => `c${index}: customer(customerId: "C${index}") { ${fields} }`).join(' ')} } }`;

const answered = (calls: number) => ({ calls, codes: [] });

describe('the calls of an operation', () => {
  test('may be as many as the limit; fields beyond it are null with CALL_BUDGET_EXCEEDED', async () => {
    await using limited = await startLimited();
    expect(await outcomeOf(limited, customers(3, 'email'))).toEqual(answered(3));
    limited.bank.calls.length = 0;
    const { data, errors } = await limited.ask<{ bank: object }, unknown>(customers(5, 'email'));
    expect(limited.bank.calls).toHaveLength(3);
    expect(Object.values(data?.bank ?? {}).filter((customer) => customer !== null)).toHaveLength(3);
    expect(errors?.map(({ path, extensions }) => [path?.join('.'), extensions.code])).toEqual([
      ['bank.c3', 'CALL_BUDGET_EXCEEDED'],
      ['bank.c4', 'CALL_BUDGET_EXCEEDED'],
    ]);
    expect(errors?.[0]).toMatchObject({
      message: expect.stringContaining('3 REST calls'),
      extensions: { operation: 'getCustomer', retryable: false },
    });
    // The next operation has a new budget.
    expect(await outcomeOf(limited, customers(3, 'email'))).toEqual(answered(3));
  });

  test('are none for links whose ids answer, and for arguments that are refused', async () => {
    await using limited = await startLimited();
    expect(await outcomeOf(limited, customers(20, 'id customerId bank { bankId }'))).toEqual(answered(0));
    const wrong = ['..', '.', 'a/b', ''].map(
      (id, index) => `w${index}: customer(customerId: "${id}") { email }`,
    );
    const { calls, codes } = await outcomeOf(
      limited,
      `{ bank { ${wrong.join(' ')} messages { totalCount } } }`,
    );
    expect({ calls, codes: [...new Set(codes)] }).toEqual({ calls: 1, codes: ['BAD_USER_INPUT'] });
  });

  test('count a record once, however often it is named', async () => {
    await using limited = await startLimited();
    const accounts = Array.from(
      { length: 10 },
      (_, index) => `a${index}: account(accountId: "A") { label otherAccounts { totalCount } }
        b${index}: branch(branchId: "BRANCH") { name }`,
    );
    expect(await outcomeOf(limited, `{ bank { ${accounts.join(' ')} } }`)).toEqual(answered(3));
  });

  test('are not used up by fields below records that turn out not to exist', async () => {
    await using limited = await startBankqlFixture({ limits: { timeoutMs: 20_000, restCalls: 6 } });
    limited.bank.otherwise((call) => (/accounts\/NONE/.test(call.path) ? { status: 404 } : anyAnswer(call)));
    const below =
      'label otherAccounts { totalCount } transactionRequests { totalCount } view(viewId: "v") { label }';
    const needed = ['A', 'B', 'C'].map((id) => `${id}: account(accountId: "${id}") { label }`);
    const { data, errors } = await limited.ask<{ bank: object }, unknown>(
      `{ bank { none: account(accountId: "NONE") { ${below} } ${needed.join(' ')} } }`,
    );
    expect(errors?.map(({ path, extensions }) => [path?.join('.'), extensions.code])).toEqual([
      ['bank.none', 'NOT_FOUND'],
    ]);
    expect(data?.bank).toEqual({
      none: null,
      A: { label: 'A as owner' },
      B: { label: 'B as owner' },
      C: { label: 'C as owner' },
    });
    expect(limited.bank.calls.length).toBeLessThanOrEqual(6);
  });

  test('are limited for a hundred nodes too', async () => {
    await using limited = await startLimited();
    const ids = Array.from({ length: 100 }, (_, index) => encodeGlobalId('Customer', `["BANK","C${index}"]`));
    const document = 'query($ids: [ID!]!) { nodes(ids: $ids) { ... on Customer { email } } }';
    const { calls, codes } = await outcomeOf(limited, document, { ids });
    expect({ calls, failed: codes.length, codes: [...new Set(codes)] }).toEqual({
      calls: 3,
      failed: 97,
      codes: ['CALL_BUDGET_EXCEEDED'],
    });
  });

  test('hold writes and what their payloads read', async () => {
    await using limited = await startLimited();
    const put = (name: string, selection: string) =>
      `${name}: putAccount(input: { accountId: "A", account: { balance: {} } }) { ${selection} }`;
    const three = `${put('a', 'account { label }')} ${put('b', 'trackId')}`;
    expect(await outcomeOf(limited, `mutation { ${three} }`)).toEqual(answered(3));
    expect(await outcomeOf(limited, `mutation { ${three} ${put('c', 'trackId')} }`)).toEqual({
      calls: 3,
      codes: ['CALL_BUDGET_EXCEEDED'],
    });
  });
});

describe('a payment', () => {
  const pay = (reads: string) => `makeTransaction(input: {
    accountId: "A", to: { accountId: "B" }, value: { amount: 1 }, idempotencyKey: "key"
  }) { replayed payment { state ${reads} } userErrors { code message } }`;
  const views = (...names: string[]) =>
    names.map((name) => `${name}: account(viewId: "${name}") { label }`).join(' ');

  test('is not counted itself, and its result is complete when later reads exceed the limit', async () => {
    await using limited = await startLimited();
    const { data, errors } = await limited.ask(`mutation { ${pay(views('v1', 'v2', 'v3', 'v4'))} }`);
    expect(limited.bank.calls).toHaveLength(4);
    expect(data).toMatchObject({
      makeTransaction: { replayed: false, payment: { state: 'DONE', v1: {}, v4: null }, userErrors: [] },
    });
    expect(errors?.map(({ path, extensions }) => [path?.join('.'), extensions.code])).toEqual([
      ['makeTransaction.payment.v4', 'CALL_BUDGET_EXCEEDED'],
    ]);
  });

  test('is not sent when the calls before it have used up the limit, and its key is still free', async () => {
    await using limited = await startLimited();
    const puts = ['a', 'b', 'c'].map(
      (name) => `${name}: putAccount(input: { accountId: "A", account: { balance: {} } }) { trackId }`,
    );
    const { data, errors } = await limited.ask(`mutation { ${puts.join(' ')} ${pay('')} }`);
    expect(errors).toBeUndefined();
    expect(data).toMatchObject({
      a: {},
      makeTransaction: {
        payment: null,
        userErrors: [
          { code: 'CALL_BUDGET_EXCEEDED', message: expect.stringContaining('this field did not send it') },
        ],
      },
    });
    expect(limited.bank.calls.map(({ method }) => method)).toEqual(['PUT', 'PUT', 'PUT']);
    expect(limited.bankql.audit).toEqual([]);
    expect(await outcomeOf(limited, `mutation { ${pay(views('v1'))} }`)).toEqual(answered(2));
  });
});
