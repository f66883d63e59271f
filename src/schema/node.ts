import { badUserInput } from '../bank/error.ts';
import type { Selection } from '../executor/selection.ts';
import { accountLink } from './account.ts';
import { bankLink } from './bank.ts';
import { branchLink } from './branch.ts';
import { builder } from './builder.ts';
import type { Context } from './context.ts';
import { customerLink } from './customer.ts';
import { attempt, facts, type Lead, type Planning } from './field-facts.ts';
import { decodeGlobalId, forged } from './global-id.ts';
import type { Link } from './link.ts';
import { metadataLink } from './metadata.ts';
import { otherAccountLink } from './other-account.ts';
import { productLink } from './product.ts';
import { transactionLink } from './transaction.ts';

interface NodeType {
  /** Follows a global id's key to its node, and says of which type it is. */
  readonly follow: (key: unknown, context: Context, info: Selection) => Promise<object>;
  readonly leadTo: (key: unknown, planning: Planning) => Lead;
}

const byName = <Ids extends object, Item>(link: Link<Ids, Item>): [string, NodeType] => [
  link.name,
  {
    follow: async (key, context, info) => ({
      ...(await link.follow(link.idsOf(key), context, info)),
      __typename: link.name,
    }),
    leadTo: (key, planning) => link.leadTo(link.idsOf(key), planning),
  },
];

const nodeTypes = new Map([
  byName(bankLink),
  byName(customerLink),
  byName(accountLink),
  byName(otherAccountLink),
  byName(transactionLink),
  byName(productLink),
  byName(branchLink),
  byName(metadataLink),
]);

/** Errors: BAD_USER_INPUT where it is no global id. */
function typeAndKey(id: string): { readonly type: NodeType; readonly key: unknown } {
  const { typename, key } = decodeGlobalId(id);
  const type = nodeTypes.get(typename);
  if (type === undefined) throw forged();
  return { type, key };
}

async function nodeOf(id: string, context: Context, info: Selection): Promise<object> {
  const { type, key } = typeAndKey(id);
  return type.follow(key, context, info);
}

function leadTo(id: string, planning: Planning): Lead {
  const { type, key } = typeAndKey(id);
  return type.leadTo(key, planning);
}

builder.queryField('node', (t) =>
  t.field({
    type: builder.nodeInterfaceRef(),
    nullable: true,
    description:
      'A node by its global id. Costs the REST call of its type, where the id does not answer what is selected.',
    args: { id: t.arg.id({ required: true, description: 'An `id` as it was answered.' }) },
    extensions: facts({
      plan: (_root: object, { id }: { id: string }, planning: Planning) => leadTo(id, planning),
    }),
    resolve: (_root, { id }, context, info) => nodeOf(id, context, info),
  }),
);

/** How many ids `nodes` takes, and all `nodes` of an operation together: each costs an error where it is none. */
export const maxNodeIds = 100;

builder.queryField('nodes', (t) =>
  t.field({
    type: [builder.nodeInterfaceRef()],
    nullable: { list: false, items: true },
    description: 'Nodes by their global ids, in that order; each is read, and fails, on its own.',
    args: { ids: t.arg.idList({ required: true, description: 'Each an `id` as it was answered.' }) },
    extensions: facts({
      idCount: ({ ids }: { ids: readonly string[] }) => ids.length,
      plan: (_root: object, { ids }: { ids: readonly string[] }, planning: Planning) =>
        ids.length > maxNodeIds ? null : ids.flatMap((id) => attempt(() => leadTo(id, planning)) ?? []),
    }),
    resolve: (_root, { ids }, context, info) => {
      if (ids.length > maxNodeIds) throw badUserInput(`Ask for at most ${maxNodeIds} nodes at a time.`);
      return ids.map((id) => nodeOf(id, context, info));
    },
  }),
);
