import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type ErrorCode, errorCodes } from '../../src/errors.ts';
import { createMemoryStore } from '../../src/payments/store/memory-store.ts';
import { StoreUnavailable } from '../../src/payments/store/store.ts';
import { credentials, type Result, type TestOptions } from '../support/bankql.ts';
import { startBankqlFixture } from '../support/bankql-fixture.ts';
import type { RecordingBank } from '../support/recording-bank.ts';
import { postOf } from '../support/requests.ts';
import { until } from '../support/waits.ts';

/** Each code of docs/errors.md occurs as its row describes. */

const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8');

type Answer = Parameters<RecordingBank['otherwise']>[0];

interface Scene {
  /** The body of the request; a query of a customer by default. */
  readonly body?: object;
  readonly options?: Omit<TestOptions, 'bankUrl'>;
  readonly headers?: Readonly<Record<string, string>>;
  /** The bank's answer to every call. */
  readonly reply?: Answer;
  /** Runs before the request. */
  readonly before?: (
    ask: (query: string) => Promise<Result<unknown>>,
    bank: RecordingBank,
  ) => Promise<unknown> | unknown;
}

const says = (status: number, body: object, headers = {}): Answer => ({ status, body, headers });
const hangs: Answer = () => 'hang';
const pay = (key: string, amount = '10') =>
  `mutation { makeTransaction(input: { accountId: "A", to: { accountId: "B" }, value: { amount: "${amount}" }, idempotencyKey: "${key}" }) { payment { trackId } } }`;

/** Begins a payment that the bank never answers. It is in progress until the test closes the bank. */
async function payForever(key: string, ask: (query: string) => Promise<unknown>, bank: RecordingBank) {
  bank.otherwise(hangs);
  ask(pay(key)).catch(() => {});
  await until(() => bank.calls.length > 0);
}

const customer = { query: '{ bank { customer(customerId: "C-7") { email } } }' };
const payment = { query: pay('rent-2026-11') };
const onlyHash = { extensions: { persistedQuery: { version: 1, sha256Hash: 'e'.repeat(64) } } };

const scenes: Record<ErrorCode, Scene> = {
  BAD_USER_INPUT: { body: { query: '{ bank { customer(customerId: "C/7") { email } } }' } },
  MISSING_CREDENTIALS: { headers: { ...credentials, 'Auth-ID': '' } },
  UNAUTHENTICATED: { reply: says(401, { code: 'OBP-20001', message: 'User not logged in.' }) },
  FORBIDDEN: { reply: says(403, { code: 'OBP-20017', message: 'No access to this view.' }) },
  NOT_FOUND: { reply: says(404, { code: 'OBP-30046', message: 'Customer not found.' }) },
  BANK_REJECTED: {
    body: payment,
    reply: says(400, { code: 'INSUFFICIENT_FUNDS', message: 'Insufficient funds.' }),
  },
  CONFLICT: {
    body: {
      query:
        'mutation { updateCustomer(input: { customerId: "C-7", ifVersion: "old", changes: { email: "a@b.example" } }) { trackId } }',
    },
    reply: says(200, { customer_id: 'C-7', email: 'alice@example.com' }),
  },
  RATE_LIMITED: { reply: says(429, {}, { 'Retry-After': '7' }) },
  BANK_ERROR: { reply: says(500, { message: 'hidden' }) },
  BANK_UNAVAILABLE: { reply: says(503, {}) },
  BANK_TIMEOUT: { reply: hangs, options: { bankOptions: { timeoutMs: 50 } } },
  BANK_BAD_RESPONSE: { reply: { body: 'not JSON' } },
  OUTCOME_UNKNOWN: { body: payment, reply: says(503, {}) },
  OVERLOADED: {
    body: payment,
    options: { bankOptions: { connections: 1, waitingCalls: 0 } },
    before: (ask, bank) => payForever('another', ask, bank),
  },
  CALL_BUDGET_EXCEEDED: {
    body: { query: '{ bank { account(accountId: "A") { owners { legalName } } } }' },
    options: { limits: { timeoutMs: 20_000, restCalls: 1 } },
    reply: says(200, { id: 'A', owners: [{ id: 'C-7' }] }),
  },
  LIMIT_EXCEEDED: {
    body: {
      query: `mutation { ${['a', 'b'].map((key) => pay(key).replace(/^mutation \{ (.*) \}$/, `${key}: $1`)).join(' ')} }`,
    },
  },
  GRAPHQL_PARSE_FAILED: { body: { query: '{ bank {' } },
  GRAPHQL_VALIDATION_FAILED: { body: { query: '{ bank { nme } }' } },
  PERSISTED_DOCUMENT_REQUIRED: {
    options: { persisted: { documents: { texts: new Map(), parsed: new Map() }, only: true } },
  },
  PERSISTED_QUERY_NOT_SUPPORTED: { body: onlyHash },
  IDEMPOTENCY_IN_PROGRESS: { body: payment, before: (ask, bank) => payForever('rent-2026-11', ask, bank) },
  IDEMPOTENCY_KEY_REUSED: {
    body: payment,
    reply: says(200, {}),
    before: (ask) => ask(pay('rent-2026-11', '9')),
  },
  STATE_UNAVAILABLE: {
    body: payment,
    options: {
      store: {
        ...(await createMemoryStore({ retentionMs: 86_400_000 })),
        begin: async () => {
          throw new StoreUnavailable('The store is away.');
        },
      },
    },
  },
  INTERNAL: {
    options: {
      authenticate: () => {
        throw new Error('a bug');
      },
    },
  },
};

/** The `extensions` of the first error of a scene. */
async function firstError(code: ErrorCode) {
  const { body = customer, options = {}, headers = credentials, reply, before } = scenes[code];
  await using fixture = await startBankqlFixture(options);
  const { bank, bankql } = fixture;
  if (reply !== undefined) bank.otherwise(reply);
  await before?.((query) => bankql.ask(query), bank);
  const answer = await bankql.fetch(new Request('http://bankql.test/graphql', postOf(body, headers)));
  const { errors = [] }: Result<unknown> = JSON.parse(await answer.text());
  // The bank ends the calls that it has not answered, because bankql waits for them.
  await bank.close();
  return errors[0]?.extensions;
}

/** The rows of the table: the code, its anchor, and whether it is retryable. */
const rows = [...page.matchAll(/^\| `(\w+)` \| <a id="(\w+)"><\/a>.+ \| (yes|no) \|$/gm)].map(
  ([, code, anchor, retryable]) => ({
    code,
    anchor,
    retryable: retryable === 'yes',
  }),
);

test('docs/errors.md has one row for each error code, in the order of src/errors.ts', () => {
  expect(rows.map(({ code }) => code)).toEqual(Object.keys(errorCodes));
});

test.each(rows)('an answer with $code matches its row', async ({ code, anchor, retryable }) => {
  expect(anchor).toBe(code?.toLowerCase());
  expect(await firstError(code as ErrorCode)).toMatchObject({ code, retryable });
});
