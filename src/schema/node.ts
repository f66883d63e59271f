import { badUserInput } from '../errors.ts';
import { keepResultsOf } from '../executor/known-resolvers.ts';
import type { Selection } from '../executor/selection.ts';
import { builder } from './builder.ts';
import type { Context } from './context.ts';
import { decodeGlobalId, forged, globalIdTypes } from './plugin/global-id.ts';

const Node = builder.nodeInterfaceRef();

/** The node of a global id, with its record if a selected field needs it. Errors: BAD_USER_INPUT; those of the read. */
async function loadNode(
  id: string,
  context: Context,
  info: Selection,
  index?: number,
): Promise<object | null> {
  const { typename, key } = decodeGlobalId(id);
  const type = globalIdTypes.get(typename);
  if (type === undefined) throw forged();
  if (type === null)
    throw badUserInput(
      `The \`id\` of the type ${typename} is only for the caches of clients: \`node\` cannot read it.`,
    );
  const node = await type.load(type.idsOf(key), context, info, index);
  return node && keepResultsOf({ ...node, __typename: typename }, node);
}

builder.queryField('node', (t) =>
  t.field({
    type: Node,
    description: "A node by its global id; null for a payment that is not the caller's.",
    args: { id: t.arg.id({ required: true, isGlobalId: true, description: 'The global id.' }) },
    resolve: (_root, { id }, { bankql }, info) => loadNode(id, bankql, info),
  }),
);

/** The maximum number of ids in all `nodes` fields of an operation together, because each invalid id costs an error. */
const maxNodeIds = 100;

/** The number of ids that an operation has requested by `nodes` so far. */
const nodeIdCounts = new WeakMap<Context, number>();

builder.queryField('nodes', (t) =>
  t.field({
    type: [Node],
    nullable: { list: false, items: true },
    description: `Nodes by their global ids, in the given order; at most ${maxNodeIds} in an operation.`,
    args: { ids: t.arg.idList({ required: true, isGlobalId: true, description: 'The global ids.' }) },
    resolve: (_root, { ids }, { bankql }, info) => {
      const before = nodeIdCounts.get(bankql) ?? 0;
      nodeIdCounts.set(bankql, before + ids.length);
      return ids.map((id, index) => {
        const place = before + index;
        if (place < maxNodeIds) return loadNode(id, bankql, info, index);
        return place > maxNodeIds
          ? null
          : Promise.reject(
              badUserInput(
                `The operation asks for more than ${maxNodeIds} nodes by their ids: this one and all that follow are null. Ask for at most ${maxNodeIds} at a time.`,
                'ids',
              ),
            );
      });
    },
  }),
);
