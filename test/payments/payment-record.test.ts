import { createHash, createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { bankWordsOf } from '../../src/payments/answer/payment-words.ts';
import { hashCaller } from '../../src/payments/caller.ts';
import { createMemoryStore } from '../../src/payments/store/memory-store.ts';
import { createTestBankql, credentials } from '../support/bankql.ts';
import { startBankqlFixture } from '../support/bankql-fixture.ts';
import { startRecordingBank } from '../support/recording-bank.ts';

const pay = (key: string) =>
  `mutation { makeTransaction(input: { accountId: "A", to: { accountId: "x" }, value: { amount: "1" }, idempotencyKey: "${key}" }) { replayed } }`;

describe("a caller's hash", () => {
  test('is that of earlier versions, keyed with the store’s secret: their records can be carried over', () => {
    const older = createHash('sha256').update('["provider","caller"]').digest('hex');
    expect(hashCaller('secret', 'provider', 'caller')).toBe(
      createHmac('sha256', 'secret').update(older).digest('hex'),
    );
  });

  test('differs for each caller and each store', () => {
    const hashes = [
      hashCaller('s', 'a', 'b'),
      hashCaller('s', 'a', 'c'),
      hashCaller('s', 'ab', ''),
      hashCaller('t', 'a', 'b'),
    ];
    expect(new Set(hashes).size).toBe(4);
  });
});

test('a record says which request and which process sent the payment, who asked, and what the bank said', async () => {
  let requestId: string | null = 'request-1';
  const store = createMemoryStore({ retentionMs: 86_400_000 });
  await using fixture = await startBankqlFixture({
    store,
    paymentOptions: {
      requestId: () => requestId,
      replica: 'host:7',
      bankWords: bankWordsOf([], ['NO_MONEY']),
    },
  });
  const { bank, bankql } = fixture;
  bank.otherwise({
    status: 422,
    body: { code: 'NO_MONEY', message: `no money, ${credentials['Auth-ID']}` },
  });
  await bankql.ask(pay('key'));
  requestId = null;
  bank.otherwise({ status: 500, body: { message: 'disk full' } });
  await bankql.ask(pay('other'));

  const caller = hashCaller(store.secret, credentials['Auth-Provider-Name'], credentials['Auth-ID']);
  const [refused, unknown] = await store.search({ caller });
  expect(refused).toMatchObject({
    state: 'REJECTED',
    status: 422,
    requestId: 'request-1',
    replica: 'host:7',
    bankText: 'no money, [redacted]',
  });
  expect(refused?.history).toMatchObject([
    { state: 'PENDING', requestId: 'request-1', replica: 'host:7' },
    { state: 'REJECTED', status: 422, code: 'BANK_REJECTED', bankText: 'no money, [redacted]' },
  ]);
  // The record has more information than the error's message: the record is for the operator, and the message
  // for the client.
  expect(unknown).toMatchObject({ state: 'UNKNOWN', requestId: null, bankText: 'disk full' });
  expect(unknown?.message).not.toContain('disk full');
  expect(JSON.stringify([refused, unknown, bankql.audit])).not.toMatch(/the-caller|the-provider/);
  // The key is in the record, not in the log.
  expect(refused?.idempotencyKey).toBe('key');
  expect(JSON.stringify(bankql.audit)).not.toContain('"key"');
  expect(bankql.audit.find(({ state }) => state === 'REJECTED')).toMatchObject({
    requestId: 'request-1',
    replica: 'host:7',
    bankText: 'no money, [redacted]',
    caller,
  });
});

test('a changed path in the bank’s address does not change earlier payments', async () => {
  await using bank = await startRecordingBank();
  bank.otherwise({ body: { id: 'TX' } });
  const store = createMemoryStore({ retentionMs: 86_400_000 });
  const answers = [];
  for (const prefix of ['', '/obp/v5.1.0', '/obp/v6.0.0']) {
    await using bankql = await createTestBankql({ bankUrl: bank.url + prefix, store });
    answers.push((await bankql.ask(pay('key'))).data);
  }
  const told = (replayed: boolean) => ({ makeTransaction: { replayed } });
  expect(answers).toEqual([told(false), told(true), told(true)]);
  expect(bank.calls.filter(({ method }) => method === 'POST')).toHaveLength(1);
});

describe('the details of a payment', () => {
  const transfer = `mutation ($input: MakeTransactionInput!) { makeTransaction(input: $input) { replayed } }`;
  const request = `mutation ($input: PutTransactionRequestInput!) { putTransactionRequest(input: $input) { replayed } }`;
  const input = { accountId: 'ACC', to: { accountId: 'x' }, value: { amount: '1' }, idempotencyKey: 'key' };

  const both = [
    ['makeTransaction', transfer, {}],
    ['putTransactionRequest', request, { transactionRequestType: 'T' }],
  ] as const;

  test.each([
    ['amount', 64, (text: string) => ({ value: { amount: text.replaceAll('x', '1') } })],
    ['currency', 16, (text: string) => ({ value: { amount: '1', currency: text } })],
    ['description', 512, (text: string) => ({ description: text })],
    ['to.bankId', 128, (text: string) => ({ to: { bankId: text, accountId: 'x' } })],
    ['to.accountId', 128, (text: string) => ({ to: { accountId: text } })],
  ] as const)('have a %s of %i characters at most', async (name, longest, change) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: {} });
    for (const [field, document, more] of both) {
      const { data, errors } = await fixture.ask(document, {
        input: { ...input, ...more, ...change('x'.repeat(longest + 1)) },
      });
      expect(data).toEqual({ [field]: null });
      expect(errors).toMatchObject([{ path: [field], extensions: { code: 'BAD_USER_INPUT' } }]);
      expect(errors?.[0]?.message).toContain(name);
      expect(errors?.[0]?.message.length).toBeLessThan(200);
      expect(fixture.bank.calls).toEqual([]);
      expect(fixture.bankql.audit).toEqual([]);
    }
    // In UTF-16, this character has two units.
    const text = (name === 'amount' ? 'x' : '🎂').repeat(longest);
    const { errors } = await fixture.ask(transfer, { input: { ...input, ...change(text) } });
    expect(errors).toBeUndefined();
    expect(fixture.bank.calls).toHaveLength(1);
  });

  test.each([
    [{ to: { accountId: '' } }, 'accountId', both[0]],
    [{ to: { accountId: '' } }, 'accountId', both[1]],
    [{ to: { accountId: ' ' } }, 'accountId', both[1]],
  ] as const)(
    'that no bank can carry out are refused before anything is recorded: %j',
    async (change, part, [field, document, more]) => {
      await using fixture = await startBankqlFixture();
      const { errors } = await fixture.ask(document, { input: { ...input, ...more, ...change } });
      const argument = [...Object.keys(change), part];
      expect(errors).toMatchObject([{ path: [field], extensions: { code: 'BAD_USER_INPUT', argument } }]);
      expect(fixture.bank.calls).toEqual([]);
      expect(fixture.bankql.audit).toEqual([]);
      fixture.bank.otherwise({ body: '' });
      expect((await fixture.ask(document, { input: { ...input, ...more } })).errors).toBeUndefined();
    },
  );

  test('are recorded as they were sent', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: {} });
    await fixture.ask(transfer, {
      input: {
        ...input,
        bankId: 'B',
        to: { bankId: 'TB', accountId: 'TA' },
        value: { amount: '12345678901234567890.10', currency: 'EUR' },
      },
    });
    await fixture.ask(request, {
      input: {
        accountId: 'ACC2',
        transactionRequestType: 'T',
        to: { accountId: 'x' },
        idempotencyKey: 'other',
      },
    });
    const nothing = { toBankId: null, currency: null, amount: null };
    expect(fixture.bankql.audit.filter(({ state }) => state === 'PENDING')).toMatchObject([
      {
        bankId: 'B',
        accountId: 'ACC',
        toBankId: 'TB',
        toAccountId: 'TA',
        currency: 'EUR',
        amount: '12345678901234567890.10',
      },
      { bankId: 'BANK', accountId: 'ACC2', toAccountId: 'x', ...nothing },
    ]);
  });
});
