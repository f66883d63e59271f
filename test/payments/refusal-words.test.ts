import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { describe, expect, test } from 'vitest';
import { errorCodes } from '../../src/errors.ts';
import { createPaymentService } from '../../src/payments/service.ts';
import { type PaymentStore, StoreUnavailable } from '../../src/payments/store.ts';
import { createMemoryStore } from '../../src/payments/stores/memory-store.ts';
import { createTestBankql, credentials, testOptions } from '../support/bankql.ts';
import { startBankqlFixture } from '../support/bankql-fixture.ts';
import { startRecordingBank } from '../support/recording-bank.ts';
import { until } from '../support/waits.ts';

/** The sentence of all these refusals, letter for letter. */
const sentence =
  'This request sent nothing. An earlier one with this key may have: repeat the payment with the same key, never under another one.';
const pay = (key = 'key') =>
  `mutation { makeTransaction(input: { accountId: "A", to: {}, value: { amount: "1" }, idempotencyKey: "${key}" }) { replayed } }`;
const find = '{ payment(idempotencyKey: "key") { state } }';

/** A store that is away while `isAway`. */
async function storeThatGoesAway() {
  const kept = await createMemoryStore({ retentionMs: 86_400_000 });
  const state = { isAway: false };
  const guard = () => {
    if (state.isAway) throw new StoreUnavailable('The store is away.');
  };
  const store: PaymentStore = {
    ...kept,
    async begin(record, leaseMs) {
      guard();
      return kept.begin(record, leaseMs);
    },
    async find(id) {
      guard();
      return kept.find(id);
    },
  };
  return { store, state };
}

describe('a payment that was sent, and is asked for again while the store is away', () => {
  test('is refused without a word that it was not sent', async () => {
    const { store, state } = await storeThatGoesAway();
    await using fixture = await startBankqlFixture({ store });
    fixture.bank.otherwise({ body: {} });
    expect((await fixture.ask(pay())).data).toEqual({ makeTransaction: { replayed: false } });
    state.isAway = true;

    const retried = await fixture.ask(pay());
    expect(retried.errors).toMatchObject([
      {
        extensions: { code: 'STATE_UNAVAILABLE', idempotencyKey: 'key', retryAfter: 2, retryable: true },
      },
    ]);
    expect(retried.errors?.[0]?.message).toContain(sentence);
    const found = await fixture.ask(find);
    expect(found).toMatchObject({
      data: { payment: null },
      errors: [
        {
          path: ['payment'],
          extensions: { code: 'STATE_UNAVAILABLE', idempotencyKey: 'key', retryAfter: 2, retryable: true },
        },
      ],
    });
    expect(found.errors?.[0]?.message).toMatch(/its outcome is unknown: it may have been executed/);
    expect(JSON.stringify([retried, found])).not.toMatch(/nothing was sent/i);

    state.isAway = false;
    expect((await fixture.ask(pay())).data).toEqual({ makeTransaction: { replayed: true } });
    expect(fixture.bank.calls).toHaveLength(1);
  });

  test('is so too behind a rate limit', async () => {
    const { store, state } = await storeThatGoesAway();
    await using bank = await startRecordingBank();
    await using bankql = await createTestBankql({
      bankUrl: bank.url,
      store,
      rateLimiter: { take: async () => {}, secondsUntilNext: async () => 0 },
    });
    state.isAway = true;
    const { errors } = await bankql.ask(pay());
    expect(errors).toMatchObject([{ extensions: { code: 'STATE_UNAVAILABLE', idempotencyKey: 'key' } }]);
    expect(errors?.[0]?.message).toContain(sentence);
  });
});

test('where the log cannot take a line, the refusal speaks of this request alone', async () => {
  await using bank = await startRecordingBank();
  const options = await testOptions({ bankUrl: bank.url });
  const payments = createPaymentService({
    bank: options.bank,
    store: await createMemoryStore({ retentionMs: 86_400_000 }),
    leaseMs: 10_000,
    audit: () => {
      throw new Error('the disk is full');
    },
  });
  await using bankql = await createTestBankql({ bankUrl: bank.url, payments });
  const { errors } = await bankql.ask(pay());
  expect(errors).toMatchObject([
    { extensions: { code: 'STATE_UNAVAILABLE', idempotencyKey: 'key', retryAfter: 2 } },
  ]);
  expect(errors?.[0]?.message).toContain(sentence);
  expect(bank.calls).toEqual([]);
});

test('where no connection is free, so does it, and the key is free', async () => {
  await using fixture = await startBankqlFixture({ bankOptions: { connections: 1, waitMs: 20 } });
  const held = Promise.withResolvers<void>();
  fixture.bank.otherwise(async () => {
    await held.promise;
    return { body: {} };
  });
  const first = fixture.ask(pay('first'));
  await until(() => fixture.bank.calls.length > 0);
  const { errors } = await fixture.ask(pay());
  expect(errors).toMatchObject([
    { extensions: { code: 'OVERLOADED', idempotencyKey: 'key', retryAfter: 1, retryable: true } },
  ]);
  expect(errors?.[0]?.message).toContain(sentence);
  held.resolve();
  expect((await first).errors).toBeUndefined();
  expect((await fixture.ask(pay())).data).toEqual({ makeTransaction: { replayed: false } });
  expect(fixture.bank.calls).toHaveLength(2);
});

test('where the bank cannot be reached the error names the key, which is free', async () => {
  await using bankql = await createTestBankql({ bankUrl: 'http://127.0.0.1:9' });
  const { errors } = await bankql.ask(pay(), {}, credentials);
  expect(errors).toMatchObject([{ extensions: { code: 'BANK_UNAVAILABLE', idempotencyKey: 'key' } }]);
  expect((await bankql.ask(find)).data).toEqual({ payment: null });
});

/** What docs/payments.md says of a code: the line of its table that names it, or the beginning of its name. */
function adviceFor(code: string): string | undefined {
  const page = readFileSync(new URL('../../docs/payments.md', import.meta.url), 'utf8');
  const isNamed = (line: string) =>
    [...line.matchAll(/`([A-Z_]+)(…?)`/g)].some(([, name = '', more]) =>
      more ? code.startsWith(name) : code === name,
    );
  const [, table = ''] = page.split('| code | meaning | what to do |');
  const lines = table.split('\n\n', 1)[0]?.split('\n') ?? [];
  return lines.find((line) => isNamed(line.split(' | ', 1)[0] ?? '')) ?? lines.at(-1);
}

describe('a payment that was made, and whose answer was lost', () => {
  const mutation = 'mutation Pay($amount: Decimal!) { makeTransaction(input: { accountId: "A", to: {}, ';
  const rest = 'value: { amount: $amount }, idempotencyKey: "key" }) { replayed } }';
  test.each([
    ['MISSING_CREDENTIALS', `${mutation}${rest}`, { amount: '1' }, { ...credentials, 'Auth-ID': '' }],
    ['BAD_USER_INPUT', `${mutation}${rest}`, { amount: 1 }, credentials],
    ['BAD_USER_INPUT', `${mutation}${rest.replace('"key"', '""')}`, { amount: '1' }, credentials],
    ['GRAPHQL_VALIDATION_FAILED', `${mutation}older: 1 ${rest}`, { amount: '1' }, credentials],
    ['GRAPHQL_PARSE_FAILED', mutation, { amount: '1' }, credentials],
  ])(
    'is repeated with its key after %s, as the documentation says',
    async (code, document, variables, headers) => {
      await using fixture = await startBankqlFixture();
      fixture.bank.otherwise({ body: {} });
      const ask = (text: string, values: object, given: Record<string, string>) =>
        fixture.ask(text, values, given);
      expect((await ask(`${mutation}${rest}`, { amount: '1' }, credentials)).errors).toBeUndefined();
      expect((await ask(document, variables, headers)).errors).toMatchObject([{ extensions: { code } }]);
      expect(adviceFor(code)).toMatch(/earlier one|earlier request/);
      expect(adviceFor(code)).toContain('**with the same key**');
      expect((await ask(`${mutation}${rest}`, { amount: '1' }, credentials)).data).toEqual({
        makeTransaction: { replayed: true },
      });
      expect(fixture.bank.calls).toHaveLength(1);
    },
  );

  test('is in the list by which an app that lost the key finds it, as the documentation has it', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: {} });
    await fixture.ask(pay());
    const page = readFileSync(new URL('../../docs/payments.md', import.meta.url), 'utf8');
    const [, query] = /`(payments\([^`]*\))` lists/.exec(page) ?? expect.unreachable();
    expect((await fixture.ask(`{ ${query} { nodes { idempotencyKey state } } }`)).data).toEqual({
      payments: { nodes: [{ idempotencyKey: 'key', state: 'DONE' }] },
    });
  });

  test('is repeated with its key after a code that the documentation does not name', () => {
    expect(adviceFor('A_LATER_CODE')).toContain('**with the same key**');
  });
});

/** A payment whose request is on its way, and that is asked for again: the first request arrives last. */
describe('a payment whose request is late', () => {
  test('is made once by a client that does what the refusal of its repetition says', async () => {
    const { store, state } = await storeThatGoesAway();
    await using fixture = await startBankqlFixture({ store });
    fixture.bank.otherwise({ body: {} });
    state.isAway = true;
    const message = (await fixture.ask(pay('first'))).errors?.[0]?.message ?? '';
    state.isAway = false;
    // It has not arrived, so that there is no record of it.
    expect((await fixture.ask('{ payment(idempotencyKey: "first") { state } }')).data).toEqual({
      payment: null,
    });
    const isToldToKeepTheKey = message.includes('with the same key');
    await fixture.ask(pay(isToldToKeepTheKey ? 'first' : 'second'));
    await fixture.ask(pay('first'));
    expect(fixture.bank.calls).toHaveLength(1);
  });

  test.each(
    Object.keys(errorCodes).filter(
      (code) =>
        !['OUTCOME_UNKNOWN', 'IDEMPOTENCY_KEY_REUSED', 'BANK_REJECTED', 'FORBIDDEN', 'NOT_FOUND'].includes(
          code,
        ),
    ),
  )('gets no other key for %s, which is no word of the payment', (code) => {
    expect(adviceFor(code)).not.toMatch(/(another|new) key/);
    expect(adviceFor(code)).toMatch(/the same key/i);
  });
});

/**
 * Each place that says that nothing was (is) sent: file, clause, and why it may say so. Before another one is added it is to
 * be asked what became of an earlier request with the same key: who is told that nothing was sent, and believes it of that
 * one too, pays twice.
 */
const places: Readonly<Record<string, string>> = {
  'docs/decisions/0008-dispatch-instead-of-request.md: If the handler was not called, nothing was sent':
    'of the one request of a record: transport.ts',
  'docs/decisions/0013-payments-may-be-refused-for-their-reads.md: Such a request sent nothing, so the app can safely repeat it with fewer fields':
    'of this request alone',
  'docs/errors.md: This request sent nothing': 'the words that speak of this request alone',
  'docs/errors.md: This request sent nothing, but an earlier one may have': 'of this request alone',
  'docs/errors.md: this request sent nothing': 'of this request alone',
  'docs/hardening.md: Such a request sent nothing and may be repeated': 'of this request alone',
  'docs/payment-protocol.md: no answer claims that nothing was sent if something was':
    'the name of an invariant',
  'docs/payment-protocol.md: its pool, its deadlines, and how it knows that nothing was sent':
    'the name of a part of the code',
  'docs/payments.md: sent nothing, unless':
    '*this request* did; the clause goes on to name where an answer says otherwise',
  'docs/payments.md: bankql did not reach the bank, and sent nothing with this key':
    'of the one request of a record: another one of the key would have been found',
  'docs/explore.md: The payment failed, and this request sent nothing for it': 'of this request alone',
  'src/options/explain/explain.ts: a payment for which this request sent nothing':
    'a comment on this request',
  'src/bank/client.ts: nothing is sent': 'a comment on one request',
  'src/bank/transport.ts: until then, nothing was sent': 'a comment on one request',
  'docs/schema.md: After UNKNOWN nothing is sent again under its idempotency key': 'the rule',
  'docs/schema.md: this request sent nothing': 'of this request alone',
  'schema.graphql: After UNKNOWN nothing is sent again under its idempotency key': 'the rule',
  'schema.graphql: this request sent nothing': 'of this request alone',
  'src/errors.ts: this request sent nothing': 'of this request alone',
  'src/schema/payment.ts: After UNKNOWN nothing is sent again under its idempotency key': 'the rule',
  'src/errors.ts: This request sent nothing': 'the words that speak of this request alone',
  'src/payments/payment-errors.ts: nothing is sent for it': 'a comment: it is no key',
  'src/payments/payment-errors.ts: Codes with which this request sent nothing': 'a comment on this request',
  'src/payments/record.ts: because nothing was sent, or because the bank did not accept the caller':
    'a comment on one request',
  'src/payments/service.ts: BANK_UNAVAILABLE or BANK_TIMEOUT only where nothing was sent under this key, so that it may be tried again':
    'a comment on the one request of a record',
  'src/payments/service.ts: STATE_UNAVAILABLE and OVERLOADED, where this request sent nothing but an earlier one may have, with':
    'a comment on this request',
  'src/payments/service.ts: nothing was sent':
    'the message of BANK_TIMEOUT: the record was begun by this request, found as it was, and released',
  'src/payments/payment-errors.ts: This idempotency key was used with another subscription key, so that this request sent nothing':
    'about this request: what another subscription key paid may have been executed, as the next sentence says',
  'src/payments/payment-errors.ts: This request sent nothing':
    'a damaged record: it was read, and nothing was sent',
  'src/payments/protocol-store.ts: If this process dies first, a PENDING record stays, which becomes UNKNOWN although nothing was sent':
    'a comment; nobody is told so',
  'src/payments/protocol.ts: A process that tells a client that an outcome is unknown writes that to the record first, and from then on late proof that nothing was sent is an end, not a release':
    'a comment on the rule',
  'src/payments/protocol-store.ts: the answer to its caller is that nothing was sent':
    'a comment on this request',
};

const root = join(import.meta.dirname, '../..');
const pages = ['README.md', 'SECURITY.md', 'schema.graphql'];
for (const [folder, ending] of [
  ['src', '.ts'],
  ['docs', '.md'],
] as const) {
  for (const file of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
    if (file.endsWith(ending)) pages.push(`${folder}/${file.split(sep).join('/')}`);
  }
}

/** The clauses of a text that say so, each on one line and without what marks a comment. */
function clausesOf(text: string): string[] {
  const flat = text.replaceAll(/\s*\n\s*(?:\*\s|\/\/\s)?\s*/g, ' ');
  const found = flat.match(/[^.;:|(`'"*]*(?:nothing (?:was|is|were) sent|sent nothing)[^.;:|)`'"*]*/gi) ?? [];
  return found.map((clause) => clause.trim());
}

test('each place that says that nothing was sent has a reason to', () => {
  const said = pages.flatMap((file) =>
    clausesOf(readFileSync(join(root, file), 'utf8')).map((clause) => `${file}: ${clause}`),
  );
  expect([...new Set(said)].sort()).toEqual(Object.keys(places).sort());
});
