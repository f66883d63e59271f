import { readFileSync } from 'node:fs';
import { slug } from 'github-slugger';
import { describe, expect, test } from 'vitest';
import { type ErrorCode, errorCodes } from '../../src/errors.ts';
import { StoreUnavailable } from '../../src/payments/store.ts';
import { createMemoryStore } from '../../src/payments/stores/memory-store.ts';
import { createTestBankql, credentials, type Result, type TestOptions } from '../support/bankql.ts';
import { type RecordingBank, startRecordingBank } from '../support/recording-bank.ts';
import { postOf } from '../support/requests.ts';
import { until } from '../support/waits.ts';

/** The examples of docs/errors.md: each operation of the page is sent, and its first error is what the page shows. */

const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8');

/** What is sent, what is shown, and the advice between the heading and the example. */
interface Entry {
  readonly advice: string;
  readonly body: object;
  readonly shown: unknown;
}

const entries = new Map<string, Entry>(
  page
    .split(/^### /m)
    .slice(1)
    .map((section) => {
      const [, code = '', advice = '', language, sent = '', shown = ''] =
        /^`(\w+)`\n+([\s\S]*?)\n+```(graphql|json)\n([\s\S]*?)\n```\n+```json\n([\s\S]*?)\n```/.exec(
          section,
        ) ?? [];
      return [
        code,
        {
          advice,
          body: language === 'graphql' ? { query: sent } : JSON.parse(sent),
          shown: JSON.parse(shown),
        },
      ];
    }),
);

type Answer = Parameters<RecordingBank['otherwise']>[0];

interface Scene {
  readonly options?: Omit<TestOptions, 'bankUrl'>;
  readonly headers?: Readonly<Record<string, string>>;
  /** What the bank answers whatever it is asked. */
  readonly reply?: Answer;
  /** Happens before the request. */
  readonly before?: (
    ask: (query: string) => Promise<Result<unknown>>,
    bank: RecordingBank,
  ) => Promise<unknown> | unknown;
}

const says = (status: number, body: object, headers = {}): Answer => ({ status, body, headers });
const hangs: Answer = () => 'hang';
const pay = (key: string, amount = '10') =>
  `mutation { makeTransaction(input: { accountId: "A", to: { accountId: "B" }, value: { amount: "${amount}" }, idempotencyKey: "${key}" }) { payment { trackId } } }`;

/** Begins a payment that the bank never answers: it is under way until the test closes the bank. */
async function payForever(key: string, ask: (query: string) => Promise<unknown>, bank: RecordingBank) {
  bank.otherwise(hangs);
  ask(pay(key)).catch(() => {});
  await until(() => bank.calls.length > 0);
}

const scenes: Record<ErrorCode, Scene> = {
  BAD_USER_INPUT: {},
  MISSING_CREDENTIALS: { headers: { ...credentials, 'Auth-ID': '' } },
  UNAUTHENTICATED: { reply: says(401, { code: 'OBP-20001', message: 'User not logged in.' }) },
  FORBIDDEN: { reply: says(403, { code: 'OBP-20017', message: 'No access to this view.' }) },
  NOT_FOUND: { reply: says(404, { code: 'OBP-30046', message: 'Customer not found.' }) },
  BANK_REJECTED: { reply: says(400, { code: 'INSUFFICIENT_FUNDS', message: 'Insufficient funds.' }) },
  CONFLICT: { reply: says(200, { customer_id: 'C-7', email: 'alice@example.com' }) },
  RATE_LIMITED: { reply: says(429, {}, { 'Retry-After': '7' }) },
  BANK_ERROR: { reply: says(500, { message: 'hidden' }) },
  BANK_UNAVAILABLE: { reply: says(503, {}) },
  BANK_TIMEOUT: { reply: hangs, options: { bankOptions: { timeoutMs: 50 } } },
  BANK_BAD_RESPONSE: { reply: { body: 'not JSON' } },
  OUTCOME_UNKNOWN: { reply: says(503, {}) },
  OVERLOADED: {
    options: { bankOptions: { connections: 1, waitMs: 20 } },
    before: (ask, bank) => payForever('another', ask, bank),
  },
  CALL_BUDGET_EXCEEDED: {
    options: { limits: { timeoutMs: 20_000, restCalls: 1 } },
    reply: says(200, { id: 'A', owners: [{ id: 'C-7' }] }),
  },
  LIMIT_EXCEEDED: {},
  GRAPHQL_PARSE_FAILED: {},
  GRAPHQL_VALIDATION_FAILED: {},
  PERSISTED_DOCUMENT_REQUIRED: {
    options: { persisted: { documents: { texts: new Map(), parsed: new Map() }, only: true } },
  },
  PERSISTED_QUERY_NOT_SUPPORTED: {},
  IDEMPOTENCY_IN_PROGRESS: { before: (ask, bank) => payForever('rent-2026-11', ask, bank) },
  IDEMPOTENCY_KEY_REUSED: { reply: says(200, {}), before: (ask) => ask(pay('rent-2026-11', '9')) },
  STATE_UNAVAILABLE: {
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

/** The first error as the page shows it, with a Track-ID that is the same each time, and the link that the page omits. */
async function firstError(code: ErrorCode, body: object): Promise<{ error: unknown; docs: unknown }> {
  const { options = {}, headers = credentials, reply, before } = scenes[code];
  await using bank = await startRecordingBank();
  await using bankql = await createTestBankql({ ...options, bankUrl: bank.url });
  if (reply !== undefined) bank.otherwise(reply);
  await before?.((query) => bankql.ask(query), bank);
  const answer = await bankql.fetch(new Request('http://bankql.test/graphql', postOf(body, headers)));
  const { errors = [] }: Result<unknown> = JSON.parse(await answer.text());
  const error: unknown = JSON.parse(JSON.stringify(errors[0]), (name, value) => {
    if (name === 'locations' || name === 'docs') return undefined;
    return name === 'trackId' ? '0b9a6a3e-8d5c-4f4e-9a53-2f4f3c1c7d10' : value;
  });
  // What the bank still holds ends now: bankql waits for it.
  await bank.close();
  return { error, docs: errors[0]?.extensions.docs };
}

test('docs/errors.md has an entry for each code, in the order of the table', () => {
  expect([...entries.keys()]).toEqual(Object.keys(errorCodes));
});

describe('docs/errors.md shows what is answered', () => {
  test.each(Object.keys(errorCodes) as ErrorCode[])('%s', async (code) => {
    const entry = entries.get(code);
    expect(entry?.advice).toMatch(/\w{3}.*\.$/s);
    const { error, docs } = await firstError(code, entry?.body ?? {});
    expect(entry?.shown).toEqual(error);
    expect(entry?.shown).toMatchObject({ extensions: { code } });
    expect(docs).toBe(`docs/errors.md#${slug(code)}`);
  });
});
