import { validateBankId } from '../bank/ids.ts';
import { type Customer, customer } from '../contract/customer.ts';
import type { CustomerIds } from '../loaders/loaders.ts';
import { accountsFrom } from './account.ts';
import { bankNode, pathFields } from './bank.ts';
import { implementNode } from './fields.ts';
import { links, recordOf } from './link.ts';
import { messagesFrom } from './message.ts';
import { defineNodeType, identifiedBy, type NodeRef } from './node.ts';
import { versionField, versionOf } from './record-version.ts';
import { pageArguments } from './relay-connection.ts';
import { viewerAccount, viewerWhoIs } from './viewer.ts';

type CustomerNode = NodeRef<CustomerIds, Customer>;

/** Customers by bank and customer id. Read through getCustomer. */
export const customerNode = defineNodeType({
  name: 'Customer',
  ...identifiedBy('bankId', 'customerId'),
  read: (ids: CustomerIds, { session }) => session.loaders.customer.load(ids),
});

export const customerVersion = (record: Customer) => versionOf(customer, record);

implementNode(customerNode, customer, (t) => ({
  ...pathFields(t, 'customer', { customerId: 'The customer id, from the path.' }),
  version: t.string(versionField(customerVersion)),
  banks: links(t, bankNode, {
    description:
      'The banks that `bankIds` names. Null if the bank leaves it out. Costs no further REST call.',
    entries: (customer) => recordOf(customer).bank_id,
    ids: (_customer, bankId) => ({ bankId: validateBankId('a bank', bankId) }),
  }),
  accounts: t.field({
    description:
      "The accounts that the customer may see, if the customer is the viewer; the bank lists no other customer's accounts. REST: getAccountsScope, scope `permissions`.",
    args: pageArguments,
    ...accountsFrom((customer: CustomerNode, _args: object, context) =>
      viewerAccount(viewerWhoIs(customer, context)),
    ),
  }),
  messages: t.field({
    description:
      "The bank's messages to the customer, if the customer is the viewer; the bank lists no other customer's messages. REST: getMessagesOwner.",
    args: pageArguments,
    ...messagesFrom(viewerWhoIs),
  }),
}));
