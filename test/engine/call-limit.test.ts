import { describe, expect, test } from 'vitest';
import { encodeGlobalId } from '../../src/schema/global-id.ts';
import { validateViewerTemplate } from '../../src/schema/viewer-template.ts';
import { anyAnswer } from '../support/any-bank.ts';
import { credentials } from '../support/bankql.ts';
import { startBankqlFixture } from '../support/bankql-fixture.ts';
import { documented } from '../support/documented.ts';

const own = validateViewerTemplate('{auth-id}');

/** bankql in front of a bank that has everything, with three REST calls for an operation. */
async function startLimited() {
  const fixture = await startBankqlFixture({
    limits: { timeoutMs: 20_000, restCalls: 3 },
    defaults: { bankId: 'BANK', viewId: 'owner', viewer: { customerId: own, accountId: own } },
  });
  fixture.bank.otherwise(anyAnswer);
  const send = (query: string, variables: object = {}, accept = 'application/json') =>
    fixture.bankql.fetch(
      new Request('http://bankql.test/graphql', {
        method: 'POST',
        headers: { ...credentials, 'Content-Type': 'application/json', Accept: accept },
        body: JSON.stringify({ query, variables }),
      }),
    );
  return {
    ...fixture,
    send,
    /** How many calls arrive for an operation, and with which codes it is answered. */
    async outcomeOf(query: string, variables?: object) {
      fixture.bank.calls.length = 0;
      const { errors = [] } = await fixture.ask<unknown, unknown>(query, variables);
      return { calls: fixture.bank.calls.length, codes: errors.map(({ extensions }) => extensions.code) };
    },
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  };
}

const customers = (count: number, fields: string) =>
  `{ bank { ${Array.from({ length: count }, (_, index) => `c${index}: customer(customerId: "C${index}") { ${fields} }`).join(' ')} } }`;

const refused = { calls: 0, codes: ['LIMIT_EXCEEDED'] };
const answered = (calls: number) => ({ calls, codes: [] });

describe('an operation that needs more REST calls than it may make', () => {
  test.each(['application/json', 'application/graphql-response+json', '*/*'])(
    'is refused with 400 and one small error for %s, and no call is made',
    async (accept) => {
      await using limited = await startLimited();
      const response = await limited.send(customers(4, 'email'), {}, accept);
      const text = await response.text();
      expect(response.status).toBe(400);
      expect(text.length).toBeLessThan(1000);
      expect(JSON.parse(text)).toEqual({
        errors: [
          {
            message: 'The operation needs at least 4 REST calls, and may make 3; ask for less at a time.',
            extensions: documented({ code: 'LIMIT_EXCEEDED', retryable: false }),
          },
        ],
      });
      expect(limited.bank.calls).toEqual([]);
    },
  );

  test('is refused for what hangs on the viewer, who is known before it runs', async () => {
    await using limited = await startLimited();
    const viewer = (fields: string) => `{ viewer { account { label } accounts { totalCount } ${fields} } }`;
    expect(await limited.outcomeOf(viewer('messages { totalCount }'))).toEqual(answered(3));
    expect(await limited.outcomeOf(viewer('messages { totalCount } customer { email }'))).toEqual(refused);
    const same = 'bank { account(accountId: "the-caller") { iban } }';
    expect(await limited.outcomeOf(`{ ${same} ${viewer('customer { email }').slice(1)}`)).toEqual(
      answered(3),
    );
  });

  test.each([
    ['lists', (id: number) => `a${id}: branches(filter: { id: "${id}" }) { totalCount }`],
    ['single records', (id: number) => `a${id}: product(productId: "${id}") { name }`],
  ])('is refused for %s, and nothing else, as arguments name them', async (_what, field) => {
    await using limited = await startLimited();
    const bank = (count: number) =>
      `{ bank { ${Array.from({ length: count }, (_, id) => field(id)).join(' ')} } }`;
    expect(await limited.outcomeOf(bank(3))).toEqual(answered(3));
    expect(await limited.outcomeOf(bank(4))).toEqual(refused);
  });

  test('is refused by GET as by POST', async () => {
    await using limited = await startLimited();
    const url = `http://bankql.test/graphql?query=${encodeURIComponent(customers(4, 'email'))}`;
    const response = await limited.bankql.fetch(
      new Request(url, { headers: { ...credentials, Accept: 'application/json' } }),
    );
    expect(response.status).toBe(400);
    expect(limited.bank.calls).toEqual([]);
  });

  test('is refused with one small error however much it asks for', async () => {
    await using limited = await startLimited();
    const ids = Array.from({ length: 100 }, (_, index) => encodeGlobalId('Customer', `["BANK","C${index}"]`));
    const response = await limited.send(
      'query($ids: [ID!]!) { nodes(ids: $ids) { ... on Customer { email } } }',
      { ids },
    );
    const text = await response.text();
    expect(response.status).toBe(400);
    expect(text.length).toBeLessThan(1000);
    expect(limited.bank.calls).toEqual([]);
  });
});

describe('the calls that an operation needs at least', () => {
  test('may be as many as the limit', async () => {
    await using limited = await startLimited();
    expect(await limited.outcomeOf(customers(3, 'email'))).toEqual(answered(3));
  });

  test('are none for links whose ids answer', async () => {
    await using limited = await startLimited();
    expect(await limited.outcomeOf(customers(20, 'id customerId bank { bankId }'))).toEqual(answered(0));
  });

  test('count a record once, however often it is named', async () => {
    await using limited = await startLimited();
    const accounts = Array.from(
      { length: 10 },
      (_, index) => `a${index}: account(accountId: "A") { label otherAccounts { totalCount } }
        b${index}: branch(branchId: "BRANCH") { name }`,
    );
    expect(await limited.outcomeOf(`{ bank { ${accounts.join(' ')} } }`)).toEqual(answered(3));
  });

  test('go by the variables, through fragments', async () => {
    await using limited = await startLimited();
    const document = `query($all: Boolean! = true, $one: ID!) { bank {
      one: customer(customerId: $one) { ...F }
      ... @include(if: $all) { a: customer(customerId: "A") { ...F } b: customer(customerId: "B") { ...F } }
      c: customer(customerId: "C") { ...F } } }
      fragment F on Customer { email }`;
    expect(await limited.outcomeOf(document, { one: 'D' })).toEqual(refused);
    expect(await limited.outcomeOf(document, { one: 'C' })).toEqual(answered(3));
    expect(await limited.outcomeOf(document, { one: 'D', all: false })).toEqual(answered(2));
  });

  test('go by the types of nodes', async () => {
    await using limited = await startLimited();
    const ids = ['A', 'B', 'C', 'D'].map((id) => encodeGlobalId('Customer', `["BANK","${id}"]`));
    const document = (type: string, field: string) =>
      `query($ids: [ID!]!) { nodes(ids: $ids) { id ... on ${type} { ${field} } } }`;
    expect(await limited.outcomeOf(document('Customer', 'email'), { ids })).toEqual(refused);
    expect(await limited.outcomeOf(document('Customer', 'bankId'), { ids })).toEqual(answered(0));
    expect(await limited.outcomeOf(document('Account', 'label'), { ids })).toEqual(answered(0));
    expect(await limited.outcomeOf(document('Customer', 'email'), { ids: ids.slice(1) })).toEqual(
      answered(3),
    );
  });

  test('hold writes and what their payloads read', async () => {
    await using limited = await startLimited();
    const put = (name: string, selection: string) =>
      `${name}: putAccount(input: { accountId: "A", account: { balance: {} } }) { ${selection} }`;
    expect(
      await limited.outcomeOf(`mutation { ${put('a', 'account { label }')} ${put('b', 'trackId')} }`),
    ).toEqual(answered(3));
    expect(
      await limited.outcomeOf(
        `mutation { ${put('a', 'account { label }')} ${put('b', 'account { label }')} }`,
      ),
    ).toEqual(refused);
  });

  test('leave to the run what only records tell: what is over there is CALL_BUDGET_EXCEEDED', async () => {
    await using limited = await startLimited();
    const { calls, codes } = await limited.outcomeOf(
      '{ bank { a: account(accountId: "A") { owners { email } } b: account(accountId: "B") { label owners { email } } } }',
    );
    expect({ calls, codes: [...new Set(codes)] }).toEqual({ calls: 3, codes: ['CALL_BUDGET_EXCEEDED'] });
  });

  test('do not hold what wrong arguments ask for: they fail at their fields', async () => {
    await using limited = await startLimited();
    const wrong = ['..', '.', 'a/b', ''].map(
      (id, index) => `w${index}: customer(customerId: "${id}") { email }`,
    );
    const { calls, codes } = await limited.outcomeOf(
      `{ bank { ${wrong.join(' ')} messages { totalCount } } }`,
    );
    expect({ calls, codes: [...new Set(codes)] }).toEqual({ calls: 1, codes: ['BAD_USER_INPUT'] });
  });

  test('are not asked where variables do not fit', async () => {
    await using limited = await startLimited();
    expect(
      await limited.outcomeOf('query($id: ID!) { bank { customer(customerId: $id) { email } } }', {}),
    ).toEqual({ calls: 0, codes: ['BAD_USER_INPUT'] });
  });
});

describe('a payment', () => {
  const pay = (reads: string, more = '') => `mutation { makeTransaction(input: {
    accountId: "A", to: { accountId: "B" }, value: { amount: 1 }, idempotencyKey: "key"
  }) { payment { transactionId ${reads} } } ${more} }`;
  const views = (...names: string[]) =>
    names.map((name) => `${name}: account(viewId: "${name}") { label }`).join(' ');

  test('is not counted itself', async () => {
    await using limited = await startLimited();
    expect(await limited.outcomeOf(pay(views('v1', 'v2', 'v3')))).toEqual(answered(4));
  });

  test('beside too many reads is refused before it is sent, and its key is still free', async () => {
    await using limited = await startLimited();
    expect(await limited.outcomeOf(pay(views('v1', 'v2', 'v3', 'v4')))).toEqual(refused);
    expect(limited.bankql.audit).toEqual([]);
    expect(await limited.outcomeOf(pay(views('v1')))).toEqual(answered(2));
  });
});
