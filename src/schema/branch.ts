import { type Branch, branch, getBranches } from '../contract/branch.ts';
import type { BankIds } from '../loaders/loaders.ts';
import { BankObject, bankFields } from './bank.ts';
import {
  branchQueryOf,
  branchSearch,
  branchSelection,
  CoordinatesInput,
  checkCoordinates,
  distanceTo,
} from './branch-search.ts';
import { builder } from './builder.ts';
import type { ReadContext } from './context.ts';
import { implementNode } from './plugin/fields.ts';
import { notGlobalId } from './plugin/global-id.ts';
import { link, recordOf } from './plugin/link.ts';
import { checkNotRepeated, findListItem, itemId, type ListedIds, listedBy } from './plugin/list-item.ts';
import { defineNodeType, identifiedBy } from './plugin/node.ts';
import { connectionTo, listField } from './plugin/relay-connection.ts';
import { versionField } from './record-version.ts';

type BranchIds = ListedIds<BankIds, 'branchId', Branch>;

const loadAll = ({ bankId }: BankIds, { session }: ReadContext) => session.loaders.branches.load({ bankId });

/** Branches by bank and branch id. No operation reads a single one: it is looked up in the list. */
export const branchNode = defineNodeType({
  name: 'Branch',
  ...listedBy(identifiedBy('bankId'), 'branchId', {
    shape: branch,
    operation: getBranches,
    load: loadAll,
    nameOf: itemId,
  }),
  read: async (ids: BranchIds, context) =>
    findListItem(await loadAll(ids, context), String(ids.branchId), getBranches),
});

/** The one branch with an id. Errors: BANK_BAD_RESPONSE if there are several. */
export async function readBranchForUpdate(ids: BranchIds, context: ReadContext): Promise<Branch> {
  const branchId = String(ids.branchId);
  const list = await loadAll(ids, context);
  checkNotRepeated(list, branchId, getBranches, 'branches');
  return findListItem(list, branchId, getBranches);
}

implementNode(branchNode, branch, (t) => ({
  ...bankFields(t, 'branch'),
  version: t.string(versionField(branch)),
  distanceKm: t.float({
    description: 'In a straight line, in kilometres. Null if the branch has no location.',
    args: {
      from: t.arg({
        type: CoordinatesInput,
        required: true,
        description: 'Where the distance is measured from.',
      }),
    },
    resolve: (node, { from }) => {
      checkCoordinates('from', from);
      return distanceTo(from, recordOf(node));
    },
  }),
}));

const BranchConnection = connectionTo(branchNode.object, 'branches');

builder.objectFields(BankObject, (t) => ({
  branch: link(t, branchNode, {
    description: 'One branch, found in getBranches. REST: getBranches.',
    args: { branchId: t.arg.id({ required: true, description: "The branch's id in the list." }) },
    ids: ({ bankId }, { branchId }) => ({ bankId, branchId: notGlobalId('branchId', branchId) }),
  }),
  branches: listField(t, BranchConnection, {
    description: 'Branches of the bank. REST: getBranches; with `filter`, postBranches.',
    args: branchSearch,
    load({ bankId }, args, { session, lists }) {
      const select = branchSelection(args);
      const query = branchQueryOf(args);
      const { branches, postBranches } = session.loaders;
      const listed = query === null ? branches.load({ bankId }) : postBranches.load({ bankId, query });
      return select === null ? listed : listed.then((list) => select(list, lists));
    },
    nodesIn:
      (list, { bankId }) =>
      (record) => ({ bankId, branchId: itemId(record), list, record }),
  }),
}));
