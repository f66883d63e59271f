import { validateBankId } from '../bank/ids.ts';
import {
  type Customer,
  type CustomerBody,
  customer as customerShape,
  putCustomerID,
} from '../contract/customer.ts';
import type { BankIds } from '../loaders/loaders.ts';
import { inCustomer } from '../loaders/rest-ids.ts';
import { builder, type InputFields } from './builder.ts';
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
import { restId } from './global-id.ts';
import { restIds } from './input-names.ts';
import { MessageConnection, MessageObject } from './message.ts';
import { AccountConnection, AccountObject, loadAccounts, toAccountNode } from './node-lookups/account.ts';
import { BankObject, bankNode } from './node-lookups/bank.ts';
import { type CustomerNode, CustomerObject, customerNode } from './node-lookups/customer.ts';
import { idFromPath, nodeFromIds, nodesFromRecord, recordOf } from './node-type.ts';
import { recordVersion, versionDescription } from './record-version.ts';
import { writeField, writtenNode } from './write-field.ts';

/** The version of a customer as it was read. Errors: BANK_BAD_RESPONSE if any part of it is broken. */
export const customerVersion = (record: Customer): string => recordVersion(customerShape, record);

import { viewerAccount, viewerWhoIs } from './viewer-ids.ts';

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
      description: "The customer's number at the bank. REST `customer_number`.",
      resolve: (customer) => recordOf(customer).customer_number,
    }),
    legalName: t.string({
      nullable: true,
      description: "The customer's name in law. REST `legal_name`.",
      resolve: (customer) => recordOf(customer).legal_name,
    }),
    email: t.string({
      nullable: true,
      description: 'The e-mail address. REST `email`.',
      resolve: (customer) => recordOf(customer).email,
    }),
    mobilePhoneNumber: t.string({
      nullable: true,
      description: 'The mobile telephone number. REST `mobile_phone_number`.',
      resolve: (customer) => recordOf(customer).mobile_phone_number,
    }),
    faceImage: t.field({
      type: NameBoxObject,
      nullable: true,
      description: "The name of the customer's picture. REST `face_image`.",
      resolve: (customer) => recordOf(customer).face_image,
    }),
    dateValues: t.field({
      type: [KeyValueObject],
      nullable: { list: true, items: true },
      description: 'Further dates that the bank keeps, such as the date of birth. REST `date_values`.',
      resolve: (customer) => recordOf(customer).date_values,
    }),
    numericValues: t.field({
      type: [KeyValueObject],
      nullable: { list: true, items: true },
      description: 'Further numbers that the bank keeps, as texts. REST `numeric_values`.',
      resolve: (customer) => recordOf(customer).numeric_values,
    }),
    stringValues: t.field({
      type: [KeyValueObject],
      nullable: { list: true, items: true },
      description: 'Further texts that the bank keeps, such as the language. REST `string_values`.',
      resolve: (customer) => recordOf(customer).string_values,
    }),
    metadata: t.stringList({
      nullable: { list: true, items: true },
      description: 'What else the bank notes, such as `verified`; no write takes it. REST `metadata`.',
      resolve: (customer) => recordOf(customer).metadata,
    }),
    version: t.string({
      nullable: true,
      description: versionDescription,
      resolve: (customer) => customerVersion(recordOf(customer)),
    }),
    bankIds: t.stringList({
      nullable: { list: true, items: true },
      description: 'The banks whose customer it is. REST `bank_id`.',
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

/** What a customer's input takes, be it the whole record or changes of one. */
export const customerFields = (t: InputFields) => ({
  bankIds: t.stringList({ description: 'The banks whose customer it is. REST `bank_id`.' }),
  customerNumber: t.string({ description: "The customer's number at the bank. REST `customer_number`." }),
  legalName: t.string({ description: "The customer's name in law. REST `legal_name`." }),
  email: t.string({ description: 'The e-mail address. REST `email`.' }),
  mobilePhoneNumber: t.string({ description: 'The mobile telephone number. REST `mobile_phone_number`.' }),
  faceImage: t.field({
    type: NameBoxInput,
    description: "The name of the customer's picture. REST `face_image`.",
  }),
  dateValues: t.field({
    type: [KeyValueInput],
    description: 'Further dates that the bank keeps, such as the date of birth. REST `date_values`.',
  }),
  numericValues: t.field({
    type: [KeyValueInput],
    description: 'Further numbers that the bank keeps, as texts. REST `numeric_values`.',
  }),
  stringValues: t.field({
    type: [KeyValueInput],
    description: 'Further texts that the bank keeps, such as the language. REST `string_values`.',
  }),
});

const CustomerInput = builder.inputType('CustomerInput', {
  description: 'A whole customer, as putCustomerID sends it. What is left out is not sent, and lost.',
  fields: customerFields,
});

const customerBody = (input: typeof CustomerInput.$inferInput): CustomerBody =>
  omitNullish({
    bank_id: restIds('bankIds', input.bankIds),
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
    bankId: t.id({ description: 'The bank; the configured one where left out.' }),
    customerId: t.id({ required: true, description: 'The customer.' }),
    customer: t.field({ type: CustomerInput, required: true, description: 'The request body.' }),
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
        const customer = {
          bankId: bankIdOr(defaults, input.bankId),
          customerId: restId('customerId', input.customerId),
        };
        return { customer, ids: inCustomer(customer), body: customerBody(input.customer) };
      },
      ({ customer }, record) => ({ customer: { ...customer, record } }),
    ),
  }),
);
