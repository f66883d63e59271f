import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, print, separateOperations } from 'graphql';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { alice } from '../../src/app/announcements.ts';
import { readConfig } from '../../src/config/config.ts';
import type { RecordedCall as ExplainedCall } from '../../src/graphql/explain-calls.ts';
import { startSandbox } from '../../src/sandbox/server.ts';
import { createTestBankql } from '../support/bankql.ts';
import { shareBankqlFixture, startBankqlFixture } from '../support/bankql-fixture.ts';
import type { RecordedCall } from '../support/recording-bank.ts';

/** Operations for the sandbox bank, in addition to the screens of examples/. */
const further: Readonly<Record<string, string>> = {
  nothing: '{ __typename }',
  ids: '{ bank { bankId account(accountId: "alice-current") { accountId } } }',
  'the same twice':
    '{ bank { a: branch(branchId: "nicosia-main") { name } branches(first: 1) { nodes { name } } } }',
  'what a record tells':
    '{ bank { account(accountId: "alice-current") { label owners { legalName } transactionRequests(first: 1) { nodes { from { account { label } } transactions { uuid otherAccount { iban } } } } } } }',
  'what there is none of':
    '{ bank { account(accountId: "alice-none") { label owners { legalName } } customer(customerId: "nobody") { email } } }',
  'an update':
    'mutation { updateCustomer(input: { customerId: "alice", changes: { email: "alice@example.com" } }) { trackId customer { email } } }',
};

const folder = join(import.meta.dirname, '../../examples');
const variables: Readonly<Record<string, object>> = JSON.parse(
  readFileSync(join(folder, 'variables.json'), 'utf8'),
);
const operations = [
  ...readdirSync(join(folder, 'screens')).flatMap((file) => {
    const document = parse(readFileSync(join(folder, 'screens', file), 'utf8'));
    // A file may have several operations.
    return Object.values(separateOperations(document)).map((operation) => ({
      name: file.replace('.graphql', ''),
      query: print(operation),
    }));
  }),
  ...Object.entries(further).map(([name, query]) => ({ name, query })),
];

const sandbox = await startSandbox({ port: 0 });
const { defaults } = readConfig({}).server;
const { bank, bankql } = await shareBankqlFixture({ defaults, explains: true });

async function forward({ method, path, headers, body }: RecordedCall) {
  const { host: _, connection: __, 'content-length': ___, ...rest } = headers;
  const sent = body === '' ? {} : { body };
  const response = await fetch(`${sandbox.url}${path}`, { method, headers: rest, ...sent });
  return { status: response.status, body: await response.text() };
}

beforeEach(() => void bank.otherwise(forward));
afterAll(() => sandbox.close());

interface Explained {
  readonly data?: object | null;
  readonly extensions?: {
    readonly explain: {
      readonly restCalls?: number;
      readonly calls?: readonly ExplainedCall[];
    };
  };
}
const ask = (query: string, explain: string, given: object = {}): Promise<Explained> =>
  bankql.ask(query, given, { ...alice, 'x-bankql-explain': explain });

describe('an operation that is explained', () => {
  test.each(operations)('$name: each call is shown as the bank received it', async ({ name, query }) => {
    const { extensions } = await ask(query, 'calls', variables[name]);
    const { restCalls, calls = [] } = extensions?.explain ?? {};
    const made = bank.calls.length;
    expect(restCalls).toBe(made);
    const own = calls.filter(({ source }) => source === 'bank');
    const seen = (pattern: string) => new RegExp(`^${pattern.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
    const unexplained = bank.calls.filter(({ method, path }) => {
      const at = own.findIndex(
        (call) => call.method === method && seen(call.url).test(path.split('?')[0] ?? ''),
      );
      if (at !== -1) own.splice(at, 1);
      return at === -1;
    });
    expect([unexplained, own]).toEqual([[], []]);
  });

  test('names its fields, its shared calls, and what each took', async () => {
    const query =
      '{ bank { account(accountId: "alice-current") { label owners { legalName } again: owners { email } } } }';
    const { extensions, data } = await ask(query, 'calls');
    expect(data).toMatchObject({ bank: { account: { label: 'Everyday' } } });
    expect(extensions?.explain.calls).toMatchObject(
      [
        { path: 'bank.account', operation: 'getAccountsScope', source: 'bank', status: 200, code: null },
        { path: 'bank.account.again', operation: 'getCustomer', source: 'loader', milliseconds: null },
        { path: 'bank.account.owners', operation: 'getCustomer', source: 'bank', bytes: expect.any(Number) },
      ].sort((a, b) => Number(a.path > b.path)),
    );
  });

  test('counts a call for which the answer did not wait', async () => {
    const asked = Promise.withResolvers<void>();
    await using slow = await startBankqlFixture({ explains: true });
    slow.bank.otherwise(async ({ path }) => {
      if (path.endsWith('/other_accounts')) {
        asked.resolve();
        return 'hang';
      }
      // The account does not exist, so nobody needs its counterparties, which are being read.
      await asked.promise;
      return { status: 404, body: {} };
    });
    const query = '{ bank(bankId: "B") { account(accountId: "A") { label otherAccounts { totalCount } } } }';
    const headers = { ...alice, 'x-bankql-explain': 'calls' };
    const { extensions }: Explained = await slow.ask(query, {}, headers);
    expect(extensions?.explain.calls).toMatchObject([
      { operation: 'getAccountsScope', source: 'bank', status: 404, code: 'NOT_FOUND' },
      { operation: 'getOtherAccounts', source: 'pending', status: null, milliseconds: null },
    ]);
    expect(extensions?.explain.restCalls).toBe(2);
    expect(slow.bank.calls).toHaveLength(2);
  });

  test('has the status and the size of a write, and the status of one that failed', async () => {
    const update = (id: string) =>
      `mutation { putCustomer(input: { customerId: "${id}", customer: { email: "a@example.com", legalName: "A" } }) { trackId } }`;
    const callsOf = async (query: string) => (await ask(query, 'calls')).extensions?.explain;
    expect(await callsOf(update('alice'))).toMatchObject({
      restCalls: 1,
      calls: [{ operation: 'putCustomerID', source: 'bank', status: 200, bytes: expect.any(Number) }],
    });
    expect(await callsOf(update('bob'))).toMatchObject({
      restCalls: 1,
      calls: [{ operation: 'putCustomerID', source: 'bank', status: 403, bytes: null, code: 'FORBIDDEN' }],
    });
  });

  describe('of a payment that failed', () => {
    const payment = (key: string, amount = '1.00') =>
      `mutation { makeTransaction(input: { accountId: "alice-current", to: { accountId: "alice-savings" }, value: { amount: "${amount}", currency: "EUR" }, idempotencyKey: "${key}" }) { payment { trackId } } }`;
    const explained = async (query: string) => (await ask(query, 'calls')).extensions?.explain;

    test('tells that the bank refused it, and when its record did', async () => {
      const refused = { operation: 'postMakeTransaction', status: 400, code: 'BANK_REJECTED' };
      const poor = payment('poor', '1000000.00');
      expect(await explained(poor)).toMatchObject({ restCalls: 1, calls: [{ ...refused, source: 'bank' }] });
      expect(await explained(poor)).toMatchObject({
        restCalls: 0,
        calls: [{ ...refused, source: 'record' }],
      });
      expect(bank.calls).toHaveLength(1);
    });

    test('tells that its outcome is unknown', async () => {
      bank.otherwise({ status: 503, body: '' });
      const unknown = { code: 'OUTCOME_UNKNOWN', status: 503, trackId: expect.any(String) };
      expect(await explained(payment('lost'))).toMatchObject({
        restCalls: 1,
        calls: [{ ...unknown, source: 'bank' }],
      });
      bank.otherwise(forward);
      expect(await explained(payment('lost'))).toMatchObject({
        restCalls: 0,
        calls: [{ ...unknown, source: 'record' }],
      });
      expect(bank.calls).toHaveLength(1);
    });

    test('tells that nothing was sent', async () => {
      expect(await explained(payment('x'.repeat(256)))).toMatchObject({
        restCalls: 0,
        calls: [{ source: 'none', status: null, trackId: null, code: 'BAD_USER_INPUT' }],
      });
      expect(bank.calls).toEqual([]);
    });
  });

  test('of a payment that was made before tells that it came from its record', async () => {
    const payment = `mutation { makeTransaction(input: { accountId: "alice-current", to: { accountId: "alice-savings" }, value: { amount: "1.00", currency: "EUR" }, idempotencyKey: "explained" }) { payment { trackId } } }`;
    const sources = async () =>
      (await ask(payment, 'calls')).extensions?.explain.calls?.map(({ source }) => source);
    expect(await sources()).toEqual(['bank']);
    expect(await sources()).toEqual(['record']);
    expect(bank.calls).toHaveLength(1);
  });
});

test('the header is refused where it asks for something else, and where it is switched off', async () => {
  const wrong = await ask('{ __typename }', 'all');
  expect(wrong).toMatchObject({ errors: [{ message: 'x-bankql-explain takes the value calls.' }] });
  await using silent = await createTestBankql({ bankUrl: bank.url });
  const refused = await silent.ask('{ __typename }', {}, { ...alice, 'x-bankql-explain': 'calls' });
  expect(refused.errors?.[0]?.message).toMatch(/switched off here; .*EXPLORE=on/);
});

test('without the header an answer says nothing of its calls', async () => {
  const result: Explained = await bankql.ask('{ bank { branches { totalCount } } }', {}, alice);
  expect(result.extensions).toBeUndefined();
});
