import { type Message, message, putCustomerMessage } from '../contract/message.ts';
import type { BankIds } from '../loaders/loaders.ts';
import { builder } from './builder.ts';
import { bankIdOr, type ReadContext } from './context.ts';
import { inputFields, objectType, toBody } from './fields.ts';
import { encodeGlobalId, globalIdTypes, restId } from './global-id.ts';
import { contentHashOf } from './list-item.ts';
import { writeField } from './record-mutations.ts';
import { connectionFromIds, connectionTo } from './relay-connection.ts';

const MessageObject = objectType(message);

/** Messages have no ids: their content identifies them. */
const hashOf = (record: object): string => contentHashOf(message, record);

globalIdTypes.set('Message', null);
builder.objectField(MessageObject, 'id', (t) =>
  t.id({
    nullable: false,
    description:
      "Unique to the message's content, for the caches of clients: the bank gives messages no id, so that `node` cannot read it.",
    resolve: (record) => encodeGlobalId('Message', JSON.stringify([hashOf(record)])),
  }),
);

const MessageConnection = connectionTo(MessageObject, 'messages', 'A message');

/** The caller's messages at a bank. */
export const messagesFrom = <Parent>(
  bankOf: (parent: Parent, context: ReadContext) => BankIds,
  plannedParent?: (parent: Parent, context: ReadContext) => Parent,
) =>
  connectionFromIds(
    MessageConnection,
    (parent: Parent, _args: object, context) =>
      context.session.loaders.messagesOwner.load(bankOf(parent, context)),
    () => (record) => record,
    plannedParent,
    (entry) => (typeof entry !== 'object' || entry === null || entry instanceof Error ? null : hashOf(entry)),
  );

const PutCustomerMessageInput = builder.inputType('PutCustomerMessageInput', {
  description: 'The message to put, and to whom.',
  fields: (t) => ({
    bankId: t.id({ description: 'The code of the bank; the configured one if it is left out.' }),
    customerId: t.id({ required: true, description: 'The id at the bank of the customer who gets it.' }),
    ...inputFields(t, message),
  }),
});

const PutCustomerMessagePayload = builder
  .objectRef<{ message: Message | undefined; trackId: string }>('PutCustomerMessagePayload')
  .implement({
    description: 'The message that was left, as far as the bank shows it.',
    fields: (t) => ({
      message: t.expose('message', {
        type: MessageObject,
        nullable: true,
        description:
          'The message as the bank answered it; null if the bank answered without it, since no bank operation reads one. Costs no further REST call.',
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
        ids: {
          bankId: bankIdOr(defaults, input.bankId),
          customerId: restId('customerId', input.customerId),
        },
        body: toBody(message, input),
      }),
      (_call, record) => ({ message: record }),
    ),
  }),
);
