import { customer, getCustomer, putCustomerID } from '../contract/customer.ts';
import type { CustomerIds } from '../loaders/loaders.ts';
import { builder } from './builder.ts';
import { bankIdOr, type Defaults } from './context.ts';
import { customerNode, customerVersion } from './customer.ts';
import { toBody, toChanges } from './fields.ts';
import { restId } from './global-id.ts';
import {
  bankIdInput,
  changesInput,
  updateRecord,
  wholeRecordInput,
  writtenPayload,
} from './record-mutations.ts';

const customerIdDescription = "The customer's id at the bank.";

const PutCustomerInput = builder.inputType('PutCustomerInput', {
  description: 'The customer to put, and where.',
  fields: (t) => ({
    bankId: bankIdInput(t),
    customerId: t.id({ required: true, description: customerIdDescription }),
    customer: wholeRecordInput(t, customer, putCustomerID),
  }),
});

const UpdateCustomerInput = builder.inputType('UpdateCustomerInput', {
  description: 'The customer to update, and how.',
  fields: (t) => ({
    bankId: bankIdInput(t),
    customerId: t.id({ required: true, description: customerIdDescription }),
    ...changesInput(t, customer),
  }),
});

type Input = typeof PutCustomerInput.$inferInput | typeof UpdateCustomerInput.$inferInput;

/** Errors: BAD_USER_INPUT. */
const idsOf = ({ bankId, customerId }: Input, defaults: Defaults): CustomerIds => ({
  bankId: bankIdOr(defaults, bankId),
  customerId: restId('customerId', customerId),
});

const calls = { read: getCustomer, write: putCustomerID };

builder.mutationField('putCustomer', (t) =>
  t.field({
    type: writtenPayload('PutCustomerPayload', customerNode, calls),
    nullable: true,
    description:
      'Writes a customer. Replaces the whole record: what is left out is lost. To change a part of it use `updateCustomer`. REST: putCustomerID.',
    args: {
      input: t.arg({
        type: PutCustomerInput,
        required: true,
        description: 'The customer, and where to put it.',
      }),
    },
    resolve: async (_root, { input }, { session, defaults }) => {
      const ids = idsOf(input, defaults);
      const { answer, trackId } = await session.write(putCustomerID, ids, toBody(customer, input.customer));
      return { ids, record: answer, trackId };
    },
  }),
);

builder.mutationField('updateCustomer', (t) =>
  t.field({
    type: writtenPayload('UpdateCustomerPayload', customerNode, calls),
    nullable: true,
    description: 'Changes a customer, and keeps the rest. REST: getCustomer, then putCustomerID.',
    args: {
      input: t.arg({ type: UpdateCustomerInput, required: true, description: 'What to change, and how.' }),
    },
    resolve: async (_root, { input }, context) => {
      const ids = idsOf(input, context.defaults);
      const written = await updateRecord(context, {
        ...calls,
        shape: customer,
        ids,
        input,
        load: (fresh) => customerNode.read(ids, fresh),
        versionOf: customerVersion,
        changes: () => toChanges(customer, input.changes),
      });
      return { ids, ...written };
    },
  }),
);
