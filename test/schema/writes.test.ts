import { describe, expect, test } from 'vitest';
import { graphql } from '../generated/index.ts';
import { failuresOf, startBankqlFixture } from '../support/bankql-fixture.ts';
import type { Reply } from '../support/recording-bank.ts';

const PutEach = graphql(`
  mutation PutEach {
    putCustomer(input: { customerId: "C", customer: {} }) { trackId customer { legalName email } }
    putBranch(input: { branchId: "B", branch: { acceptsDeposits: true } }) {
      trackId
      branch { branchId name acceptsDeposits }
    }
    putProduct(input: { product: { productId: "P" } }) { trackId product { productId name bankIds } }
    putCustomerMessage(input: { customerId: "C", message: "m", fromDepartment: "d", fromPerson: "p" }) {
      trackId
      message { message date }
    }
    putTransactionMetadata(
      input: {
        accountId: "A"
        transactionId: "T"
        metadataType: "M"
        transaction: { details: { approvedByIpAddress: "ip" } }
      }
    ) {
      trackId
      transaction { uuid details { value { amount } } otherAccount { otherAccountId } }
    }
  }
`);

const PutOneProduct = graphql(`
  mutation PutOneProduct { putProduct(input: { product: {} }) { trackId product { name } } }
`);

const failures: readonly (readonly [string, Reply | 'reset' | 'hang', string])[] = [
  ['400', { status: 400, body: 'said' }, 'BANK_REJECTED'],
  ['401', { status: 401, body: 'said' }, 'UNAUTHENTICATED'],
  ['403', { status: 403, body: 'said' }, 'FORBIDDEN'],
  ['404', { status: 404, body: 'said' }, 'NOT_FOUND'],
  ['409', { status: 409, body: 'said' }, 'BANK_REJECTED'],
  ['429', { status: 429, body: 'said' }, 'BANK_REJECTED'],
  ['500', { status: 500, body: 'said' }, 'BANK_ERROR'],
  ['502', { status: 502, body: 'said' }, 'OUTCOME_UNKNOWN'],
  ['503', { status: 503, body: 'said' }, 'OUTCOME_UNKNOWN'],
  ['504', { status: 504, body: 'said' }, 'OUTCOME_UNKNOWN'],
  ['a redirect', { status: 308, headers: { Location: '/said' } }, 'BANK_BAD_RESPONSE'],
  ['no JSON', { body: 'said' }, 'BANK_BAD_RESPONSE'],
  ['a list', { body: '["said"]' }, 'BANK_BAD_RESPONSE'],
  ['a reset', 'reset', 'OUTCOME_UNKNOWN'],
  ['silence', 'hang', 'OUTCOME_UNKNOWN'],
];

describe('a write', () => {
  test.each(failures)(
    'that ends in %s is null, says why with its Track-ID, and is sent once',
    async (_, reply, code) => {
      await using fixture = await startBankqlFixture(
        reply === 'hang' ? { bankOptions: { timeoutMs: 250 } } : {},
      );
      fixture.bank.otherwise(() => reply);
      const result = await fixture.ask(PutOneProduct);
      expect(result.data).toEqual({ putProduct: null });
      expect(result.errors).toMatchObject([
        {
          path: ['putProduct'],
          extensions: {
            code,
            operation: 'putProduct',
            trackId: fixture.bank.calls[0]?.headers['track-id'],
            retryable: false,
          },
        },
      ]);
      const { status } = typeof reply === 'string' ? {} : reply;
      expect(JSON.stringify(result).includes('said')).toBe(
        status !== undefined && status >= 400 && status < 500,
      );
      expect(fixture.bank.calls).toHaveLength(1);
    },
  );

  test('keeps its Track-ID, and what is sound of its answer, where a value of it is broken', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank
      .on('PUT /v1/api/banks/BANK/customers/C', { body: { legal_name: true, email: 'e' } })
      .on('PUT /v1/api/banks/BANK/branches/B', { body: { name: 'n' } })
      .on('PUT /v1/api/banks/BANK/products', { body: { id: true, name: 'n', bank_id: true } })
      .on('PUT /v1/api/banks/BANK/customer/C/messages', { body: { message: true, date: 'd' } })
      .on('PUT /v1/api/banks/BANK/accounts/A/owner/transactions/T/metadata/M', {
        body: { uuid: 'u', details: { value: { amount: 'x' } }, other_account: true },
      });
    const result = await fixture.ask(PutEach);
    const [customer, branch, product, message, transaction] = fixture.bank.calls.map(
      ({ headers }) => headers['track-id'],
    );
    expect(result.data).toEqual({
      putCustomer: { trackId: customer, customer: { legalName: null, email: 'e' } },
      putBranch: { trackId: branch, branch: { branchId: 'B', name: 'n', acceptsDeposits: null } },
      putProduct: { trackId: product, product: { productId: 'P', name: 'n', bankIds: null } },
      putCustomerMessage: { trackId: message, message: { message: null, date: 'd' } },
      putTransactionMetadata: {
        trackId: transaction,
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
