import { get, operation, put } from './operation.ts';
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

const messages = { audience: 'caller', resource: 'message', answer: message.answer } as const;

export const getMessagesOwner = operation({
  id: 'getMessagesOwner',
  ...get,
  ...messages,
  path: '/v1/api/banks/{BANK_ID}/customer/messages',
  auth: 'required',
  envelope: 'messages',
});

/** The specification names every operation but this one (row 11): the name is ours. */
export const putCustomerMessage = operation({
  id: 'putCustomerMessage',
  ...put,
  ...messages,
  path: '/v1/api/banks/{BANK_ID}/customer/{CUSTOMER_ID}/messages',
  body: message.body,
  envelope: null,
});
