import { message } from '../contract/message.ts';
import type { BankIds } from '../loaders/loaders.ts';
import { BankObject } from './bank.ts';
import { builder, type Fields } from './builder.ts';
import type { ReadContext } from './context.ts';
import { objectType } from './plugin/fields.ts';
import { encodeGlobalId, globalIdTypes } from './plugin/global-id.ts';
import { contentHashOf } from './plugin/list-item.ts';
import { connectionTo, listField } from './plugin/relay-connection.ts';

export const MessageObject = objectType(message);

/** Messages have no ids: their content identifies them. */
const hashOf = (record: object): string => contentHashOf(message, record);

globalIdTypes.set('Message', null);
builder.objectField(MessageObject, 'id', (t) =>
  t.id({
    nullable: false,
    description: 'Unique to the content, for caches: `node` cannot read a message.',
    resolve: (record) => encodeGlobalId('Message', JSON.stringify([hashOf(record)])),
  }),
);

const MessageConnection = connectionTo(MessageObject, 'messages');

/** A field that lists the caller's messages at a bank. */
export const messagesField = <Parent extends object>(
  t: Fields<Parent>,
  description: string,
  bankOf: (parent: Parent, context: ReadContext) => BankIds,
) =>
  listField(t, MessageConnection, {
    description,
    load: (parent, _args, context) => context.session.loaders.messagesOwner.load(bankOf(parent, context)),
    nodesIn: () => (record) => record,
    nameOf: (entry) =>
      typeof entry !== 'object' || entry === null || entry instanceof Error ? null : hashOf(entry),
  });

builder.objectField(BankObject, 'messages', (t) =>
  messagesField(t, 'Messages of the calling customer. REST: getMessagesOwner.', (bank) => bank),
);
