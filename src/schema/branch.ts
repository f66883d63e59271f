import { branch, getBranches } from '../contract/branch.ts';
import { Bank } from './bank.ts';
import { branchSearch, distanceTo, findBranches } from './branch-search.ts';
import { builder } from './builder.ts';

/**
 * Branches by bank and branch id. No operation reads a single branch: a branch is found in the list. Fields:
 * contract/branch.ts.
 */
export const Branch = builder.bankRef(branch, {
  key: [Bank, 'branchId'],
  plural: 'branches',
  list: { operation: getBranches },
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
    load: findBranches,
    edge: (t) => ({
      distanceKm: t.float({
        description: 'The distance from `near` in kilometres; null without a location.',
        resolve: ({ node, args: { near } }) => distanceTo(near, node),
      }),
    }),
  }),
}));
