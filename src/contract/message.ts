import { operation } from './operation.ts';
import { type Answer, resource, text } from './resource.ts';

/** A message to a customer (models MessageDef and MessagesResponse); `date` appears in answers only. */
export const message = resource('Message', 'A message to a customer. REST: getMessagesOwner.', {
  message: text('message', 'The text.', { required: 'bodies' }),
  fromDepartment: text('from_department', 'The department that wrote it.', { required: 'bodies' }),
  fromPerson: text('from_person', 'Who wrote it.', { required: 'bodies' }),
  date: text('date', 'When it was written.', {
    isReadOnly: true,
    notes: { answer: ', as the bank wrote it' },
    also: { name: 'sentAt', dateOf: 'getMessagesOwner' },
  }),
});
export type Message = Answer<typeof message>;

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
  answer: message.answer,
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
  body: message.body,
  resource: 'message',
  envelope: null,
  answer: message.answer,
});
