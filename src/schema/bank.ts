import { record } from '../contract/record.ts';
import { builder } from './builder.ts';

/**
 * A bank has only its code: no operation reads a bank's record. Each type that belongs to a bank adds its own field to `Bank`,
 * in that type's file.
 */
const bank = record('Bank', 'A bank; all its data is read through its fields.', {});

export const Bank = builder.bankRef(bank, { key: ['bankId'] });

builder.bankNode(Bank, {
  omit: ['version'],
  fields: (t) => ({
    bankId: t.exposeID('bankId', {
      nullable: false,
      description: "The bank's Swift code (BIC).",
    }),
  }),
});

builder.queryField('bank', (t) =>
  t.link(Bank, {
    description: 'A bank by its code; bankql does not check whether there is such a bank.',
    args: { bankId: t.arg.id({ description: "The bank's code; the configured one if it is left out." }) },
  }),
);
