import type { InputShapeFromFields } from '@pothos/core';
import { customer, getCustomer, putCustomerID } from '../contract/customer.ts';
import type { CustomerIds } from '../loaders/loaders.ts';
import { builder, type InputFields } from './builder.ts';
import { bankIdOr, type Defaults } from './context.ts';
import { Customer } from './customer.ts';
import { toBody, toChanges } from './plugin/fields.ts';
import { restId } from './plugin/global-id.ts';
import {
  bankIdInput,
  changesInput,
  putDescription,
  updateRecord,
  wholeRecordInput,
  writtenPayload,
} from './record-mutations.ts';

const whichCustomer = (t: InputFields) => ({
  bankId: bankIdInput(t),
  customerId: t.id({ required: true, description: "The customer's id at the bank." }),
});

/** Errors: BAD_USER_INPUT. */
const idsOf = (
  { bankId, customerId }: InputShapeFromFields<ReturnType<typeof whichCustomer>>,
  defaults: Defaults,
): CustomerIds => ({ bankId: bankIdOr(defaults, bankId), customerId: restId('customerId', customerId) });

const calls = { read: getCustomer, write: putCustomerID };

builder.relayMutationField(
  'putCustomer',
  {
    description: 'The customer to put, and where.',
    inputFields: (t) => ({ ...whichCustomer(t), customer: wholeRecordInput(t, customer, putCustomerID) }),
  },
  {
    description: putDescription('a customer', 'updateCustomer', putCustomerID),
    resolve: async (_root, { input }, { session, defaults }) => {
      const ids = idsOf(input, defaults);
      const { answer, trackId } = await session.write(
        putCustomerID,
        ids,
        toBody(customer, input.customer, 'customer.'),
      );
      return { ids, record: answer, trackId };
    },
  },
  writtenPayload(Customer, calls),
);

builder.relayMutationField(
  'updateCustomer',
  {
    description: 'The customer to update, and how.',
    inputFields: (t) => ({ ...whichCustomer(t), ...changesInput(t, customer) }),
  },
  {
    description: 'Changes a part of a customer. REST: getCustomer, putCustomerID.',
    resolve: (_root, { input }, context) => {
      const ids = idsOf(input, context.defaults);
      return updateRecord(context, {
        ...calls,
        shape: customer,
        ids,
        input,
        load: (fresh) => Customer.readForUpdate(ids, fresh),
        changes: () => toChanges(customer, input.changes),
      });
    },
  },
  writtenPayload(Customer, calls),
);
