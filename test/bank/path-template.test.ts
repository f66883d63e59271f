import { expect, test } from 'vitest';
import { pathOf } from '../../src/bank/request.ts';
import { operations } from '../../src/contract/operations.ts';

const { getCustomer, postMetadata, putCustomerMessage } = operations;

test('each id becomes one segment, percent-encoded', () => {
  expect(pathOf(getCustomer, { bankId: 'b-1', customerId: 'Zoë & Co' })).toBe(
    '/v1/api/banks/b-1/customers/Zo%C3%AB%20%26%20Co',
  );
  expect(pathOf(putCustomerMessage, { bankId: 'b', customerId: 'c' })).toBe(
    '/v1/api/banks/b/customer/c/messages',
  );
  expect(pathOf(postMetadata, {})).toBe('/v1/api/metadata');
});

test.each(['', '.', '..', 'a/b', 'a?b', '%2e'])(
  'what is no id is refused by the name in the path: %j',
  (id) => {
    expect(() => pathOf(getCustomer, { bankId: 'b', customerId: id })).toThrow(/^CUSTOMER_ID cannot be used/);
  },
);
