import { z } from 'zod';
import { validateBankId, validateId } from '../bank/ids.ts';
import { type Customer, customer, putCustomerID } from '../contract/customer.ts';
import type { BankIds, CustomerIds } from '../loaders/loaders.ts';
import { inCustomer } from '../loaders/rest-ids.ts';
import { AccountConnection, AccountObject, loadAccounts, toAccountNode } from './account.ts';
import { builder } from './builder.ts';
import { connectionFromIds } from './connection.ts';
import { bankIdOr, type ReadContext } from './context.ts';
import { hasPlaceholderId } from './field-extensions.ts';
import { changesType, inputType, recordFields, toBody, toChanges } from './fields.ts';
import { restId } from './global-id.ts';
import { MessageConnection, MessageObject } from './message.ts';
import { defineNodeType, idFromPath, type NodeRef, nodeFromIds, nodesFromRecord, recordOf } from './node.ts';
import { recordVersion, versionDescription } from './record-version.ts';
import { updateDescriptions, updateField, updatePayload } from './update-field.ts';
import { viewerAccount, viewerCustomer, viewerOf, viewerWhoIs } from './viewer.ts';
import { writeField, writtenNode } from './write-field.ts';

export type CustomerNode = NodeRef<CustomerIds, Customer>;

/** Customers by bank and customer id. Read through getCustomer. */
export const customerNode = defineNodeType({
  name: 'Customer',
  entityKey: ['bankId', 'customerId'],
  key: z.tuple([z.string(), z.string()]),
  toKey: ({ bankId, customerId }: CustomerNode) => [bankId, customerId] as const,
  toIds: ([bankId, customerId]): CustomerIds => ({
    bankId: validateId('bankId', bankId),
    customerId: validateId('customerId', customerId),
  }),
  read: (ids, { session }) => session.loaders.customer.load(ids),
});

export const CustomerObject = customerNode.object;

/** The version of a customer as it was read. Errors: BANK_BAD_RESPONSE if any part of it is broken. */
export const customerVersion = (record: Customer): string => recordVersion(customer.answer, record);

/** A customer whom a record will name may be the viewer. */
const plannedCustomer = (customer: CustomerNode, context: ReadContext): CustomerNode =>
  hasPlaceholderId(customer.customerId) ? viewerCustomer(viewerOf(context)) : customer;

CustomerObject.implement({
  description: customer.description,
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    ...recordFields(t, customer),
    id: t.id(customerNode.idField),
    bankId: t.exposeID('bankId', idFromPath("The bank's code, from the path.")),
    customerId: t.exposeID('customerId', idFromPath('The customer id, from the path.')),
    bank: t.field({
      nullable: false,
      description: 'The bank through which the customer is read. Costs no REST call.',
      ...nodeFromIds('Bank', ({ bankId }: BankIds) => ({ bankId })),
    }),
    version: t.string({
      nullable: true,
      description: versionDescription,
      resolve: (node) => customerVersion(recordOf(node)),
    }),
    banks: t.field({
      nullable: { list: true, items: true },
      description: 'The banks that `bankIds` names. Costs no further REST call.',
      ...nodesFromRecord(
        'Bank',
        (customer: CustomerNode) => recordOf(customer).bank_id,
        (_customer, bankId) => ({ bankId: validateBankId('a bank', bankId) }),
      ),
    }),
    accounts: t.connection(
      {
        type: AccountObject,
        nullable: true,
        description:
          'The accounts that the customer may see, where it is the viewer; of another customer the bank tells none. REST: getAccountsScope, scope `permissions`.',
        ...connectionFromIds(
          (customer: CustomerNode, _args: object, context) =>
            loadAccounts(viewerAccount(viewerWhoIs(customer, context)), 'permissions', context),
          (customer, record, _index, _args, context, list) =>
            toAccountNode(viewerAccount(viewerWhoIs(customer, context)), record, list),
          plannedCustomer,
        ),
      },
      AccountConnection,
    ),
    messages: t.connection(
      {
        type: MessageObject,
        nullable: true,
        description:
          "The bank's messages to the customer, where it is the viewer; of another customer the bank tells none. REST: getMessagesOwner.",
        ...connectionFromIds(
          (customer: CustomerNode, _args: object, context) => {
            const { bankId } = viewerWhoIs(customer, context);
            return context.session.loaders.messagesOwner.load({ bankId });
          },
          (_customer, record) => record,
          plannedCustomer,
        ),
      },
      MessageConnection,
    ),
  }),
});

const PutCustomerInput = builder.inputType('PutCustomerInput', {
  description: 'The customer to put, and where.',
  fields: (t) => ({
    bankId: t.id({ description: 'The bank; the configured one where left out.' }),
    customerId: t.id({ required: true, description: 'The customer.' }),
    customer: t.field({
      type: inputType(
        customer,
        'A whole customer, as putCustomerID sends it. What is left out is not sent, and lost.',
      ),
      required: true,
      description: 'The request body.',
    }),
  }),
});

const PutCustomerPayload = builder
  .objectRef<{ customer: CustomerNode; trackId: string }>('PutCustomerPayload')
  .implement({
    description: "The bank's answer to putCustomerID.",
    fields: (t) => ({
      customer: t.field({
        type: CustomerObject,
        nullable: true,
        description:
          'The customer as the bank answered it; read anew where the bank answered without it. REST then: getCustomer.',
        ...writtenNode(
          () => customerNode,
          ({ customer }: { customer: CustomerNode }) => customer,
        ),
      }),
      trackId: t.exposeID('trackId', { nullable: false, description: "The REST call's Track-ID." }),
    }),
  });

builder.mutationField('putCustomer', (t) =>
  t.field({
    type: PutCustomerPayload,
    nullable: true,
    description:
      'Writes a customer. Replaces the whole record: what is left out is lost. To change a part of it use `updateCustomer`. REST: putCustomerID.',
    args: {
      input: t.arg({ type: PutCustomerInput, required: true, description: 'What to put, and where.' }),
    },
    ...writeField(
      putCustomerID,
      ({ input }: { input: typeof PutCustomerInput.$inferInput }, defaults) => {
        const ids = {
          bankId: bankIdOr(defaults, input.bankId),
          customerId: restId('customerId', input.customerId),
        };
        return { node: ids, ids: inCustomer(ids), body: toBody(customer, input.customer) };
      },
      ({ node }, record) => ({ customer: { ...node, record } }),
    ),
  }),
);

const UpdateCustomerInput = builder.inputType('UpdateCustomerInput', {
  description: 'The customer to update, and how.',
  fields: (t) => ({
    bankId: t.id({ description: updateDescriptions.bankId }),
    customerId: t.id({ required: true, description: 'The customer.' }),
    changes: t.field({
      type: changesType(
        customer,
        'Changes of a customer: what is left out keeps its value, null clears it. Lists are replaced whole.',
      ),
      required: true,
      description: updateDescriptions.changes,
    }),
    ifVersion: t.string({ description: updateDescriptions.ifVersion }),
  }),
});

const UpdateCustomerPayload = updatePayload('UpdateCustomerPayload', {
  field: 'customer',
  nodeType: () => customerNode,
  type: CustomerObject,
});

builder.mutationField('updateCustomer', (t) =>
  t.field({
    type: UpdateCustomerPayload,
    nullable: true,
    description: 'Changes a customer and keeps what is not named. REST: getCustomer, then putCustomerID.',
    args: {
      input: t.arg({ type: UpdateCustomerInput, required: true, description: 'What to change, and how.' }),
    },
    ...updateField(
      {
        operation: putCustomerID,
        payload: 'UpdateCustomerPayload',
        nodeType: () => customerNode,
        versionOf: customerVersion,
      },
      ({ input }: { input: typeof UpdateCustomerInput.$inferInput }, defaults) => {
        const node = {
          bankId: bankIdOr(defaults, input.bankId),
          customerId: restId('customerId', input.customerId),
        };
        const changes = toChanges(customer, input.changes);
        return {
          node,
          ids: inCustomer(node),
          record: [node.bankId, node.customerId],
          ifVersion: input.ifVersion,
          changes: () => changes,
        };
      },
    ),
  }),
);
