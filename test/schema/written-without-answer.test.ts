import { describe, expect, test } from 'vitest';
import type { Drift } from '../../src/bank/response.ts';
import { failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';
import type { RecordedCall, Reply } from '../support/recording-bank.ts';

const empty: readonly (readonly [string, Reply])[] = [
  ['204', { status: 204 }],
  ['an empty 200', { body: '' }],
  ['an empty 200 of another type', { body: '\r\n', headers: { 'Content-Type': 'text/html' } }],
];

const record = (line: string, reads: Readonly<Record<string, object>>) => {
  const [, body] = Object.entries(reads).find(([end]) => line.endsWith(end)) ?? [];
  return body === undefined ? { status: 404, body: 'nothing there' } : { body };
};

/** A bank that answers every PUT with this, and reads as they are named. */
const answering =
  (put: Reply, reads: Readonly<Record<string, object>>) =>
  ({ method, path }: RecordedCall): Reply =>
    method === 'PUT' ? put : record(path, reads);

/** Each write with what is read after it: the mutation's field, the payload's data, and the reads. */
const writes: readonly (readonly [string, string, object, Readonly<Record<string, object>>])[] = [
  [
    'putCustomer',
    'putCustomer(input: { customerId: "C", customer: {} }) { trackId customer { customerId email } }',
    { customer: { customerId: 'C', email: 'e' } },
    { '/v1/api/banks/BANK/customers/C': { email: 'e' } },
  ],
  [
    'putBranch',
    'putBranch(input: { branchId: "B", branch: { acceptsDeposits: true } }) { trackId branch { branchId name } }',
    { branch: { branchId: 'B', name: 'n' } },
    { '/v1/api/banks/BANK/branches': { branches: [{ acceptsDeposits: true, id: 'B', name: 'n' }] } },
  ],
  [
    'putProduct',
    'putProduct(input: { product: { productId: "P" } }) { trackId product { productId name } }',
    { product: { productId: 'P', name: 'n' } },
    { '/v1/api/banks/BANK/products/P': { name: 'n' } },
  ],
  [
    'putAccount',
    'putAccount(input: { accountId: "A", account: { balance: {} } }) { trackId account { accountId label } }',
    { account: { accountId: 'A', label: 'l' } },
    { '/v1/api/banks/BANK/accounts/A/owner/views': { accounts: [{ balance: {}, id: 'A', label: 'l' }] } },
  ],
  [
    'putTransactionMetadata',
    `putTransactionMetadata(input: {
      accountId: "A", transactionId: "T", metadataType: "M", transaction: { details: { approvedByIpAddress: "" } }
    }) { trackId transaction { transactionId metadata { comments } } }`,
    { transaction: { transactionId: 'T', metadata: { comments: 'c' } } },
    { '/v1/api/banks/BANK/accounts/A/owner/transactions/T/transaction': { metadata: { comments: 'c' } } },
  ],
];

describe.each(empty)('a PUT that is answered with %s', (_, put) => {
  test.each(writes)('%s is done, and its record is read anew', async (name, field, payload, reads) => {
    const drifts: string[] = [];
    const onDrift = ({ operation, field }: Drift) => void drifts.push(`${operation} ${field}`);
    await using fixture = await startBankqlFixture({ bankOptions: { onDrift } });
    fixture.bank.otherwise(answering(put, reads));
    const result = await fixture.ask(`mutation { ${field} }`);
    const [written] = fixture.bank.calls;
    expect(result).toEqual({ data: { [name]: { trackId: written?.headers['track-id'], ...payload } } });
    expect(fixture.bank.lines().slice(1)).toEqual(Object.keys(reads).map((path) => `GET ${path}`));
    expect(drifts).toHaveLength(1);
    expect(drifts[0]).toMatch(/^put\w+ empty-body$/);
  });
});

test.each(writes)(
  '%s shows the record as the bank answers it, which is not read again',
  async (name, field, payload, reads) => {
    const [[path = '', read = {}] = []] = Object.entries(reads);
    const [list] = Object.values(read);
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(answering({ body: Array.isArray(list) ? list[0] : read }, reads));
    const result = await fixture.ask(`mutation { ${field} }`);
    const [written] = fixture.bank.calls;
    expect(result).toEqual({ data: { [name]: { trackId: written?.headers['track-id'], ...payload } } });
    // An account is always read through the view.
    expect(fixture.bank.lines().slice(1)).toEqual(name === 'putAccount' ? [`GET ${path}`] : []);
  },
);

describe('where a PUT is answered without the record', () => {
  const [, put = {}] = empty[0] ?? [];

  test('nothing is read for what the ids answer', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(answering(put, {}));
    const result = await fixture.ask(
      'mutation { putCustomer(input: { customerId: "C", customer: {} }) { customer { customerId } } }',
    );
    expect(result).toEqual({ data: { putCustomer: { customer: { customerId: 'C' } } } });
    expect(fixture.bank.calls).toHaveLength(1);
  });

  test('what no operation reads is null', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(answering(put, {}));
    const result = await fixture.ask(`mutation {
      putProduct(input: { product: {} }) { product { name } }
      putCustomerMessage(input: { customerId: "C", message: "m", fromDepartment: "d", fromPerson: "p" }) {
        message { message }
      }
    }`);
    expect(result).toEqual({
      data: { putProduct: { product: null }, putCustomerMessage: { message: null } },
    });
    expect(fixture.bank.calls).toHaveLength(2);
  });

  test('the read is one of the calls that an operation may make: the write stands without it', async () => {
    await using fixture = await startBankqlFixture({ limits: { timeoutMs: 60_000, restCalls: 1 } });
    fixture.bank.otherwise(answering(put, { '/C': { email: 'e' } }));
    const result = await fixture.ask(
      'mutation { putCustomer(input: { customerId: "C", customer: {} }) { trackId customer { email } } }',
    );
    expect(result.data).toEqual({
      putCustomer: { trackId: fixture.bank.calls[0]?.headers['track-id'], customer: null },
    });
    expect(failuresOf(result)).toEqual(['putCustomer.customer CALL_BUDGET_EXCEEDED']);
    expect(fixture.bank.calls).toHaveLength(1);
  });

  test('a read that fails does not make the write one that failed', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(answering(put, {}));
    const result = await fixture.ask(
      'mutation { putCustomer(input: { customerId: "C", customer: {} }) { trackId customer { email } } }',
    );
    expect(result.data).toMatchObject({ putCustomer: { trackId: expect.any(String), customer: null } });
    expect(failuresOf(result)).toEqual(['putCustomer.customer NOT_FOUND']);
  });

  test('public records that were kept are read anew, by the mutation and after it', async () => {
    await using fixture = await startBankqlFixture({ bankOptions: { publicCacheTtlMs: 60_000 } });
    const product = '{ bank { product(productId: "P") { name } } }';
    fixture.bank.otherwise(answering(put, { '/P': { name: 'before' } }));
    await fixture.ask(product);
    fixture.bank.otherwise(answering(put, { '/P': { name: 'after' } }));
    const result = await fixture.ask(
      'mutation { putProduct(input: { product: { productId: "P" } }) { product { name } } }',
    );
    expect(result.data).toEqual({ putProduct: { product: { name: 'after' } } });
    expect((await fixture.ask(product)).data).toEqual({ bank: { product: { name: 'after' } } });
  });

  test('but a read without an answer is none', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise(put);
    const result = await fixture.ask(
      '{ bank { customer(customerId: "C") { email } branches { totalCount } } }',
    );
    expect(failuresOf(result)).toEqual([
      'bank.branches BANK_BAD_RESPONSE',
      'bank.customer BANK_BAD_RESPONSE',
    ]);
  });
});
