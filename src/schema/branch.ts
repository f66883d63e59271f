import type { InputShapeFromFields } from '@pothos/core';
import { unwrap } from '../bank/answer.ts';
import { type Branch as BranchRecord, branch, getBranches } from '../contract/branch.ts';
import type { BankIds } from '../loaders/loaders.ts';
import { Bank } from './bank.ts';
import { branchQueryOf, branchSearch, branchSelection, distanceTo } from './branch-search.ts';
import { builder } from './builder.ts';
import type { ReadContext } from './context.ts';

/** Branches by bank and branch id. No operation reads a single branch: it is found in the list. */
export const Branch = builder.bankRef(branch, {
  key: [Bank, 'branchId'],
  plural: 'branches',
  list: {
    operation: getBranches,
    load: ({ bankId }, { session }) => session.loaders.branches.load({ bankId }),
  },
});

builder.bankNode(Branch);

builder.objectFields(Bank, (t) => ({
  branch: t.link(Branch, {
    description: 'One branch of the bank.',
    args: { branchId: t.arg.id({ required: true, description: "The branch's id in the list." }) },
  }),
  branches: t.bankList(Branch, {
    description: 'Branches of the bank.',
    args: branchSearch,
    load: loadBranches,
    edge: (t) => ({
      distanceKm: t.float({
        description: 'The distance from `near` in kilometres; null without a location.',
        resolve: ({ node, args: { near } }) => (near ? distanceTo(near, unwrap(node).record) : null),
      }),
    }),
  }),
}));

/** The branches that match a search. Errors: BAD_USER_INPUT. */
function loadBranches(
  { bankId }: BankIds,
  args: InputShapeFromFields<typeof branchSearch>,
  { session, lists }: ReadContext,
): Promise<readonly BranchRecord[]> {
  const select = branchSelection(args);
  const query = branchQueryOf(args);
  const { branches, postBranches } = session.loaders;
  const listed = query === null ? branches.load({ bankId }) : postBranches.load({ bankId, query });
  return select === null ? listed : listed.then((list) => select(list, lists));
}
