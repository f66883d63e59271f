import { expect, test } from 'vitest';
import { expandPath } from '../../src/bank/request.ts';

const template = '/v1/api/banks/{BANK_ID}/customers/{CUSTOMER_ID}';

test('each id becomes one segment, percent-encoded', () => {
  expect(expandPath(template, { BANK_ID: 'b-1', CUSTOMER_ID: 'Zoë & Co' })).toBe(
    '/v1/api/banks/b-1/customers/Zo%C3%AB%20%26%20Co',
  );
  expect(expandPath(`${template}/messages`, { BANK_ID: 'b', CUSTOMER_ID: 'c' })).toBe(
    '/v1/api/banks/b/customers/c/messages',
  );
  expect(expandPath('/v1/api/metadata', {})).toBe('/v1/api/metadata');
});

test.each(['', '.', '..', 'a/b', 'a?b', '%2e'])(
  'what is no id is refused by the name in the path: %j',
  (id) => {
    expect(() => expandPath(template, { BANK_ID: 'b', CUSTOMER_ID: id })).toThrow(
      /^CUSTOMER_ID cannot be used/,
    );
  },
);
