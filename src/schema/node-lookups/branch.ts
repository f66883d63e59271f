import { z } from 'zod';
import { validateId } from '../../bank/ids.ts';
import { type Branch, type BranchQuery, branchQuery, getBranches } from '../../contract/branch.ts';
import type { BankIds } from '../../loaders/loaders.ts';
import { builder } from '../builder.ts';
import { connectionTo } from '../connection.ts';
import type { ReadContext } from '../context.ts';
import { findListItem, type ListPosition, listIndex } from '../list-item.ts';
import { defineNodeType, type NodeRef } from '../node-type.ts';

interface BranchIds extends BankIds, ListPosition<BranchQuery> {
  /** Null if the bank gave none: then it is the entry at `index` of the list. */
  readonly branchId: string | null;
}

export type BranchNode = NodeRef<BranchIds, Branch>;

/** The branches of a bank: all, or those that a query asks for. */
export const loadBranches = (
  { bankId, query }: { bankId: string; query: BranchQuery | null },
  { loaders }: ReadContext['session'],
): Promise<Branch[]> => {
  if (query === null) return loaders.branches.load({ bankId });
  const { postBranches, listed } = loaders;
  return postBranches.load({ bankId, query }).then((branches) => {
    listed.branches.add(bankId, branches);
    return branches;
  });
};

/** Branches by bank and branch id. No operation reads a single one: it is looked up in the list. */
export const branchNode = defineNodeType({
  name: 'Branch',
  key: z.union([
    z.tuple([z.string(), z.string()]),
    z.tuple([z.string(), z.null(), listIndex, branchQuery.nullable()]),
  ]),
  toKey: ({ bankId, branchId, index, query }: BranchNode) =>
    branchId === null ? ([bankId, branchId, index, query] as const) : ([bankId, branchId] as const),
  toIds: ([bankId, branchId, index = 0, query = null]): BranchIds => ({
    bankId: validateId('bankId', bankId),
    branchId,
    index,
    query,
  }),
  read: readBranch,
});

async function readBranch(ids: BranchIds, { session }: ReadContext): Promise<Branch> {
  const { bankId, branchId } = ids;
  if (branchId === null) return findListItem(await loadBranches(ids, session), ids, getBranches);
  const { branches, listed } = session.loaders;
  const known = listed.branches.find(bankId, branchId);
  return known ?? findListItem(await branches.load({ bankId }), branchId, getBranches);
}

export const BranchObject = builder.objectRef<BranchNode>('Branch');

export const BranchConnection = connectionTo(BranchObject, {
  list: 'A list of branches.',
  entry: 'A branch and its place in a list.',
});

export const BranchFilter = builder.inputType('BranchFilter', {
  description: 'Which branches: with an id the query body of postBranches.',
  fields: (t) => ({
    id: t.id({
      description:
        'The id to look for. REST `id`; where it is left out, bankql looks for the name in the list of getBranches.',
    }),
    name: t.string({
      description: 'The name to look for. REST `name`; without an id a part of the name, whatever its case.',
    }),
  }),
});
