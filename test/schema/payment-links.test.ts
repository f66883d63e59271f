import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { decodeGlobalId, encodeGlobalId } from '../../src/schema/plugin/global-id.ts';
import type { PayeeInput } from '../generated/graphql.ts';
import { graphql } from '../generated/index.ts';
import { anyAnswer } from '../support/any-bank.ts';
import { credentials } from '../support/bankql.ts';
import { failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';

const PayForLinks = graphql(`
  mutation PayForLinks($input: MakeTransactionInput!) {
    makeTransaction(input: $input) {
      payment { id idempotencyKey state trackId transactionId transaction { transactionId uuid } }
    }
  }
`);

const PaymentLinks = graphql(`
  query PaymentLinks($key: String!, $viewId: ID) {
    payment(idempotencyKey: $key) {
      account(viewId: $viewId) { accountId viewId label }
      to { account(viewId: $viewId) { bankId accountId label } }
      transaction { transactionId uuid }
    }
  }
`);

const PaymentNode = graphql(`
  query PaymentNode($id: ID!) {
    node(id: $id) { __typename id ... on Payment { idempotencyKey state value { amount } } }
  }
`);

const line = 'POST /v1/api/banks/BANK/accounts/A/make-transaction';
const read = (id: string, view = 'owner', bank = 'BANK') =>
  `GET /v1/api/banks/${bank}/accounts/${id}/${view}/views`;
const transaction = 'GET /v1/api/banks/BANK/accounts/A/owner/transactions/T1/transaction';

async function start() {
  const fixture = await startBankqlFixture();
  fixture.bank.otherwise(anyAnswer);
  const pay = (
    key: string,
    to: PayeeInput = { accountId: 'B' },
    headers: Readonly<Record<string, string>> = credentials,
  ) =>
    fixture.ask(
      PayForLinks,
      { input: { accountId: 'A', to, value: { amount: '1.50' }, idempotencyKey: key } },
      headers,
    );
  return { ...fixture, pay };
}

describe('a transfer', () => {
  test('leads to its transaction and its record, also when it is repeated', async () => {
    await using fixture = await start();
    const { data, errors } = await fixture.pay('key');
    expect(errors).toBeUndefined();
    expect(data?.makeTransaction).toMatchObject({
      payment: {
        idempotencyKey: 'key',
        state: 'DONE',
        transactionId: 'T1',
        transaction: { transactionId: 'T1', uuid: 'uuid of T1' },
      },
    });
    expect(fixture.bank.lines()).toEqual([line, transaction]);
    const again = await fixture.pay('key');
    expect(again.data?.makeTransaction).toEqual(data?.makeTransaction);
    expect(fixture.bank.lines()).toEqual([line, transaction, transaction]);
  });

  test.each([
    [{}, []],
    [{ status: 'OK' }, []],
    [{ id: '../x' }, ['makeTransaction.payment.transaction BANK_BAD_RESPONSE']],
  ])('has no transaction if the bank answers %o', async (body, failures) => {
    await using fixture = await start();
    fixture.bank.on(line, { body });
    const result = await fixture.pay('key');
    expect(result.data?.makeTransaction?.payment).toMatchObject({ state: 'DONE', transaction: null });
    expect(failuresOf(result)).toEqual(failures);
    expect(fixture.bank.lines()).toEqual([line]);
  });
});

describe('a payment', () => {
  test('leads to both accounts and its transaction', async () => {
    await using fixture = await start();
    await fixture.pay('key');
    fixture.bank.calls.length = 0;
    const { data, errors } = await fixture.ask(PaymentLinks, { key: 'key' });
    expect(errors).toBeUndefined();
    expect(data?.payment).toEqual({
      account: { accountId: 'A', viewId: 'owner', label: 'A as owner' },
      to: { account: { bankId: 'BANK', accountId: 'B', label: 'B as owner' } },
      transaction: { transactionId: 'T1', uuid: 'uuid of T1' },
    });
    expect(fixture.bank.lines().sort()).toEqual([read('A'), read('B'), transaction].sort());
  });

  test('leads to accounts at another bank and through another view', async () => {
    await using fixture = await start();
    fixture.bank.on(line, { status: 400, body: { message: 'no' } });
    await fixture.pay('other bank', { bankId: 'B2', accountId: 'B' });
    fixture.bank.calls.length = 0;
    const { data } = await fixture.ask(PaymentLinks, { key: 'other bank', viewId: 'public' });
    expect(data?.payment).toMatchObject({ to: { account: { bankId: 'B2' } }, transaction: null });
    expect(fixture.bank.lines().sort()).toEqual([read('A', 'public'), read('B', 'public', 'B2')].sort());
  });
});

describe('the global id of a payment', () => {
  test('finds the payment for its caller, without a call', async () => {
    await using fixture = await start();
    const { data } = await fixture.pay('key');
    const id = data?.makeTransaction?.payment?.id ?? '';
    fixture.bank.calls.length = 0;
    expect((await fixture.ask(PaymentNode, { id })).data?.node).toEqual({
      __typename: 'Payment',
      id,
      idempotencyKey: 'key',
      state: 'DONE',
      value: { amount: '1.50' },
    });
    expect(fixture.bank.lines()).toEqual([]);
    expect(failuresOf(await fixture.ask(PaymentNode, { id }, {}))).toEqual(['node MISSING_CREDENTIALS']);
  });

  test.each([
    ['Auth-ID', 'another'],
    ['Auth-Provider-Name', 'another'],
    ['Ocp-Apim-Subscription-Key', 'another'],
  ])('does not find the payment for a caller with another %s', async (header, value) => {
    await using fixture = await start();
    const id = (await fixture.pay('key')).data?.makeTransaction?.payment?.id ?? '';
    // Another caller has a payment with the same key.
    const other = { ...credentials, [header]: value };
    if (header !== 'Ocp-Apim-Subscription-Key') await fixture.pay('key', { accountId: 'B' }, other);
    expect(await fixture.ask(PaymentNode, { id }, other)).toEqual({ data: { node: null } });
  });

  test('contains only the Track-ID, not the key or a hash of it', async () => {
    await using fixture = await start();
    const { id = '', trackId } = (await fixture.pay('a-secret-key')).data?.makeTransaction?.payment ?? {};
    expect(decodeGlobalId(id)).toEqual({ typename: 'Payment', key: [trackId] });
    const unknown = encodeGlobalId('Payment', JSON.stringify([randomUUID()]));
    expect(await fixture.ask(PaymentNode, { id: unknown })).toEqual({ data: { node: null } });
  });

  test('is refused if bankql has not made it', async () => {
    await using fixture = await start();
    for (const key of ['[]', '[1]', '["x","y"]', '{}']) {
      const result = await fixture.ask(PaymentNode, { id: encodeGlobalId('Payment', key) });
      expect([key, failuresOf(result)]).toEqual([key, ['node BAD_USER_INPUT']]);
    }
  });
});
