import { z } from 'zod';
import { optional, text } from './common-schemas.ts';
import { operation } from './operation.ts';

/** A message to a customer (models MessageDef and MessagesResponse); `date` appears in answers only. */
export const message = z.object({
  message: optional(text),
  from_department: optional(text),
  from_person: optional(text),
  date: optional(text),
});
export type Message = z.infer<typeof message>;

export const messageBody = z.strictObject({ message: text, from_department: text, from_person: text });

export const getMessagesOwner = operation({
  id: 'getMessagesOwner',
  method: 'GET',
  path: '/v1/api/banks/{BANK_ID}/customer/messages',
  tracked: false,
  auth: 'required',
  kind: 'read',
  audience: 'caller',
  body: null,
  resource: 'message',
  envelope: 'messages',
  answer: message,
});

/** The specification names every operation but this one (row 11): the name is ours. */
export const putCustomerMessage = operation({
  id: 'putCustomerMessage',
  method: 'PUT',
  path: '/v1/api/banks/{BANK_ID}/customer/{CUSTOMER_ID}/messages',
  tracked: true,
  auth: 'required',
  kind: 'write',
  audience: 'caller',
  body: messageBody,
  resource: 'message',
  envelope: null,
  answer: message,
});
