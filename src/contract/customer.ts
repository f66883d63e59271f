import { z } from 'zod';
import { optional, text, texts, textsOrText } from './common-schemas.ts';
import { operation } from './operation.ts';
import { keyValue, nameBox } from './shared-parts.ts';

/** A customer as the bank answers it; `metadata` appears in answers only. */
export const customer = z.object({
  bank_id: optional(textsOrText),
  customer_number: optional(text),
  date_values: optional(z.array(keyValue.answer)),
  email: optional(text),
  face_image: optional(nameBox.answer),
  legal_name: optional(text),
  mobile_phone_number: optional(text),
  numeric_values: optional(z.array(keyValue.answer)),
  string_values: optional(z.array(keyValue.answer)),
  metadata: optional(texts),
});
export type Customer = z.infer<typeof customer>;

export const customerBody = z.strictObject({
  bank_id: texts.optional(),
  customer_number: text.optional(),
  date_values: z.array(keyValue.body).optional(),
  email: text.optional(),
  face_image: nameBox.body.optional(),
  legal_name: text.optional(),
  mobile_phone_number: text.optional(),
  numeric_values: z.array(keyValue.body).optional(),
  string_values: z.array(keyValue.body).optional(),
});
export type CustomerBody = z.infer<typeof customerBody>;

export const getCustomer = operation({
  id: 'getCustomer',
  method: 'GET',
  path: '/v1/api/banks/{BANK_ID}/customers/{CUSTOMER_ID}',
  tracked: false,
  auth: 'required',
  kind: 'read',
  audience: 'caller',
  body: null,
  resource: 'customer',
  envelope: null,
  answer: customer,
});

export const putCustomerID = operation({
  id: 'putCustomerID',
  method: 'PUT',
  path: '/v1/api/banks/{BANK_ID}/customers/{CUSTOMER_ID}',
  tracked: true,
  auth: 'required',
  kind: 'write',
  audience: 'caller',
  body: customerBody,
  resource: 'customer',
  envelope: null,
  answer: customer,
});
