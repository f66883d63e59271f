import fc from 'fast-check';
import { expect, test } from 'vitest';
import { requestKey } from '../../src/bank/request.ts';
import { getCustomer } from '../../src/contract/customer.ts';
import { getTransaction } from '../../src/contract/transaction.ts';

/** Ids that try to look like more than one, or like a length. */
const id = fc.string({ unit: fc.constantFrom('a', '1', ':', ' ', '{', '"'), maxLength: 4 });
const ids = fc.record({ BANK_ID: id, ACCOUNT_ID: id, VIEW_ID: id, TRANSACTION_ID: id });

test('two questions have the same name only where they are the same', () => {
  const question = fc.record({ ids, body: fc.option(fc.record({ id }), { nil: undefined }) });
  fc.assert(
    fc.property(question, question, (one, other) => {
      const same = JSON.stringify(one) === JSON.stringify(other);
      const names = [one, other].map((asked) => requestKey(getTransaction, asked.ids, asked.body));
      expect(names[0] === names[1]).toBe(same);
    }),
    { seed: 20_261_120, numRuns: 2000 },
  );
});

test('the order in which ids are given says nothing, and which is which says all', () => {
  const customer = requestKey(getCustomer, { BANK_ID: 'b', CUSTOMER_ID: 'c' }, undefined);
  expect(requestKey(getCustomer, { CUSTOMER_ID: 'c', BANK_ID: 'b' }, undefined)).toBe(customer);
  expect(requestKey(getCustomer, { CUSTOMER_ID: 'b', BANK_ID: 'c' }, undefined)).not.toBe(customer);
});
