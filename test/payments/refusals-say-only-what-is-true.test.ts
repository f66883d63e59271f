import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Call } from '../../src/bank/call.ts';
import { createBankClient } from '../../src/bank/client.ts';
import { postMakeTransaction } from '../../src/contract/transaction.ts';
import { errorCodes } from '../../src/errors.ts';
import { createPaymentService } from '../../src/payments/service.ts';
import { createMemoryStore } from '../../src/payments/store/memory-store.ts';
import { type PaymentStore, StoreUnavailable } from '../../src/payments/store/store.ts';
import { bankDefaults, credentials } from '../support/bankql.ts';
import { startBankqlFixture } from '../support/bankql-fixture.ts';
import { startRecordingBank } from '../support/recording-bank.ts';
import { until } from '../support/waits.ts';

/** The sentence that all these refusals contain. */
const sentence =
  'This request sent nothing. An earlier one with this key may have: repeat the payment with the same key, never under another one.';
const pay = (key = 'key') =>
  `mutation { makeTransaction(input: { accountId: "A", to: { accountId: "x" }, value: { amount: "1" }, idempotencyKey: "${key}" }) { replayed } }`;
const find = '{ payment(idempotencyKey: "key") { state } }';

/** A store that is unavailable while `isAway`. */
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

describe('a payment that was sent, and is repeated while the store is unavailable', () => {
  test('is refused, and nothing says that it was not sent', async () => {
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

  test('is refused in the same way behind a rate limit', async () => {
    const { store, state } = await storeThatGoesAway();
    await using fixture = await startBankqlFixture({ store, rateLimiter: { take: async () => 0 } });
    state.isAway = true;
    const { errors } = await fixture.ask(pay());
    expect(errors).toMatchObject([{ extensions: { code: 'STATE_UNAVAILABLE', idempotencyKey: 'key' } }]);
    expect(errors?.[0]?.message).toContain(sentence);
  });
});

test('a payment that cannot be logged is refused, and the refusal speaks of this request alone', async () => {
  const audit = () => {
    throw new Error('the disk is full');
  };
  await using fixture = await startBankqlFixture({ paymentOptions: { audit } });
  const { errors } = await fixture.ask(pay());
  expect(errors).toMatchObject([
    { extensions: { code: 'STATE_UNAVAILABLE', idempotencyKey: 'key', retryAfter: 2 } },
  ]);
  expect(errors?.[0]?.message).toContain(sentence);
  expect(fixture.bank.calls).toEqual([]);
});

test('a payment without a free connection is refused in the same way, and its key is free', async () => {
  await using fixture = await startBankqlFixture({ bankOptions: { connections: 1, waitingCalls: 0 } });
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

/** The advice of docs/payments.md about a code: the row of its table with the code, or with the beginning of its name. */
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
  const mutation =
    'mutation Pay($amount: Decimal!) { makeTransaction(input: { accountId: "A", to: { accountId: "x" }, ';
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

/** A payment is repeated while its first request is still on its way: the first request arrives last. */
describe('a payment whose request is late', () => {
  test('is made once by a client that does what the refusal of its repetition says', async () => {
    const { store, state } = await storeThatGoesAway();
    await using fixture = await startBankqlFixture({ store });
    fixture.bank.otherwise({ body: {} });
    state.isAway = true;
    const message = (await fixture.ask(pay('first'))).errors?.[0]?.message ?? '';
    state.isAway = false;
    // The request has not arrived, so there is no record of the payment.
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
  )('gets no other key after %s, which says nothing about the payment', (code) => {
    expect(adviceFor(code)).not.toMatch(/(another|new) key/);
    expect(adviceFor(code)).toMatch(/the same key/i);
  });
});

describe('a payment with a new key, which takes a call of its caller’s rate limit', () => {
  const given = {
    idempotencyKey: 'key',
    bankId: 'BANK',
    credentials: { subscriptionKey: 'k', authProviderName: 'p', authId: 'a' },
    description: 'rent',
  };

  const intentOf = ({ idempotencyKey, bankId, credentials, description }: typeof given) => ({
    idempotencyKey,
    input: {
      ids: { bankId: bankId, accountId: 'A' },
      body: { from: {}, to: { account_id: 'x' }, description },
      credentials,
    },
  });

  async function start(baseUrl: string) {
    const bank = createBankClient({ ...bankDefaults, baseUrl });
    const store = await createMemoryStore({ retentionMs: 86_400_000 });
    let records = 0;
    // The payment service calls this once for each record.
    const requestId = () => `request ${++records}`;
    const asked: string[] = [];
    /** The reasons for which the next payments are refused. */
    const refusals: Error[] = [];
    async function admit({ credentials, operation }: Call) {
      asked.push(`${credentials.authId} ${operation.id}`);
      const refusal = refusals.pop();
      if (refusal !== undefined) throw refusal;
    }
    const payments = createPaymentService({ bank: { ...bank, admit }, store, requestId });
    return {
      payments,
      store,
      asked,
      refusals,
      records: () => records,
      async [Symbol.asyncDispose]() {
        await payments.idle();
        await store.close();
        await bank.close();
      },
    };
  }

  /** The reasons for which a payment is refused before anything is stored, in the order of the checks. */
  const faults: readonly (readonly [code: string, words: string, change: object])[] = [
    ['BAD_USER_INPUT', 'idempotencyKey', { idempotencyKey: 'schlüssel' }],
    ['BAD_USER_INPUT', 'BANK_ID', { bankId: 'a/b' }],
    ['MISSING_CREDENTIALS', 'Auth-ID', { credentials: { ...given.credentials, authId: null } }],
    ['BAD_USER_INPUT', 'description', { description: 'x'.repeat(513) }],
  ];

  test.each(faults.map((fault, n) => [...fault.slice(0, 2), n] as [string, string, number]))(
    'takes none if it is refused as %s (%s), whatever else is wrong',
    async (code, words, n) => {
      await using service = await start('http://bank.test');
      const intent = intentOf(Object.assign({}, given, ...faults.slice(n).map(([, , change]) => change)));
      const refused = await service.payments.pay(postMakeTransaction, intent).catch((error) => error);
      expect(refused).toMatchObject({ message: expect.stringContaining(words), extensions: { code } });
      await service.store.close();
      await expect(service.payments.pay(postMakeTransaction, intent)).rejects.toEqual(refused);
      expect(service.asked).toEqual([]);
    },
  );

  test('takes one until it begins, and none later; if none is free, it leaves no record', async () => {
    await using bank = await startRecordingBank();
    bank.otherwise({ body: {} });
    await using service = await start(bank.url);
    const intent = intentOf(given);
    const refusal = new Error('not now');
    service.refusals.push(refusal);
    await expect(service.payments.pay(postMakeTransaction, intent)).rejects.toBe(refusal);
    expect([service.records(), await service.store.search({})]).toEqual([0, []]);
    expect(bank.calls).toEqual([]);
    await service.payments.pay(postMakeTransaction, intent);
    const twice = ['a postMakeTransaction', 'a postMakeTransaction'];
    expect(service.asked).toEqual(twice);
    service.refusals.push(refusal);
    expect(await service.payments.pay(postMakeTransaction, intent)).toMatchObject({ replayed: true });
    // There is a record for the key, so the answer comes from it, whatever the values of the request.
    const other = service.payments.pay(postMakeTransaction, intentOf({ ...given, description: 'another' }));
    await expect(other).rejects.toMatchObject({ extensions: { code: 'IDEMPOTENCY_KEY_REUSED' } });
    expect(service.asked).toEqual(twice);
    expect(bank.calls.length).toBe(1);
  });
});
