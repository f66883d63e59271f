import { type Branch, type BranchQuery, branch, getBranches } from '../contract/branch.ts';
import type { BankIds } from '../loaders/loaders.ts';
import { pathFields } from './bank.ts';
import {
  type BranchSearch,
  branchQueryOf,
  branchSearch,
  branchSelection,
  CoordinatesInput,
  checkCoordinates,
  coordinatesOf,
  distanceKm,
} from './branch-search.ts';
import type { ReadContext } from './context.ts';
import { implementNode } from './fields.ts';
import { recordOf } from './link.ts';
import { checkNotRepeated, findListItem, itemId } from './list-item.ts';
import { defineNodeType, type ListedIds, listedBy, type NodeRef } from './node.ts';
import { versionField, versionOf } from './record-version.ts';
import { connectionFromIds, connectionTo, pageArguments } from './relay-connection.ts';

type BranchIds = ListedIds<'bankId', 'branchId', Branch>;

type BranchNode = NodeRef<BranchIds, Branch>;

/** The branches of a bank: all, or those that a query asks for. */
const loadBranches = (
  { bankId, query }: { bankId: string; query: BranchQuery | null },
  { loaders }: ReadContext['session'],
): Promise<Branch[]> =>
  query === null ? loaders.branches.load({ bankId }) : loaders.postBranches.load({ bankId, query });

const loadAll = ({ bankId }: BankIds, { session }: ReadContext) => session.loaders.branches.load({ bankId });

/** Branches by bank and branch id. No operation reads a single one: it is looked up in the list. */
export const branchNode = defineNodeType({
  name: 'Branch',
  ...listedBy(['bankId'], 'branchId', {
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

export const branchVersion = (record: Branch) => versionOf(branch, record);

/** The field of a bank that lists them. */
export const branches = {
  description:
    'Branches of the bank. REST: getBranches; with `filter`, postBranches. bankql searches that list for all other arguments.',
  args: { ...pageArguments, ...branchSearch },
  ...connectionFromIds(
    connectionTo(branchNode.object, 'branches', 'A branch'),
    ({ bankId }: BankIds, args: BranchSearch, context) => {
      const select = branchSelection(args);
      const listed = loadBranches({ bankId, query: branchQueryOf(args) }, context.session);
      return select === null ? listed : listed.then((list) => select(list, context.lists));
    },
    (list, { bankId }) =>
      (record): BranchNode => ({ bankId, branchId: itemId(record), list, record }),
  ),
};

implementNode(branchNode, branch, (t) => ({
  ...pathFields(t, 'branch'),
  version: t.string(versionField(branchVersion)),
  distanceKm: t.float({
    nullable: true,
    description:
      'The distance from a place in a straight line, in kilometres. Null if the branch has no location.',
    args: {
      from: t.arg({
        type: CoordinatesInput,
        required: true,
        description: 'Where the distance is measured from.',
      }),
    },
    resolve: (node, { from }) => {
      checkCoordinates('from', from);
      const to = coordinatesOf(recordOf(node));
      return to && distanceKm(from, to);
    },
  }),
}));
