import { unwrap } from '../bank/answer.ts';
import { customer, getCustomer } from '../contract/customer.ts';
import { Account } from './account.ts';
import { Bank } from './bank.ts';
import { builder } from './builder.ts';
import { Message } from './message.ts';
import { viewerWhoIs } from './viewer-ids.ts';

/** Customers by bank and customer id. Fields: contract/customer.ts. */
export const Customer = builder.bankRef(customer, {
  key: [Bank, 'customerId'],
  read: getCustomer,
});

builder.bankNode(Customer, {
  fields: (t) => ({
    customerId: t.exposeID('customerId', { nullable: false, description: 'The customer id, from the path.' }),
    banks: t.links(Bank, {
      description: 'The banks that `bankIds` names.',
      // An empty code counts as absent.
      entries: ({ record }) => unwrap(record.bank_id)?.filter((code) => code !== ''),
    }),
    accounts: t.bankList(Account, {
      description: "The customer's accounts; an error unless the customer is the viewer.",
      ids: (customer, args, context) => ({
        ...viewerWhoIs(customer, args, context),
        scope: 'permissions' as const,
      }),
    }),
    messages: t.bankList(Message, {
      description: "The bank's messages; an error unless the customer is the viewer.",
      ids: viewerWhoIs,
    }),
  }),
});

builder.objectField(Bank, 'customer', (t) =>
  t.link(Customer, {
    description: 'The caller, or somebody who owns an account with them.',
    args: { customerId: t.arg.id({ required: true, description: "The customer's id at the bank." }) },
  }),
);
