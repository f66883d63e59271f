import { z } from 'zod';
import { validateId } from '../../bank/ids.ts';
import type { BankIds } from '../../loaders/loaders.ts';
import { builder } from '../builder.ts';
import { defineNodeType } from '../node-type.ts';

/** Banks by their code. A bank has no record to read. */
export const bankNode = defineNodeType({
  name: 'Bank',
  key: z.tuple([z.string()]),
  toKey: ({ bankId }: BankIds) => [bankId] as const,
  toIds: ([bankId]): BankIds => ({ bankId: validateId('bankId', bankId) }),
  read: async () => ({}),
});

export const BankObject = builder.objectRef<BankIds>('Bank');
