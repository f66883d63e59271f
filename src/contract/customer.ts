import { z } from 'zod';
import { text, texts, textsOrText } from './common-schemas.ts';
import { get, operation, put } from './operation.ts';
import { bodyOf, record } from './record.ts';
import { keyValue, nameBox } from './shared-parts.ts';

const keyValues = z.array(keyValue).nullish();

export const customer = record('Customer', 'A customer of a bank.', {
  bank_id: textsOrText
    .nullish()
    .meta({ name: 'bankIds', description: 'The banks whose customer it is.', holdsIds: true }),
  customer_number: text.nullish().describe("The customer's number at the bank."),
  legal_name: text.nullish().describe("The customer's legal name."),
  email: text.nullish().describe('The e-mail address.'),
  mobile_phone_number: text.nullish().describe('The mobile telephone number.'),
  face_image: nameBox.nullish().describe("The name of the customer's picture."),
  date_values: keyValues.describe('Further dates, such as the date of birth.'),
  numeric_values: keyValues.describe('Further numbers that the bank keeps, as texts.'),
  string_values: keyValues.describe('Further texts, such as the language.'),
  metadata: texts.nullish().meta({
    description: 'Further notes of the bank; no write takes it.',
    readOnly: true,
  }),
});
export type Customer = z.infer<typeof customer>;

const customers = {
  path: '/v1/api/banks/{BANK_ID}/customers/{CUSTOMER_ID}',
  audience: 'caller',
  resource: 'customer',
  envelope: null,
  answer: customer,
} as const;

export const getCustomer = operation({ id: 'getCustomer', ...get, ...customers, auth: 'required' });

export const putCustomerID = operation({ id: 'putCustomerID', ...put, ...customers, body: bodyOf(customer) });
