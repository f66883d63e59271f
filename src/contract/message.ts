import type { z } from 'zod';
import { text } from './common-schemas.ts';
import { get, operation, put } from './operation.ts';
import { bodyOf, record } from './record.ts';
import { dateText } from './shared-parts.ts';

/** A message to a customer (models MessageDef and MessagesResponse); `date` appears in answers only. */
export const message = record('Message', 'A message to a customer.', {
  message: text.nullish().meta({ description: 'The text of the message.', requiredInBodies: true }),
  from_department: text
    .nullish()
    .meta({ description: 'The department that wrote it.', requiredInBodies: true }),
  from_person: text.nullish().meta({ description: 'The person who wrote it.', requiredInBodies: true }),
  date: dateText('When it was written.', 'sentAt', 'getMessagesOwner').meta({ readOnly: true }),
});
export type Message = z.infer<typeof message>;

const messages = { audience: 'caller', resource: 'message', answer: message } as const;

export const getMessagesOwner = operation({
  id: 'getMessagesOwner',
  ...get,
  ...messages,
  path: '/v1/api/banks/{BANK_ID}/customer/messages',
  auth: 'required',
  envelope: 'messages',
});

/** The specification has no name for this operation, the only one without (row 11 of its table). bankql chose the name. */
export const putCustomerMessage = operation({
  id: 'putCustomerMessage',
  ...put,
  ...messages,
  path: '/v1/api/banks/{BANK_ID}/customer/{CUSTOMER_ID}/messages',
  body: bodyOf(message),
  envelope: null,
});
