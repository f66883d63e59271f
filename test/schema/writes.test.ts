import { describe, expect, test } from 'vitest';
import type { Drift } from '../../src/bank/answer.ts';
import { failuresOf, shareBankqlFixture, startBankqlFixture } from '../support/bankql-fixture.ts';
import type { Reply } from '../support/recording-bank.ts';

const { bank, ask } = await shareBankqlFixture();

/** Writes are sent once, return their outcome, and show the bank's record. written-bodies.json has the bytes of their bodies. */

const root = '/v1/api/banks/B2';

/** Each write of a record: its field, the payload's data, the bank's record, and the read that shows it. */
const writes: Readonly<Record<string, readonly [string, object, object, string]>> = {
  putCustomer: [
    'putCustomer(input: { bankId: "B2", customerId: "C", customer: {} }) { trackId customer { bankId customerId email } }',
    { customer: { bankId: 'B2', customerId: 'C', email: 'e' } },
    { email: 'e' },
    'customers/C',
  ],
  putBranch: [
    'putBranch(input: { bankId: "B2", branchId: "B", branch: { acceptsDeposits: true } }) { trackId branch { bankId branchId name } }',
    { branch: { bankId: 'B2', branchId: 'B', name: 'n' } },
    { acceptsDeposits: true, id: 'B', name: 'n' },
    'branches',
  ],
  putProduct: [
    'putProduct(input: { bankId: "B2", product: { productId: "P" } }) { trackId product { bankId productId name } }',
    { product: { bankId: 'B2', productId: 'P', name: 'n' } },
    { name: 'n' },
    'products/P',
  ],
  putAccount: [
    'putAccount(input: { bankId: "B2", accountId: "A", account: { balance: {} } }) { trackId account { bankId accountId label } }',
    { account: { bankId: 'B2', accountId: 'A', label: 'l' } },
    { balance: {}, id: 'A', label: 'l' },
    'accounts/A/owner/views',
  ],
  putTransactionMetadata: [
    `putTransactionMetadata(input: {
      bankId: "B2", accountId: "A", transactionId: "T", metadataType: "M", transaction: { details: { approvedByIpAddress: "" } }
    }) { trackId transaction { bankId transactionId metadata { comments } } }`,
    { transaction: { bankId: 'B2', transactionId: 'T', metadata: { comments: 'c' } } },
    { metadata: { comments: 'c' } },
    'accounts/A/owner/transactions/T/transaction',
  ],
};
const putCustomer =
  'mutation { putCustomer(input: { bankId: "B2", customerId: "C", customer: {} }) { trackId customer { email } } }';

/** A fixture whose bank answers every PUT with `put`, and every read with the record `has`. */
async function startWith(put: Reply, has: object, options: Parameters<typeof startBankqlFixture>[0] = {}) {
  const fixture = await startBankqlFixture(options);
  fixture.bank.otherwise(({ method, path }) => {
    if (method === 'PUT') return put;
    const name = path.endsWith('/branches') ? 'branches' : path.endsWith('/views') ? 'accounts' : null;
    return { body: name === null ? has : { [name]: [has] } };
  });
  return { ...fixture, trackId: () => fixture.bank.calls[0]?.headers['track-id'] };
}

const withoutRecord = { status: 204 };

describe.each(Object.entries(writes))('%s', (name, [field, payload, has, read]) => {
  test('answers the record in the answer of the bank', async () => {
    await using fixture = await startWith({ body: has }, has);
    const result = await fixture.ask(`mutation { ${field} }`);
    expect(result).toEqual({ data: { [name]: { trackId: fixture.trackId(), ...payload } } });
    // An account is always read again, through the view.
    const reads = name === 'putAccount' ? [`GET ${root}/${read}`] : [];
    expect(fixture.bank.lines().slice(1)).toEqual(reads);
  });

  test('succeeds if the answer has no body, and then reads the record', async () => {
    for (const put of [
      withoutRecord,
      { body: '' },
      { body: '\r\n', headers: { 'Content-Type': 'text/html' } },
    ]) {
      const drifts: string[] = [];
      const onDrift = ({ operation, field: place }: Drift) => void drifts.push(`${operation} ${place}`);
      await using fixture = await startWith(put, has, { bankOptions: { onDrift } });
      const result = await fixture.ask(`mutation { ${field} }`);
      expect(result).toEqual({ data: { [name]: { trackId: fixture.trackId(), ...payload } } });
      expect(fixture.bank.lines().slice(1)).toEqual([`GET ${root}/${read}`]);
      expect(drifts).toEqual([expect.stringMatching(/^put\w+ empty-body$/)]);
    }
  });
});

describe('a write that is answered without the record', () => {
  test('reads nothing for fields that the ids answer', async () => {
    await using fixture = await startWith(withoutRecord, {});
    const result = await fixture.ask(`mutation {
      putCustomer(input: { bankId: "B2", customerId: "C", customer: {} }) { customer { customerId } }
      putAccount(input: { bankId: "B2", accountId: "A", account: { balance: {} } }) { account { accountId viewId } }
    }`);
    expect(result.data).toEqual({
      putCustomer: { customer: { customerId: 'C' } },
      putAccount: { account: { accountId: 'A', viewId: 'owner' } },
    });
    expect(fixture.bank.calls).toHaveLength(2);
  });

  test('answers null if no operation can read the record', async () => {
    await using fixture = await startWith(withoutRecord, {});
    const result = await fixture.ask(`mutation {
      putProduct(input: { bankId: "B2", product: {} }) { product { name } }
      putCustomerMessage(input: { bankId: "B2", customerId: "C", message: "m", fromDepartment: "d", fromPerson: "p" }) {
        message { message }
      }
    }`);
    expect(result).toEqual({
      data: { putProduct: { product: null }, putCustomerMessage: { message: null } },
    });
    expect(fixture.bank.calls).toHaveLength(2);
  });

  test('succeeds although the record cannot be read or the call limit is reached', async () => {
    for (const [restCalls, code] of [
      [1, 'CALL_BUDGET_EXCEEDED'],
      [9, 'NOT_FOUND'],
    ] as const) {
      await using fixture = await startWith(withoutRecord, {}, { limits: { timeoutMs: 60_000, restCalls } });
      fixture.bank.on(`GET ${root}/customers/C`, { status: 404, body: 'nothing there' });
      const result = await fixture.ask(putCustomer);
      expect(result.data).toEqual({ putCustomer: { trackId: fixture.trackId(), customer: null } });
      expect(failuresOf(result)).toEqual([`putCustomer.customer ${code}`]);
    }
  });

  test('removes cached public records: they are read again, by the mutation and later', async () => {
    await using fixture = await startWith(withoutRecord, {}, { bankOptions: { publicCacheTtlMs: 60_000 } });
    const product = '{ bank(bankId: "B2") { product(productId: "P") { name } } }';
    fixture.bank.on(`GET ${root}/products/P`, { body: { name: 'before' } });
    await fixture.ask(product);
    fixture.bank.on(`GET ${root}/products/P`, { body: { name: 'after' } });
    const result = await fixture.ask(
      'mutation { putProduct(input: { bankId: "B2", product: { productId: "P" } }) { product { name } } }',
    );
    expect(result.data).toEqual({ putProduct: { product: { name: 'after' } } });
    expect((await fixture.ask(product)).data).toEqual({ bank: { product: { name: 'after' } } });
  });
});

test('a read that is answered without a body fails', async () => {
  bank.otherwise(withoutRecord);
  const result = await ask('{ bank { customer(customerId: "C") { email } branches { totalCount } } }');
  expect(failuresOf(result)).toEqual(['bank.branches BANK_BAD_RESPONSE', 'bank.customer BANK_BAD_RESPONSE']);
});

describe('a write', () => {
  test.each<[string, Reply | 'reset' | 'hang', string]>([
    ['202', { status: 202, body: { name: 'said' } }, 'OUTCOME_UNKNOWN'],
    ['202 without a body', { status: 202 }, 'OUTCOME_UNKNOWN'],
    ['400', { status: 400, body: 'said' }, 'BANK_REJECTED'],
    ['404', { status: 404, body: 'said' }, 'NOT_FOUND'],
    ['429', { status: 429, body: 'said' }, 'BANK_REJECTED'],
    ['500', { status: 500, body: 'said' }, 'BANK_ERROR'],
    ['503', { status: 503, body: 'said' }, 'OUTCOME_UNKNOWN'],
    ['a redirect', { status: 308, headers: { Location: '/said' } }, 'BANK_BAD_RESPONSE'],
    ['a list', { body: '["said"]' }, 'BANK_BAD_RESPONSE'],
    ['a reset', 'reset', 'OUTCOME_UNKNOWN'],
    ['silence', 'hang', 'OUTCOME_UNKNOWN'],
  ])('that ends in %s is null with its Track-ID in the error, and is sent once', async (_, reply, code) => {
    await using fixture = await startBankqlFixture(
      reply === 'hang' ? { bankOptions: { timeoutMs: 250 } } : {},
    );
    fixture.bank.otherwise(() => reply);
    const result = await fixture.ask(
      'mutation { putProduct(input: { bankId: "B2", product: {} }) { product { name } } }',
    );
    const [call, ...more] = fixture.bank.calls;
    expect(more).toEqual([]);
    const trackId = call?.headers['track-id'];
    expect(result).toMatchObject({
      data: { putProduct: null },
      errors: [
        { path: ['putProduct'], extensions: { code, operation: 'putProduct', trackId, retryable: false } },
      ],
    });
    const { status = 0 } = typeof reply === 'string' ? {} : reply;
    expect(JSON.stringify(result).includes('said')).toBe(status >= 400 && status < 500);
  });

  test('keeps its Track-ID and the valid part of its answer if a value is invalid', async () => {
    bank
      .on(`PUT ${root}/customers/C`, { body: { legal_name: true, email: 'e' } })
      .on(`PUT ${root}/branches/B`, { body: { name: 'n' } })
      .on(`PUT ${root}/products`, { body: { id: true, name: 'n', bank_id: true } })
      .on(`PUT ${root}/customer/C/messages`, { body: { message: true, date: 'd' } })
      .on(`PUT ${root}/accounts/A/owner/transactions/T/metadata/M`, {
        body: { uuid: 'u', details: { value: { amount: 'x' } }, other_account: true },
      });
    const result = await ask(`mutation {
      putCustomer(input: { bankId: "B2", customerId: "C", customer: {} }) { trackId customer { legalName email } }
      putBranch(input: { bankId: "B2", branchId: "B", branch: { acceptsDeposits: true } }) {
        trackId branch { branchId name acceptsDeposits }
      }
      putProduct(input: { bankId: "B2", product: { productId: "P" } }) { trackId product { productId name bankIds } }
      putCustomerMessage(input: { bankId: "B2", customerId: "C", message: "m", fromDepartment: "d", fromPerson: "p" }) {
        trackId message { message date }
      }
      putTransactionMetadata(input: {
        bankId: "B2", accountId: "A", transactionId: "T", metadataType: "M", transaction: { details: { approvedByIpAddress: "ip" } }
      }) { trackId transaction { uuid details { value { amount } } otherAccount { otherAccountId } } }
    }`);
    const trackIds = bank.calls.map(({ headers }) => headers['track-id']);
    expect(Object.values(Object(result.data)).map((payload) => Object(payload).trackId)).toEqual(trackIds);
    expect(result.data).toMatchObject({
      putCustomer: { customer: { legalName: null, email: 'e' } },
      putBranch: { branch: { branchId: 'B', name: 'n', acceptsDeposits: null } },
      putProduct: { product: { productId: 'P', name: 'n', bankIds: null } },
      putCustomerMessage: { message: { message: null, date: 'd' } },
      putTransactionMetadata: {
        transaction: { uuid: 'u', details: { value: { amount: null } }, otherAccount: null },
      },
    });
    expect(failuresOf(result)).toEqual([
      'putBranch.branch.acceptsDeposits BANK_BAD_RESPONSE',
      'putCustomer.customer.legalName BANK_BAD_RESPONSE',
      'putCustomerMessage.message.message BANK_BAD_RESPONSE',
      'putProduct.product.bankIds BANK_BAD_RESPONSE',
      'putTransactionMetadata.transaction.details.value.amount BANK_BAD_RESPONSE',
      'putTransactionMetadata.transaction.otherAccount BANK_BAD_RESPONSE',
    ]);
  });
});
