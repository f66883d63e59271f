import { z } from 'zod';
import { isOtherId, validateId } from '../bank/ids.ts';
import { getAccountsScope } from '../contract/account.ts';
import type { Operation } from '../contract/operation.ts';
import type { Field } from '../contract/record.ts';
import { BankqlError, badUserInput } from '../errors.ts';
import { type Selection, withDeferred } from '../executor/selection.ts';
import type { ViewIds } from '../loaders/loaders.ts';
import type { AccountIds } from './account.ts';
import { builder } from './builder.ts';
import type { Context, ReadContext } from './context.ts';
import { fieldExtensions } from './field-extensions.ts';
import { decodeGlobalId, encodeGlobalId, forged, globalIdDescription, globalIdTypes } from './global-id.ts';
import { needsOf } from './link.ts';
import { byContent, findByContent, keyOfEntry, type ListedEntry } from './list-item.ts';

/** Nodes: the objects that clients can read again by their global ids. */

export const NodeInterface = builder.nodeInterfaceRef();

/** Ids, with the record that they identify if it has been read. */
export type NodeRef<Ids, Item> = Ids & { readonly record?: Item | undefined };

/** Ids in a global id, which may name an entry of a list by its content. */
type KeyIds<Ids> = Ids & { readonly contentHash?: string | undefined };

/** The extensions of a field that its parent's ids answer. */
export const answeredByIds = fieldExtensions({ answeredByIds: true });

/** The options of an id field that the path of the record's request answers. */
export const idFromPath = (description: string) =>
  ({ nullable: false, description, extensions: answeredByIds }) as const;

/** How a node type is named, linked to and read. */
interface NodeTypeOptions<Ids extends object, Item, Key extends readonly unknown[]> {
  /** The GraphQL type's name. */
  readonly name: string;
  /** The names of the bank's ids in its key, in their order. */
  readonly bankIds: readonly string[];
  /** It is an entry of a list that is looked up there, and may have no id. */
  readonly isListed?: true;
  /** Reads an entry of a list that its content identifies. Errors: NOT_FOUND if no entry has this content. */
  readonly readByContent?: (
    ids: Ids,
    contentHash: string,
    context: ReadContext,
  ) => Promise<NodeRef<Ids, Item>>;
  /** The schema of the key in a global id; the ids in it are validated, whoever wrote them. */
  readonly key: z.ZodType<Key>;
  /** The key of a linked object, unique within its type. */
  readonly toKey: (linked: NodeRef<Ids, Item>) => Key;
  readonly toIds: (key: Key) => Ids;
  /** Reads the record that the ids identify. Errors: those of the operation behind it. */
  readonly read: (ids: Ids, context: ReadContext, needed?: readonly Field[] | null) => Promise<Item>;
  /** The record's canonical ids, if it can be found by other ids too; by default those that it was found by. */
  readonly idsOfRecord?: (ids: Ids, record: Item) => Ids;
  /** Looks at each record that was read; it must not throw. A look in `read` would cost another promise for each record. */
  readonly onRead?: (ids: Ids, record: Item, context: ReadContext) => void;
}

type Named<Name extends string, Id = string> = { readonly [N in Name]: Id };

/** How the bank's ids identify nodes: their names, in the order of the key. They are segments of paths. */
export const identifiedBy = <Name extends string>(...names: readonly Name[]) => ({
  bankIds: names,
  key: z.array(z.string()).length(names.length),
  toKey(linked: Named<Name>): readonly string[] {
    const key: string[] = [];
    for (const name of names) key.push(linked[name]);
    return key;
  },
  toIds: (key: readonly string[]) =>
    Object.fromEntries(names.map((name, at) => [name, validateId(name, key[at] ?? '')])) as Named<Name>,
});

/** The ids of an entry of a list. Its own is null if the bank gave none, or if its content identifies it. */
export type ListedIds<Parent extends string, Own extends string, Item> = Named<Parent> &
  Named<Own, string | null> &
  ListedEntry<Item>;

interface ListOptions<Parent extends string, Item> {
  /** The contract of an entry. */
  readonly shape: z.ZodObject;
  /** The operation that lists the entries, and the whole list. */
  readonly operation: Operation;
  readonly load: (ids: Named<Parent>, context: ReadContext) => Promise<readonly Item[]>;
  /** The id of an entry in the list. */
  readonly nameOf: (item: Exclude<Item, Error>) => string | null;
  /** Checks an id of an entry that somebody wrote. */
  readonly checkOwn?: (id: string) => string;
}

/**
 * How entries of a list are identified: by the ids of the record that the list belongs to, and their own id; by their content
 * if they have no id, or share it with others.
 */
export function listedBy<Parent extends string, Own extends string, Item extends object>(
  parents: readonly Parent[],
  own: Own,
  { shape, operation, load, nameOf, checkOwn = (id) => id }: ListOptions<Parent, Item>,
) {
  type Ids = ListedIds<Parent, Own, Item>;
  const parent = identifiedBy(...parents);
  const [, ...others] = parents.map(() => z.string());
  return {
    bankIds: [...parents, own],
    isListed: true as const,
    key: z.union([
      z.tuple([z.string(), ...others, z.string()]),
      z.tuple([z.string(), ...others, ...byContent]),
    ]),
    toKey: (linked: NodeRef<Ids, Item>): readonly unknown[] => [
      ...parent.toKey(linked),
      ...keyOfEntry(linked, linked[own], shape, nameOf),
    ],
    toIds(key: readonly unknown[]) {
      const [id, contentHash] = key.slice(parents.length);
      const ids = parent.toIds(key.slice(0, parents.length).map(String));
      // The schema of the key gives its parts these types.
      return (
        typeof id === 'string' ? { ...ids, [own]: checkOwn(id) } : { ...ids, [own]: null, contentHash }
      ) as Ids;
    },
    async readByContent(ids: Ids, contentHash: string, context: ReadContext): Promise<NodeRef<Ids, Item>> {
      const list = await load(ids, context);
      return { ...ids, record: await findByContent(list, contentHash, shape, operation, context) };
    },
  };
}

export type NodeType<Ids extends object, Item> = ReturnType<typeof defineNodeType<Ids, Item, never>>;

export function defineNodeType<Ids extends object, Item, Key extends readonly unknown[]>(
  options: NodeTypeOptions<Ids, Item, Key>,
) {
  type Linked = NodeRef<Ids, Item>;
  const { name, bankIds, isListed, key, toKey, toIds, read, readByContent, idsOfRecord, onRead } = options;
  const needs = needsOf(name);
  const bankIdField = `${name.charAt(0).toLowerCase()}${name.slice(1)}Id`;
  const withReadRecord = (ids: Ids, record: Item, context: ReadContext): Linked => {
    onRead?.(ids, record, context);
    return { ...(idsOfRecord?.(ids, record) ?? ids), record };
  };
  const nodeType = {
    name,
    bankIdField: bankIds.includes(bankIdField) ? bankIdField : null,
    isListed,
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
    idsOf(value: unknown): Ids {
      const parsed = key.safeParse(value);
      // The same key with another order of members, or with extra members, would be a second id of the same node.
      if (!parsed.success || JSON.stringify(parsed.data) !== JSON.stringify(value)) throw forged();
      return toIds(parsed.data);
    },
    /**
     * The linked object, with its record if a selected field needs it; what `onError` returns if it cannot be read.
     * Errors: those of `read`, or of `onError`.
     */
    load<Other = never>(
      ids: KeyIds<Ids>,
      context: Context,
      info: Selection,
      onError?: (error: unknown) => Other,
    ): Linked | Promise<Linked | Other> {
      // Only the record tells the ids of an entry that its content identifies.
      if (ids.contentHash !== undefined && readByContent !== undefined)
        return readByContent(ids, ids.contentHash, context).catch(onError);
      // Ids that only the record tells are the same for every field: deferred ones must not change them.
      const selection = idsOfRecord === undefined ? info : withDeferred(info);
      const { record, parts, prefetch } = needs(selection);
      if (!record) return ids;
      // Deferred fields use the record too.
      const reading = read(ids, context, selection.omitsDeferred === true ? null : parts);
      prefetch(ids, context, info);
      return reading.then((record) => withReadRecord(ids, record, context), onError);
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
 * The account of a record that is seen through it.
 * Errors: BANK_BAD_RESPONSE for an account that the bank listed without an id among others: it could be any account.
 */
export function accountOf({ bankId, accountId, viewId }: AccountIds): ViewIds {
  if (accountId !== null) return { bankId, accountId, viewId };
  throw new BankqlError(
    'BANK_BAD_RESPONSE',
    'The bank listed this account without an id among others: nothing tells which one it is.',
    { operation: getAccountsScope.id },
  );
}

/**
 * Some banks accept other ids in paths (aliases, numbers in another format): a record with another id is the requested one, and
 * counts as drift. `answer` is what the bank answered with.
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

/** Errors: BAD_USER_INPUT if it is not a global id. */
function nodeOf(id: string) {
  const { typename, key } = decodeGlobalId(id);
  const type = globalIdTypes.get(typename);
  if (type === undefined) throw forged();
  if (type === null)
    throw badUserInput(
      `The \`id\` of the type ${typename} is only for the caches of clients: \`node\` cannot read it.`,
    );
  return { typename, type, ids: type.idsOf(key) };
}

/** The node of a global id, with its record if a selected field needs it. Errors: BAD_USER_INPUT; those of its read. */
async function loadNode(id: string, context: Context, info: Selection): Promise<object | null> {
  const { typename, type, ids } = nodeOf(id);
  const node = await type.load(ids, context, info);
  return node && { ...node, __typename: typename };
}

builder.queryField('node', (t) =>
  t.field({
    type: NodeInterface,
    description:
      "A node by its global id. Null for a payment that is not the caller's or no longer kept, otherwise only with an error. Costs the REST call of its type, unless the id contains the values of all selected fields.",
    args: { id: t.arg.id({ required: true, description: 'The global id.' }) },
    resolve: (_root, { id }, context, info) => loadNode(id, context, info),
  }),
);

/** The most ids of all `nodes` fields of an operation together: each invalid one costs an error. */
const maxNodeIds = 100;

/** The number of ids that the `nodes` fields of an operation were asked for so far. */
const nodeIdCounts = new WeakMap<Context, number>();

builder.queryField('nodes', (t) =>
  t.field({
    type: [NodeInterface],
    nullable: { list: false, items: true },
    description:
      'Nodes by their global ids, in the given order. Each is read separately, and is null with an error if that fails. Costs the REST call of each, as `node`.',
    args: { ids: t.arg.idList({ required: true, description: 'The global ids.' }) },
    resolve: (_root, { ids }, context, info) => {
      const count = (nodeIdCounts.get(context) ?? 0) + ids.length;
      nodeIdCounts.set(context, count);
      if (count > maxNodeIds)
        throw badUserInput(
          `The operation asks for ${count} nodes by their ids: ask for at most ${maxNodeIds} at a time.`,
          'ids',
        );
      return ids.map((id) => loadNode(id, context, info));
    },
  }),
);
