import { describe, expect, test } from 'vitest';
import { graphql } from '../generated/index.ts';
import { onlyCall, sentJson, startBankqlFixture } from '../support/bankql-fixture.ts';
import { customerRecord } from '../support/full-records.ts';

graphql(`
  fragment WholeCustomer on Customer {
    bankId
    customerId
    bank { bankId }
    customerNumber
    legalName
    email
    mobilePhoneNumber
    faceImage { name }
    dateValues { key value }
    numericValues { key value }
    stringValues { key value }
    metadata
    bankIds
    banks { bankId }
  }
`);

const WholeCustomerQuery = graphql(`
  query WholeCustomerQuery($bankId: ID, $customerId: ID!) {
    bank(bankId: $bankId) { customer(customerId: $customerId) { ...WholeCustomer } }
  }
`);

const PutWholeCustomer = graphql(`
  mutation PutWholeCustomer($input: PutCustomerInput!) {
    putCustomer(input: $input) { trackId customer { ...WholeCustomer } }
  }
`);

const wholeCustomer = {
  bankId: 'BANK',
  customerId: 'CUST',
  bank: { bankId: 'BANK' },
  customerNumber: 'customer-number',
  legalName: 'legal-name',
  email: 'email',
  mobilePhoneNumber: 'mobile-phone-number',
  faceImage: { name: 'face-name' },
  dateValues: [{ key: 'date-key', value: 'date-string' }],
  numericValues: [{ key: 'numeric-key', value: 'numeric-string' }],
  stringValues: [
    { key: 'string-key-1', value: 'string-string-1' },
    { key: 'string-key-2', value: null },
  ],
  metadata: ['metadata-1', 'metadata-2'],
  bankIds: ['bank-id-1', 'bank-id-2'],
  banks: [{ bankId: 'bank-id-1' }, { bankId: 'bank-id-2' }],
};

const emptyCustomer = {
  bankId: 'BANK',
  customerId: 'CUST',
  bank: { bankId: 'BANK' },
  customerNumber: null,
  legalName: null,
  email: null,
  mobilePhoneNumber: null,
  faceImage: null,
  dateValues: null,
  numericValues: null,
  stringValues: null,
  metadata: null,
  bankIds: null,
  banks: null,
};

const nullCustomer = Object.fromEntries(Object.keys(customerRecord).map((name) => [name, null]));

describe('getCustomer', () => {
  test('answers every field from its own place', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on('GET /v1/api/banks/BANK/customers/CUST', { body: customerRecord });
    const result = await fixture.ask(WholeCustomerQuery, { customerId: 'CUST' });
    expect(result).toEqual({ data: { bank: { customer: wholeCustomer } } });
    expect(fixture.bank.lines()).toEqual(['GET /v1/api/banks/BANK/customers/CUST']);
    expect(onlyCall(fixture.bank).body).toBe('');
  });

  test.each([
    ['left out', {}],
    ['null', nullCustomer],
  ])('answers null without an error for fields that are %s', async (_, body) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on('GET /v1/api/banks/BANK/customers/CUST', { body });
    const result = await fixture.ask(WholeCustomerQuery, { customerId: 'CUST' });
    expect(result).toEqual({ data: { bank: { customer: emptyCustomer } } });
  });

  test('asks the bank that is named, each id as one segment of the path', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: customerRecord });
    const result = await fixture.ask(WholeCustomerQuery, { bankId: 'OTHER BANK', customerId: 'Ελένη & co' });
    expect(result.errors).toBeUndefined();
    expect(fixture.bank.lines()).toEqual([
      'GET /v1/api/banks/OTHER%20BANK/customers/%CE%95%CE%BB%CE%AD%CE%BD%CE%B7%20%26%20co',
    ]);
  });
});

describe('putCustomer', () => {
  const line = 'PUT /v1/api/banks/BANK/customers/CUST';

  test('sends every field in its own place, and answers the customer as the bank did', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, { body: customerRecord });
    const result = await fixture.ask(PutWholeCustomer, {
      input: {
        customerId: 'CUST',
        customer: {
          bankIds: ['b-1', 'b-2'],
          customerNumber: 'n',
          legalName: 'l',
          email: 'e',
          mobilePhoneNumber: 'm',
          faceImage: { name: 'f' },
          dateValues: [{ key: 'dk', value: 'dv' }],
          numericValues: [{ key: 'nk', value: 'nv' }],
          stringValues: [{ key: 'sk', value: 'sv' }, { key: 'sk-2' }],
        },
      },
    });
    const call = onlyCall(fixture.bank);
    expect(sentJson(call)).toEqual({
      bank_id: ['b-1', 'b-2'],
      customer_number: 'n',
      legal_name: 'l',
      email: 'e',
      mobile_phone_number: 'm',
      face_image: { name: 'f' },
      date_values: [{ key: 'dk', string: 'dv' }],
      numeric_values: [{ key: 'nk', string: 'nv' }],
      string_values: [{ key: 'sk', string: 'sv' }, { key: 'sk-2' }],
    });
    expect(result).toEqual({
      data: { putCustomer: { trackId: call.headers['track-id'], customer: wholeCustomer } },
    });
    expect(fixture.bank.lines()).toEqual([line]);
  });

  test.each([
    ['left out', {}],
    [
      'null',
      {
        bankIds: null,
        customerNumber: null,
        legalName: null,
        email: null,
        mobilePhoneNumber: null,
        faceImage: null,
        dateValues: null,
        numericValues: null,
        stringValues: null,
      },
    ],
  ])('sends none of the fields that are %s', async (_, customer) => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, { body: {} });
    const result = await fixture.ask(PutWholeCustomer, {
      input: { bankId: null, customerId: 'CUST', customer },
    });
    expect(onlyCall(fixture.bank).body).toBe('{}');
    expect(result.data?.putCustomer?.customer).toEqual(emptyCustomer);
  });

  test('sends a null inside a list as an absent field too', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.on(line, { body: {} });
    await fixture.ask(PutWholeCustomer, {
      input: { customerId: 'CUST', customer: { dateValues: [{ key: 'k', value: null }], stringValues: [] } },
    });
    expect(onlyCall(fixture.bank).body).toBe('{"date_values":[{"key":"k"}],"string_values":[]}');
  });

  test('puts to the bank that is named', async () => {
    await using fixture = await startBankqlFixture();
    fixture.bank.otherwise({ body: {} });
    const result = await fixture.ask(PutWholeCustomer, {
      input: { bankId: 'B2', customerId: 'CUST', customer: {} },
    });
    expect(fixture.bank.lines()).toEqual(['PUT /v1/api/banks/B2/customers/CUST']);
    expect(result.data?.putCustomer?.customer?.bankId).toBe('B2');
  });
});
