import { expect, test } from 'vitest';
import { onlyCall, startBankqlFixture } from '../support/bankql-fixture.ts';
import { customerRecord } from '../support/full-records.ts';

test('a customer is asked for at the bank that is named, each id as one segment of the path', async () => {
  await using fixture = await startBankqlFixture();
  fixture.bank.otherwise({ body: customerRecord });
  const result = await fixture.ask(
    '{ bank(bankId: "OTHER BANK") { customer(customerId: "Ελένη & co") { legalName } } }',
  );
  expect(result.errors).toBeUndefined();
  expect(fixture.bank.lines()).toEqual([
    'GET /v1/api/banks/OTHER%20BANK/customers/%CE%95%CE%BB%CE%AD%CE%BD%CE%B7%20%26%20co',
  ]);
});

test('putCustomer sends an empty list as it is, to the bank that is named', async () => {
  await using fixture = await startBankqlFixture();
  fixture.bank.otherwise({ body: {} });
  const result = await fixture.ask(`mutation {
    putCustomer(input: { bankId: "B2", customerId: "CUST", customer: { stringValues: [] } }) { customer { bankId } }
  }`);
  expect(result).toEqual({ data: { putCustomer: { customer: { bankId: 'B2' } } } });
  const { method, path, body } = onlyCall(fixture.bank);
  expect([method, path, body]).toEqual(['PUT', '/v1/api/banks/B2/customers/CUST', '{"string_values":[]}']);
});
