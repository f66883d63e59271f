import { validateBankId, validateId } from '../bank/ids.ts';
import { type CustomerBody, putCustomerID } from '../contract/customer.ts';
import type { BankIds } from '../loaders/loaders.ts';
import { inCustomer } from '../loaders/rest-ids.ts';
import { builder } from './builder.ts';
import {
  KeyValueInput,
  KeyValueObject,
  keyValueBody,
  mapOptional,
  NameBoxInput,
  NameBoxObject,
  omitNullish,
} from './common-types.ts';
import { connectionFromIds } from './connection.ts';
import { bankIdOr } from './context.ts';
import { knownObject } from './field-extensions.ts';
import { MessageConnection, MessageObject } from './message.ts';
import { idFromPath, nodeFromIds, nodesFromRecord, recordOf } from './node-type.ts';
import { AccountConnection, AccountObject, loadAccounts, toAccountNode } from './node-types/account.ts';
import { BankObject, bankNode } from './node-types/bank.ts';
import { type CustomerNode, CustomerObject, customerNode } from './node-types/customer.ts';
import { viewerAccount, viewerWhoIs } from './viewer-ids.ts';
import { writeField } from './write-field.ts';

CustomerObject.implement({
  description: 'A customer of a bank. REST: getCustomer.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.id(customerNode.idField),
    bankId: t.exposeID('bankId', idFromPath("The bank's code, from the path.")),
    customerId: t.exposeID('customerId', idFromPath('The customer id, from the path.')),
    bank: t.field({
      type: BankObject,
      nullable: false,
      description: 'The bank through which the customer is read. Costs no REST call.',
      ...nodeFromIds(
        () => bankNode,
        ({ bankId }: BankIds) => ({ bankId }),
      ),
    }),
    customerNumber: t.string({
      nullable: true,
      description: 'REST `customer_number`.',
      resolve: (customer) => recordOf(customer).customer_number,
    }),
    legalName: t.string({
      nullable: true,
      description: 'REST `legal_name`.',
      resolve: (customer) => recordOf(customer).legal_name,
    }),
    email: t.string({
      nullable: true,
      description: 'REST `email`.',
      resolve: (customer) => recordOf(customer).email,
    }),
    mobilePhoneNumber: t.string({
      nullable: true,
      description: 'REST `mobile_phone_number`.',
      resolve: (customer) => recordOf(customer).mobile_phone_number,
    }),
    faceImage: t.field({
      type: NameBoxObject,
      nullable: true,
      description: 'REST `face_image`.',
      resolve: (customer) => recordOf(customer).face_image,
    }),
    dateValues: t.field({
      type: [KeyValueObject],
      nullable: { list: true, items: true },
      description: 'REST `date_values`.',
      resolve: (customer) => recordOf(customer).date_values,
    }),
    numericValues: t.field({
      type: [KeyValueObject],
      nullable: { list: true, items: true },
      description: 'REST `numeric_values`.',
      resolve: (customer) => recordOf(customer).numeric_values,
    }),
    stringValues: t.field({
      type: [KeyValueObject],
      nullable: { list: true, items: true },
      description: 'REST `string_values`.',
      resolve: (customer) => recordOf(customer).string_values,
    }),
    metadata: t.stringList({
      nullable: { list: true, items: true },
      description: 'REST `metadata`.',
      resolve: (customer) => recordOf(customer).metadata,
    }),
    bankIds: t.stringList({
      nullable: { list: true, items: true },
      description: 'REST `bank_id`.',
      resolve: (customer) => recordOf(customer).bank_id,
    }),
    banks: t.field({
      type: [BankObject],
      nullable: { list: true, items: true },
      description: 'The banks that `bankIds` names. Costs no further REST call.',
      ...nodesFromRecord(
        () => bankNode,
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
          (customer, record, _index, _args, context) =>
            toAccountNode(viewerAccount(viewerWhoIs(customer, context)), record),
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
        ),
      },
      MessageConnection,
    ),
  }),
});

const CustomerInput = builder.inputType('CustomerInput', {
  description: 'What putCustomerID sends. What is left out is not sent.',
  fields: (t) => ({
    bankIds: t.stringList({ description: 'REST `bank_id`.' }),
    customerNumber: t.string({ description: 'REST `customer_number`.' }),
    legalName: t.string({ description: 'REST `legal_name`.' }),
    email: t.string({ description: 'REST `email`.' }),
    mobilePhoneNumber: t.string({ description: 'REST `mobile_phone_number`.' }),
    faceImage: t.field({ type: NameBoxInput, description: 'REST `face_image`.' }),
    dateValues: t.field({ type: [KeyValueInput], description: 'REST `date_values`.' }),
    numericValues: t.field({ type: [KeyValueInput], description: 'REST `numeric_values`.' }),
    stringValues: t.field({ type: [KeyValueInput], description: 'REST `string_values`.' }),
  }),
});

const customerBody = (input: typeof CustomerInput.$inferInput): CustomerBody =>
  omitNullish({
    bank_id: input.bankIds,
    customer_number: input.customerNumber,
    legal_name: input.legalName,
    email: input.email,
    mobile_phone_number: input.mobilePhoneNumber,
    face_image: input.faceImage,
    date_values: mapOptional(input.dateValues, (values) => values.map(keyValueBody)),
    numeric_values: mapOptional(input.numericValues, (values) => values.map(keyValueBody)),
    string_values: mapOptional(input.stringValues, (values) => values.map(keyValueBody)),
  });

const PutCustomerInput = builder.inputType('PutCustomerInput', {
  description: 'The customer to put, and where.',
  fields: (t) => ({
    bankId: t.id({ description: "The path's bank; the configured one where left out." }),
    customerId: t.id({ required: true, description: "The path's customer." }),
    customer: t.field({ type: CustomerInput, required: true, description: 'The request body.' }),
  }),
});

const PutCustomerPayload = builder
  .objectRef<{ customer: CustomerNode; trackId: string }>('PutCustomerPayload')
  .implement({
    description: "The bank's answer to putCustomerID.",
    fields: (t) => ({
      customer: t.expose('customer', {
        type: CustomerObject,
        nullable: true,
        description: 'The customer as the bank answered it.',
        extensions: knownObject(({ customer }: { customer: CustomerNode }) => customer),
      }),
      trackId: t.exposeID('trackId', { nullable: false, description: "The REST call's Track-ID." }),
    }),
  });

builder.mutationField('putCustomer', (t) =>
  t.field({
    type: PutCustomerPayload,
    nullable: true,
    description: 'REST: putCustomerID.',
    args: {
      input: t.arg({ type: PutCustomerInput, required: true, description: 'What to put, and where.' }),
    },
    ...writeField(
      putCustomerID,
      ({ input }: { input: typeof PutCustomerInput.$inferInput }, defaults) => {
        const customer = {
          bankId: bankIdOr(defaults, input.bankId),
          customerId: validateId('customerId', input.customerId),
        };
        return { customer, ids: inCustomer(customer), body: customerBody(input.customer) };
      },
      ({ customer }, record) => ({ customer: { ...customer, record } }),
    ),
  }),
);
