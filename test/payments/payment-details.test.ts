import { expect, test } from 'vitest';
import { startBankqlFixture } from '../support/bankql-fixture.ts';

const transfer = `mutation ($input: MakeTransactionInput!) { makeTransaction(input: $input) { replayed } }`;
const request = `mutation ($input: PutTransactionRequestInput!) { putTransactionRequest(input: $input) { replayed } }`;
const input = { accountId: 'ACC', to: {}, value: { amount: '1' }, idempotencyKey: 'key' };

test.each([
  ['amount', 64, (text: string) => ({ value: { amount: text.replaceAll('x', '1') } })],
  ['currency', 16, (text: string) => ({ value: { amount: '1', currency: text } })],
  ['description', 512, (text: string) => ({ description: text })],
  ['to.bankId', 128, (text: string) => ({ to: { bankId: text } })],
  ['to.accountId', 128, (text: string) => ({ to: { accountId: text } })],
] as const)('the %s of a payment has %i characters at most', async (name, longest, change) => {
  await using fixture = await startBankqlFixture();
  fixture.bank.otherwise({ body: {} });
  for (const [field, document, more] of [
    ['makeTransaction', transfer, {}],
    ['putTransactionRequest', request, { transactionRequestType: 'T' }],
  ] as const) {
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
  const { errors } = await fixture.ask(transfer, { input: { ...input, ...change('x'.repeat(longest)) } });
  expect(errors).toBeUndefined();
  expect(fixture.bank.calls).toHaveLength(1);
});

test('what a record says is what was sent', async () => {
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
    input: { accountId: 'ACC2', transactionRequestType: 'T', to: {}, idempotencyKey: 'other' },
  });
  const nothing = { toBankId: null, toAccountId: null, currency: null, amount: null };
  expect(fixture.bankql.audit.filter(({ state }) => state === 'PENDING')).toMatchObject([
    {
      bankId: 'B',
      accountId: 'ACC',
      toBankId: 'TB',
      toAccountId: 'TA',
      currency: 'EUR',
      amount: '12345678901234567890.10',
    },
    { bankId: 'BANK', accountId: 'ACC2', ...nothing },
  ]);
});
