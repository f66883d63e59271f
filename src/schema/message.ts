import { getMessagesOwner, message } from '../contract/message.ts';
import { Bank } from './bank.ts';
import { builder } from './builder.ts';

/** Messages to the calling customer. The bank gives them no ids: their content identifies them. Fields: contract/message.ts. */
export const Message = builder.bankRef(message, {
  key: [Bank, 'messageId'],
  bankIdField: null,
  list: { operation: getMessagesOwner },
});

builder.bankNode(Message, { omit: ['bankId', 'bank', 'version'] });

builder.objectField(Bank, 'messages', (t) =>
  t.bankList(Message, { description: 'Messages of the calling customer.' }),
);
