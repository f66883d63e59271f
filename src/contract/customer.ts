import { textsOrText } from './common-schemas.ts';
import { get, operation, put } from './operation.ts';
import { type Answer, part, parts, resource, text, texts } from './resource.ts';
import { keyValue, nameBox } from './shared-parts.ts';

export const customer = resource('Customer', 'A customer of a bank. REST: getCustomer.', {
  bankIds: texts('bank_id', 'The banks whose customer it is.', { answer: textsOrText, holdsIds: true }),
  customerNumber: text('customer_number', "The customer's number at the bank."),
  legalName: text('legal_name', "The customer's name in law."),
  email: text('email', 'The e-mail address.'),
  mobilePhoneNumber: text('mobile_phone_number', 'The mobile telephone number.'),
  faceImage: part('face_image', "The name of the customer's picture.", nameBox),
  dateValues: parts('date_values', 'Further dates that the bank keeps, such as the date of birth.', keyValue),
  numericValues: parts('numeric_values', 'Further numbers that the bank keeps, as texts.', keyValue),
  stringValues: parts('string_values', 'Further texts that the bank keeps, such as the language.', keyValue),
  metadata: texts('metadata', 'What else the bank notes, such as `verified`; no write takes it.', {
    isReadOnly: true,
  }),
});
export type Customer = Answer<typeof customer>;

const customers = {
  path: '/v1/api/banks/{BANK_ID}/customers/{CUSTOMER_ID}',
  audience: 'caller',
  resource: 'customer',
  envelope: null,
  answer: customer.answer,
} as const;

export const getCustomer = operation({ id: 'getCustomer', ...get, ...customers, auth: 'required' });

export const putCustomerID = operation({ id: 'putCustomerID', ...put, ...customers, body: customer.body });
