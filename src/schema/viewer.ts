import { Account } from './account.ts';
import { builder } from './builder.ts';
import { Customer } from './customer.ts';
import { Message } from './message.ts';
import { type Viewer, viewerOf } from './viewer-ids.ts';

const ViewerObject = builder.objectRef<Viewer>('Viewer').implement({
  description: 'The logged-in customer: the start for an app that has no ids yet.',
  fields: (t) => ({
    id: t.globalId({
      description: 'Unique to the login and the bank, for caches: `node` cannot read it.',
      key: ({ bankId, viewId, ...ids }) => [bankId, viewId, ids.customerId, ids.accountId],
    }),
    customer: t.link(Customer, { description: "The caller's own customer record." }),
    account: t.link(Account, { description: 'The default account of the login.' }),
    accounts: t.bankList(Account, {
      description: 'The accounts that the caller may see.',
      ids: () => ({ scope: 'permissions' as const }),
    }),
    messages: t.bankList(Message, { description: "The bank's messages to the caller." }),
  }),
});

builder.queryField('viewer', (t) =>
  t.field({
    type: ViewerObject,
    description: 'The customer whom the credentials of the request name, else an error.',
    args: {
      bankId: t.arg.id({ description: 'The code of the bank; the configured one if it is left out.' }),
    },
    resolve: (_root, { bankId }, { bankql }) => viewerOf(bankql, bankId),
  }),
);
