import { z } from 'zod';
import { validateId } from '../../bank/ids.ts';
import type { Customer } from '../../contract/customer.ts';
import type { CustomerIds } from '../../loaders/loaders.ts';
import { builder } from '../builder.ts';
import { defineNodeType, type NodeRef } from '../node-type.ts';

export type CustomerNode = NodeRef<CustomerIds, Customer>;

/** Customers by bank and customer id. Read through getCustomer. */
export const customerNode = defineNodeType({
  name: 'Customer',
  key: z.tuple([z.string(), z.string()]),
  toKey: ({ bankId, customerId }: CustomerNode) => [bankId, customerId] as const,
  toIds: ([bankId, customerId]): CustomerIds => ({
    bankId: validateId('bankId', bankId),
    customerId: validateId('customerId', customerId),
  }),
  read: (ids, { session }) => session.loaders.customer.load(ids),
});

export const CustomerObject = builder.objectRef<CustomerNode>('Customer');
