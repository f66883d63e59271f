import { validateBankId } from '../bank/ids.ts';
import { customer } from '../contract/customer.ts';
import type { CustomerIds } from '../loaders/loaders.ts';
import { accountsField } from './account.ts';
import { BankObject, bankFields, bankNode } from './bank.ts';
import { builder } from './builder.ts';
import { messagesField } from './message.ts';
import { implementNode } from './plugin/fields.ts';
import { restId } from './plugin/global-id.ts';
import { link, links, recordOf } from './plugin/link.ts';
import { defineNodeType, identifiedBy, idFromPath } from './plugin/node.ts';
import { versionField } from './record-version.ts';
import { viewerAccount, viewerWhoIs } from './viewer.ts';

/** Customers by bank and customer id. Read through getCustomer. */
export const customerNode = defineNodeType({
  name: 'Customer',
  ...identifiedBy('bankId', 'customerId'),
  read: (ids: CustomerIds, { session }) => session.loaders.customer.load(ids),
});

implementNode(customerNode, customer, (t) => ({
  ...bankFields(t, 'customer'),
  customerId: t.exposeID('customerId', idFromPath('The customer id, from the path.')),
  version: t.string(versionField(customer)),
  banks: links(t, bankNode, {
    description: 'The banks that `bankIds` names. Costs no further REST call.',
    entries: (customer) => recordOf(customer).bank_id,
    ids: (_customer, bankId) => ({ bankId: validateBankId('a bank', bankId) }),
  }),
  accounts: accountsField(t, {
    description: 'The accounts that the customer, who must be the viewer, may see. REST: getAccountsScope.',
    ids: (customer, _args, context) => viewerAccount(viewerWhoIs(customer, context)),
  }),
  messages: messagesField(
    t,
    "The bank's messages to the customer, who must be the viewer. REST: getMessagesOwner.",
    viewerWhoIs,
  ),
}));

builder.objectField(BankObject, 'customer', (t) =>
  link(t, customerNode, {
    description: 'The caller, or somebody who owns an account with them. REST: getCustomer.',
    args: { customerId: t.arg.id({ required: true, description: "The customer's id at the bank." }) },
    ids: ({ bankId }, { customerId }) => ({ bankId, customerId: restId('customerId', customerId) }),
  }),
);
