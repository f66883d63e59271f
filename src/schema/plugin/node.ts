import { isOtherId, validateId } from '../../bank/ids.ts';
import type { Operation } from '../../contract/operation.ts';
import type { Field } from '../../contract/record.ts';
import { badUserInput } from '../../errors.ts';
import { type EarlyResults, earlyResultsOf, keepEarlyResults } from '../../executor/known-resolvers.ts';
import { type Selection, withDeferred } from '../../executor/selection.ts';
import { builder } from '../builder.ts';
import type { Context, ReadContext } from '../context.ts';
import { answeredByIds } from './field-extensions.ts';
import {
  decodeGlobalId,
  encodeGlobalId,
  forged,
  globalIdDescription,
  globalIdTypes,
  textOf,
} from './global-id.ts';
import { needsOf } from './link.ts';

/** Nodes: the objects that clients can read again by their global ids. */

export const NodeInterface = builder.nodeInterfaceRef();

/** Ids, with the record that they identify if it has been read. */
export type NodeRef<Ids, Item> = Ids & { readonly record?: Item | undefined };

/** The options of an id field whose value is in the path of the record's request. */
export const idFromPath = (description: string) =>
  ({ nullable: false, description, extensions: answeredByIds }) as const;

/** How a node type is named, linked to and read. */
interface NodeTypeOptions<Ids extends object, Item> {
  /** The GraphQL type's name. */
  readonly name: string;
  /** The field that has the bank's id; null if none has it. */
  readonly bankIdField: string | null;
  /** The key of a linked object in its global id, unique within its type. */
  readonly toKey: (linked: NodeRef<Ids, Item>) => readonly unknown[];
  /** The ids in a key, which anybody may have written. Errors: BAD_USER_INPUT. */
  readonly toIds: (key: readonly unknown[]) => Ids;
  /** Reads the record that the ids identify. Errors: those of the operation behind it. */
  readonly read: (ids: Ids, context: ReadContext, needed?: readonly Field[] | null) => Promise<Item>;
  /** Reads an entry of a list that its content identifies. Errors: NOT_FOUND if no entry has this content. */
  readonly readByContent?: (
    ids: Ids,
    contentHash: string,
    context: ReadContext,
  ) => Promise<NodeRef<Ids, Item>>;
  /** The record's canonical ids, if other ids find it too; the same object if they are the ids that found it. */
  readonly idsOfRecord?: (ids: Ids, record: Item) => Ids;
  /** Called with each record after it is read. Must not throw. (A callback is cheaper than a `.then` in `read`.) */
  readonly onRead?: (ids: Ids, record: Item, context: ReadContext) => void;
}

export type Named<Name extends string, Id = string> = { readonly [N in Name]: Id };

/** How the bank's ids identify nodes: their names, in the order of the key. They are segments of paths. */
export const identifiedBy = <Name extends string>(...names: readonly Name[]) => ({
  bankIdField: names.at(-1) ?? null,
  toKey: (linked: Named<Name>): readonly string[] => names.map((name) => linked[name]),
  toIds: (key: readonly unknown[]) =>
    Object.fromEntries(names.map((name, at) => [name, validateId(name, textOf(key[at]))])) as Named<Name>,
});

export interface LoadOptions<Other> {
  /** Gives the result if the record cannot be read. */
  readonly onError?: (error: unknown) => Other;
  /** The position of the object, if the selection is that of a list. */
  readonly index?: number;
}

export type NodeType<Ids extends object, Item> = ReturnType<typeof defineNodeType<Ids, Item>>;

export function defineNodeType<Ids extends object, Item>({
  name,
  bankIdField,
  toKey,
  toIds,
  read,
  readByContent,
  idsOfRecord,
  onRead,
}: NodeTypeOptions<Ids, Item>) {
  type Linked = NodeRef<Ids, Item>;
  const needs = needsOf(name);
  const withReadRecord = (
    ids: Ids,
    record: Item,
    context: ReadContext,
    early: EarlyResults | null = null,
  ): Linked => {
    onRead?.(ids, record, context);
    const own = idsOfRecord?.(ids, record) ?? ids;
    // What other ids led to is resolved again.
    return keepEarlyResults({ ...own, record }, own === ids ? early : null);
  };
  const nodeType = {
    name,
    bankIdField,
    read,
    /** The GraphQL type, for its file to implement. */
    object: builder.objectRef<Linked>(name),
    /** The options of the field `id`. */
    idField: {
      nullable: false as const,
      description: globalIdDescription,
      extensions: answeredByIds,
      resolve: (linked: Linked) => encodeGlobalId(name, JSON.stringify(toKey(linked))),
    },
    idsOf(key: readonly unknown[]): Ids {
      const ids = toIds(key);
      // Another form of the same key would be a second id of the same node.
      if (JSON.stringify(toKey(ids)) !== JSON.stringify(key)) throw forged();
      return ids;
    },
    /** The linked object, with its record if a selected field needs it. Errors: those of `read`, or of `onError`. */
    load<Other = never>(
      ids: Ids & { readonly contentHash?: string | undefined },
      context: Context,
      info: Selection,
      { onError, index }: LoadOptions<Other> = {},
    ): Linked | Promise<Linked | Other> {
      // The ids of an entry that is identified by its content are only in the record.
      if (ids.contentHash !== undefined && readByContent !== undefined)
        return readByContent(ids, ids.contentHash, context).catch(onError);
      // If the ids come from the record, deferred fields count too: every field must see the same ids.
      const selection = idsOfRecord === undefined ? info : withDeferred(info);
      const { record, parts, resolveEarly } = needs(selection);
      if (!record) return ids;
      // Deferred fields use the record too.
      const reading = read(ids, context, selection.omitsDeferred === true ? null : parts);
      const early = resolveEarly(ids, context, info, index);
      return reading.then((record) => withReadRecord(ids, record, context, early), onError);
    },
    /** The linked object with its record, which is read if it has not been. Errors: those of `read`. */
    withRecord: (linked: Linked, context: ReadContext): Linked | Promise<Linked> =>
      linked.record === undefined
        ? read(linked, context).then((record) => withReadRecord(linked, record, context))
        : linked,
  };
  globalIdTypes.set(name, nodeType);
  return nodeType;
}

/**
 * Some banks accept other ids in paths (aliases, numbers in another format): a record with another id is the requested one, and
 * counts as drift. `answer` is the bank's answer.
 */
export function noteOtherId(
  session: ReadContext['session'],
  operation: Operation,
  asked: string,
  id: unknown,
  answer: object,
): void {
  if (isOtherId(id, asked)) session.noteDrift({ operation: operation.id, field: 'id' }, answer);
}

/** The node of a global id, with its record if a selected field needs it. Errors: BAD_USER_INPUT; those of its read. */
async function loadNode(
  id: string,
  context: Context,
  info: Selection,
  options?: LoadOptions<never>,
): Promise<object | null> {
  const { typename, key } = decodeGlobalId(id);
  const type = globalIdTypes.get(typename);
  if (type === undefined) throw forged();
  if (type === null)
    throw badUserInput(
      `The \`id\` of the type ${typename} is only for the caches of clients: \`node\` cannot read it.`,
    );
  const node = await type.load(type.idsOf(key), context, info, options);
  return node && keepEarlyResults({ ...node, __typename: typename }, earlyResultsOf(node));
}

builder.queryField('node', (t) =>
  t.field({
    type: NodeInterface,
    description:
      "A node by its global id. Null for a payment that is not the caller's or no longer kept, otherwise only with an error. Costs the REST call of its type, unless the id has all selected values.",
    args: { id: t.arg.id({ required: true, description: 'The global id.' }) },
    resolve: (_root, { id }, context, info) => loadNode(id, context, info),
  }),
);

/** The most ids of all `nodes` fields of an operation together: each invalid one costs an error. */
const maxNodeIds = 100;

/** The number of ids that an operation has requested by `nodes` so far. */
const nodeIdCounts = new WeakMap<Context, number>();

builder.queryField('nodes', (t) =>
  t.field({
    type: [NodeInterface],
    nullable: { list: false, items: true },
    description:
      'Nodes by their global ids, in the given order; one that cannot be read is null with an error. Costs the REST call of each, as `node`.',
    args: { ids: t.arg.idList({ required: true, description: 'The global ids.' }) },
    resolve: (_root, { ids }, context, info) => {
      const count = (nodeIdCounts.get(context) ?? 0) + ids.length;
      nodeIdCounts.set(context, count);
      if (count > maxNodeIds)
        throw badUserInput(
          `The operation asks for ${count} nodes by their ids: ask for at most ${maxNodeIds} at a time.`,
          'ids',
        );
      return ids.map((id, index) => loadNode(id, context, info, { index }));
    },
  }),
);
