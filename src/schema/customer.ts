import { unwrap } from '../bank/answer.ts';
import { validateBankId } from '../bank/ids.ts';
import { customer, getCustomer } from '../contract/customer.ts';
import { Account } from './account.ts';
import { Bank } from './bank.ts';
import { builder } from './builder.ts';
import { Message, messageList } from './message.ts';
import { viewerAccounts, viewerWhoIs } from './viewer.ts';

/** Customers by bank and customer id. */
export const Customer = builder.bankRef(customer, {
  key: [Bank, 'customerId'],
  read: { operation: getCustomer, load: (ids, { session }) => session.loaders.customer.load(ids) },
});

builder.bankNode(Customer, {
  fields: (t) => ({
    customerId: t.exposeID('customerId', { nullable: false, description: 'The customer id, from the path.' }),
    banks: t.links(Bank, {
      description: 'The banks that `bankIds` names.',
      // An empty code means no bank.
      entries: ({ record }) => unwrap(record.bank_id)?.filter((bankId) => bankId !== ''),
      ids: (_customer, bankId) => ({ bankId: validateBankId('a bank', bankId) }),
    }),
    accounts: t.bankList(Account, {
      description: "The customer's accounts; an error unless the customer is the viewer.",
      ids: (customer, _args, context) => viewerAccounts(viewerWhoIs(customer, context)),
    }),
    messages: t.bankList(Message, {
      ...messageList,
      description: "The bank's messages; an error unless the customer is the viewer.",
      load: (customer, _args, context) =>
        context.session.loaders.messagesOwner.load(viewerWhoIs(customer, context)),
    }),
  }),
});

builder.objectField(Bank, 'customer', (t) =>
  t.link(Customer, {
    description: 'The caller, or somebody who owns an account with them.',
    args: { customerId: t.arg.id({ required: true, description: "The customer's id at the bank." }) },
  }),
);
