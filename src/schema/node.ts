import { badUserInput } from '../errors.ts';
import type { Selection } from '../executor/selection.ts';
import { builder } from './builder.ts';
import type { Context } from './context.ts';
import { type EstimateContext, fieldExtensions, type KnownObject, nullOnError } from './field-extensions.ts';
import { decodeGlobalId, forged } from './global-id.ts';
import { metadataNode } from './metadata.ts';
import { accountNode } from './node-lookups/account.ts';
import { bankNode } from './node-lookups/bank.ts';
import { branchNode } from './node-lookups/branch.ts';
import { customerNode } from './node-lookups/customer.ts';
import { otherAccountNode } from './node-lookups/other-account.ts';
import { productNode } from './node-lookups/product.ts';
import { transactionNode } from './node-lookups/transaction.ts';
import { transactionRequestNode } from './node-lookups/transaction-request.ts';
import type { NodeType } from './node-type.ts';
import { paymentNode } from './payment-node.ts';

interface NodeResolver {
  /** Reads the node of a global id's key, and returns it with its type. */
  readonly load: (key: unknown, context: Context, info: Selection) => Promise<object | null>;
  readonly estimate: (key: unknown, context: EstimateContext) => KnownObject;
}

const byName = <Ids extends object, Item>(nodeType: NodeType<Ids, Item>): [string, NodeResolver] => [
  nodeType.name,
  {
    load: async (key, context, info) => ({
      ...(await nodeType.load(nodeType.idsOf(key), context, info)),
      __typename: nodeType.name,
    }),
    estimate: (key, context) => nodeType.estimate(nodeType.idsOf(key), context),
  },
];

const nodeResolvers = new Map<string, NodeResolver>([
  byName(bankNode),
  byName(customerNode),
  byName(accountNode),
  byName(otherAccountNode),
  byName(transactionNode),
  byName(transactionRequestNode),
  byName(productNode),
  byName(branchNode),
  byName(metadataNode),
  // The record is bankql's own, not the bank's.
  ['Payment', paymentNode],
]);

/** Errors: BAD_USER_INPUT if it is not a global id. */
function typeAndKey(id: string): { readonly type: NodeResolver; readonly key: unknown } {
  const { typename, key } = decodeGlobalId(id);
  const type = nodeResolvers.get(typename);
  if (type === undefined) throw forged();
  return { type, key };
}

/** The node of a global id, with its record if a selected field needs it. Errors: BAD_USER_INPUT; those of its read. */
export async function loadNode(id: string, context: Context, info: Selection): Promise<object | null> {
  const { type, key } = typeAndKey(id);
  return type.load(key, context, info);
}

/** The same as plans use it. Errors: BAD_USER_INPUT. */
export function estimateNode(id: string, context: EstimateContext): KnownObject {
  const { type, key } = typeAndKey(id);
  return type.estimate(key, context);
}

builder.queryField('node', (t) =>
  t.field({
    type: builder.nodeInterfaceRef(),
    nullable: true,
    description:
      'A node by its global id. Costs the REST call of its type, where the id does not answer what is selected.',
    args: { id: t.arg.id({ required: true, description: 'An `id` as it was answered.' }) },
    extensions: fieldExtensions({
      estimate: (_root: object, { id }: { id: string }, context: EstimateContext) =>
        estimateNode(id, context),
    }),
    resolve: (_root, { id }, context, info) => loadNode(id, context, info),
  }),
);

/** The most ids of `nodes`, and of all `nodes` fields of an operation together: each invalid one costs an error. */
export const maxNodeIds = 100;

builder.queryField('nodes', (t) =>
  t.field({
    type: [builder.nodeInterfaceRef()],
    nullable: { list: false, items: true },
    description: 'Nodes by their global ids, in that order; each is read, and fails, on its own.',
    args: { ids: t.arg.idList({ required: true, description: 'Each an `id` as it was answered.' }) },
    extensions: fieldExtensions({
      idCount: ({ ids }: { ids: readonly string[] }) => ids.length,
      estimate: (_root: object, { ids }: { ids: readonly string[] }, context: EstimateContext) =>
        ids.length > maxNodeIds
          ? null
          : ids.flatMap((id) => nullOnError(() => estimateNode(id, context)) ?? []),
    }),
    resolve: (_root, { ids }, context, info) => {
      if (ids.length > maxNodeIds)
        throw badUserInput(`ids has ${ids.length} entries: ask for at most ${maxNodeIds} nodes at a time.`);
      return ids.map((id) => loadNode(id, context, info));
    },
  }),
);
