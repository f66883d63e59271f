import { ofSource } from '../executor/known-resolvers.ts';
import type { BankIds } from '../loaders/loaders.ts';
import { builder, type MadeField, type ObjectFields } from './builder.ts';
import { bankIdOr } from './context.ts';
import { link } from './plugin/link.ts';
import { defineNodeType, identifiedBy, idFromPath, NodeInterface } from './plugin/node.ts';

/** Banks by their code. A bank has no record to read. The files of the records add the fields that lead to them. */
export const bankNode = defineNodeType({
  name: 'Bank',
  ...identifiedBy('bankId'),
  read: async () => ({}),
});

export const BankObject = bankNode.object;

BankObject.implement({
  description: 'A bank. All its data is read through it. Costs no REST call.',
  interfaces: [NodeInterface],
  fields: (t) => ({
    id: t.id(bankNode.idField),
    bankId: t.exposeID('bankId', idFromPath("The bank's Swift code (BIC). Costs no REST call.")),
  }),
});

builder.queryField('bank', (t) =>
  link(t, bankNode, {
    description:
      'A bank by its Swift bank code; the configured bank if none is given. Costs no REST call: bankql does not ask whether there is such a bank, and what is read of another is NOT_FOUND.',
    args: { bankId: t.arg.id({ description: "The bank's code; the configured one if it is left out." }) },
    ids: (_root, { bankId }, { defaults }) => ({ bankId: bankIdOr(defaults, bankId) }),
  }),
);

/** The fields of a record for its bank; their values are in the path of the record's request. */
export const bankFields = <Parent extends BankIds>(
  t: ObjectFields<Parent>,
  noun: string,
): Record<'bankId' | 'bank', MadeField> => ({
  bankId: t.id({
    ...idFromPath('The code of the bank through which it is read. Costs no REST call.'),
    resolve: ofSource(({ bankId }) => bankId),
  }),
  bank: link(t, bankNode, {
    description: `The bank through which the ${noun} is read. Costs no REST call.`,
    isNonNull: true,
    ids: ({ bankId }) => ({ bankId }),
  }),
});
