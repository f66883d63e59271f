import { type Message, putCustomerMessage } from '../contract/message.ts';
import { inCustomer } from '../loaders/rest-ids.ts';
import { builder } from './builder.ts';
import { connectionTo } from './connection.ts';
import { bankIdOr } from './context.ts';
import { restId } from './global-id.ts';
import { writeField } from './write-field.ts';

export const MessageObject = builder.objectRef<Message>('Message');
MessageObject.implement({
  description: 'A message to a customer. REST: getMessagesOwner.',
  fields: (t) => ({
    message: t.exposeString('message', { nullable: true, description: 'The text. REST `message`.' }),
    fromDepartment: t.exposeString('from_department', {
      nullable: true,
      description: 'The department that wrote it. REST `from_department`.',
    }),
    fromPerson: t.exposeString('from_person', {
      nullable: true,
      description: 'Who wrote it. REST `from_person`.',
    }),
    date: t.exposeString('date', {
      nullable: true,
      description: 'When it was written. REST `date`, as the bank wrote it.',
    }),
  }),
});

export const MessageConnection = connectionTo(MessageObject, {
  list: 'A list of messages.',
  entry: 'A message and its place in a list.',
});

const PutCustomerMessageInput = builder.inputType('PutCustomerMessageInput', {
  description: 'The message to put, and to whom.',
  fields: (t) => ({
    bankId: t.id({ description: 'The bank; the configured one where left out.' }),
    customerId: t.id({ required: true, description: 'The customer.' }),
    message: t.string({ required: true, description: 'The text. REST `message`.' }),
    fromDepartment: t.string({
      required: true,
      description: 'The department that wrote it. REST `from_department`.',
    }),
    fromPerson: t.string({ required: true, description: 'Who wrote it. REST `from_person`.' }),
  }),
});

const PutCustomerMessagePayload = builder
  .objectRef<{ message: Message | undefined; trackId: string }>('PutCustomerMessagePayload')
  .implement({
    description: "The bank's answer to the customer message PUT.",
    fields: (t) => ({
      message: t.expose('message', {
        type: MessageObject,
        nullable: true,
        description:
          'The message as the bank answered it; null where the bank answered without it, since no operation reads one.',
      }),
      trackId: t.exposeID('trackId', { nullable: false, description: "The REST call's Track-ID." }),
    }),
  });

builder.mutationField('putCustomerMessage', (t) =>
  t.field({
    type: PutCustomerMessagePayload,
    nullable: true,
    description: 'Leaves a message for a customer. REST: the customer message PUT.',
    args: {
      input: t.arg({
        type: PutCustomerMessageInput,
        required: true,
        description: 'The message, and to whom.',
      }),
    },
    ...writeField(
      putCustomerMessage,
      ({ input }: { input: typeof PutCustomerMessageInput.$inferInput }, defaults) => ({
        ids: inCustomer({
          bankId: bankIdOr(defaults, input.bankId),
          customerId: restId('customerId', input.customerId),
        }),
        body: {
          message: input.message,
          from_department: input.fromDepartment,
          from_person: input.fromPerson,
        },
      }),
      (_call, message) => ({ message }),
    ),
  }),
);
