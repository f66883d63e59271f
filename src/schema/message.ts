import { hash } from 'node:crypto';
import { message } from '../contract/message.ts';
import { recordFields } from '../contract/record.ts';
import { getOrMake } from '../get-or-make.ts';
import type { BankIds } from '../loaders/loaders.ts';
import { builder } from './builder.ts';
import type { ReadContext } from './context.ts';
import { objectType } from './fields.ts';
import { encodeGlobalId, globalIdTypes } from './global-id.ts';
import { connectionFromIds, connectionTo } from './relay-connection.ts';

export const MessageObject = objectType(message);

const hashes = new WeakMap<object, string>();

/** Messages have no ids: what identifies one is its content. Pages that search a list for a cursor ask for it again. */
const hashOf = (record: object): string =>
  getOrMake(hashes, record, () => {
    const content = recordFields(message).map(({ rest }) => Reflect.get(record, rest));
    return hash('sha256', JSON.stringify(content));
  });

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
export const messagesFrom = <Parent>(bankOf: (parent: Parent, context: ReadContext) => BankIds) =>
  connectionFromIds(
    MessageConnection,
    (parent: Parent, _args: object, context) =>
      context.session.loaders.messagesOwner.load(bankOf(parent, context)),
    () => (record) => record,
    (entry) => (typeof entry !== 'object' || entry === null || entry instanceof Error ? null : hashOf(entry)),
  );
