import { message } from '../contract/message.ts';
import { isObject } from '../is-object.ts';
import { Bank } from './bank.ts';
import { builder } from './builder.ts';
import { encodeGlobalId, globalIdTypes } from './plugin/global-id.ts';
import { contentHashOf } from './plugin/list-item.ts';

export const Message = builder.bankObject(message);

/** Messages have no ids: their content identifies them. */
const hashOf = (record: object): string => contentHashOf(message, record);

globalIdTypes.set('Message', null);
builder.objectField(Message, 'id', (t) =>
  t.id({
    nullable: false,
    description: 'Unique to the content, for caches: `node` cannot read a message.',
    resolve: (record) => encodeGlobalId('Message', JSON.stringify([hashOf(record)])),
  }),
);

/** The options of every list of messages. */
export const messageList = {
  plural: 'messages',
  nameOf: (entry: unknown) => (isObject(entry) && !(entry instanceof Error) ? hashOf(entry) : null),
} as const;

builder.objectField(Bank, 'messages', (t) =>
  t.bankList(Message, {
    ...messageList,
    description: 'Messages of the calling customer.',
    load: (bank, _args, { session }) => session.loaders.messagesOwner.load(bank),
  }),
);
