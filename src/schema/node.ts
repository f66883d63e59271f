import { isObjectType } from 'graphql';
import { z } from 'zod';
import { isOtherId, validateId } from '../bank/ids.ts';
import { unwrap } from '../bank/response.ts';
import { getAccountsScope } from '../contract/account.ts';
import type { Operation } from '../contract/operation.ts';
import type { Field } from '../contract/record.ts';
import { BankqlError, badUserInput } from '../errors.ts';
import {
  argumentsOf,
  type SelectedField,
  type Selection,
  selectedFields,
  subselectionOf,
  withDeferred,
} from '../executor/selection.ts';
import { getOrMake } from '../get-or-make.ts';
import type { ViewIds } from '../loaders/loaders.ts';
import type { AccountIds } from './account.ts';
import { builder } from './builder.ts';
import type { Context, ReadContext } from './context.ts';
import {
  type FieldExtensions,
  fieldExtensions,
  fieldExtensionsOf,
  startPrefetch,
} from './field-extensions.ts';
import { decodeGlobalId, encodeGlobalId, forged, globalIdDescription, globalIdTypes } from './global-id.ts';
import { byContent, findByContent, keyOfEntry, type ListedEntry, mapListItem } from './list-item.ts';

/**
 * Links between records.
 *
 * An object that a link leads to knows the ids that identify it; its record comes from the bank. The record is read
 * only if the operation selects a field that the ids cannot answer, so that `owners { customerId }` and
 * `account { otherAccounts { … } }` make no call for the customer or the account. While the record is being read,
 * fields that need only the ids are prefetched, so that independent calls are made at the same time.
 */

export const NodeInterface = builder.interfaceRef<object>('Node').implement({
  description: 'Whatever can be read again by its global id.',
  fields: (t) => ({
    id: t.id({
      nullable: false,
      description: globalIdDescription,
      resolve() {
        throw new Error('a node type has no field `id`');
      },
    }),
  }),
});

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
  const stepsOf = createSteps(name);
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
      const { needsRecord, needed, prefetches } = stepsOf(selection);
      if (!needsRecord) return ids;
      // Deferred fields use the record too.
      const reading = read(ids, context, selection.omitsDeferred === true ? null : needed);
      for (const { prefetch, selected } of prefetches) {
        if (!context.session.canPrefetch) break;
        const below = subselectionOf(selected, info);
        startPrefetch(() =>
          prefetch(ids as never, argumentsOf(selected, info) as never, context as never, below),
        );
      }
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

/** The requirements of following a link, which depend on the fields that are selected on the linked object. */
interface Steps {
  /** Whether a selected field needs more than the ids. */
  readonly needsRecord: boolean;
  /** The parts of the record that the selected fields need; null if one of them may need all. */
  readonly needed: readonly Field[] | null;
  /** The prefetches to start while the record is being read. */
  readonly prefetches: readonly {
    readonly prefetch: NonNullable<FieldExtensions['prefetch']>;
    readonly selected: SelectedField;
  }[];
}

/** The steps of a link to this type, computed once for a prepared selection. */
function createSteps(name: string): (info: Selection) => Steps {
  const known = new WeakMap<object, Steps>();
  const make = (info: Selection): Steps => {
    const type = info.schema.getType(name);
    if (!isObjectType(type)) throw new Error(`${name} is no object type of the schema`);
    const fields = selectedFields(info, type);
    const needing = fields.map(({ field }) => fieldExtensionsOf(field)).filter((each) => !each.answeredByIds);
    const needed = needing.flatMap(({ shows = [] }) => shows);
    return {
      needsRecord: needing.length > 0,
      needed: needed.length === needing.length ? needed : null,
      prefetches: fields.flatMap((selected) => {
        const { prefetch } = fieldExtensionsOf(selected.field);
        return prefetch === undefined ? [] : [{ prefetch, selected }];
      }),
    };
  };
  return (info) =>
    info.details === undefined ? make(info) : getOrMake(known, info.details, () => make(info));
}

/** The record of a linked object, for a selected field that needs it. */
export function recordOf<Item>(linked: { readonly record?: Item | undefined }): Item {
  if (linked.record === undefined) throw new Error('A field needs a record that its link did not read');
  return linked.record;
}

/**
 * A field that leads from a parent's ids to another object, or to null. Spread it into a Pothos field inside `fields`: it
 * provides the type, `resolve`, and the extensions that links use.
 */
export function nodeFromIds<Ids extends object, Item, Parent, Args>(
  nodeType: NodeType<Ids, Item>,
  ids: (parent: Parent, args: Args, context: ReadContext) => NoInfer<Ids>,
) {
  const resolve = (parent: Parent, args: Args, context: Context, info: Selection) =>
    nodeType.load(ids(parent, args, context), context, info);
  return {
    type: nodeType.object,
    nullable: true as const,
    resolve,
    extensions: fieldExtensions({ answeredByIds: true, prefetch: resolve }),
  };
}

/** Passes on the errors of a list's entries, but the operation's limit of calls for one of them only: the others are null. */
function reportLimitOnce() {
  let isReported = false;
  return (error: unknown): null => {
    const isLimit = error instanceof BankqlError && error.code === 'CALL_BUDGET_EXCEEDED';
    if (!isLimit || !isReported) {
      isReported ||= isLimit;
      throw error;
    }
    return null;
  };
}

/** A field that leads from a parent's record to another object, or to null if the record names none. */
export function nodeFromRecord<Ids extends object, Item, Parent, Args = object>(
  nodeType: NodeType<Ids, Item>,
  /** The ids, with the record if the parent's record contains it. */
  ids: (parent: Parent, args: Args, context: ReadContext) => NodeRef<NoInfer<Ids>, NoInfer<Item>> | null,
) {
  const resolve = (parent: Parent, args: Args, context: Context, info: Selection) => {
    const named = ids(parent, args, context);
    return named === null || named.record !== undefined ? named : nodeType.load(named, context, info);
  };
  return { type: nodeType.object, nullable: true as const, resolve };
}

/**
 * A field that leads from a list in a parent's record to an object for each entry; each is read, and can fail,
 * separately. If `toIds` throws, the error is that of the entry. If the operation may not make that many calls, one entry
 * has the error, and the others that were not read are null. `shows`: the only part of the parent's record that it needs.
 */
export function nodesFromRecord<Ids extends object, Item, Parent, Args = object>(
  nodeType: NodeType<Ids, Item>,
  entries: (parent: Parent, args: Args) => readonly string[] | null | undefined,
  toIds: (parent: Parent, entry: string) => NoInfer<Ids>,
  shows?: Field,
) {
  const resolve = (parent: Parent, args: Args, context: Context, info: Selection) => {
    const named = unwrap(entries(parent, args));
    if (!named) return named;
    const onError = reportLimitOnce();
    const load = (entry: string) => nodeType.load(toIds(parent, entry), context, info, onError);
    return named.map((entry, index) => mapListItem(entry, index, load));
  };
  return {
    type: [nodeType.object] as [typeof nodeType.object],
    nullable: { list: true as const, items: true as const },
    resolve,
    extensions: fieldExtensions(shows ? { shows } : {}),
  };
}

/** The argument of links to accounts that may be read through another view. */
export interface ViewArgument {
  readonly viewId?: string | null | undefined;
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

/** Errors: BAD_USER_INPUT if one of them is not a valid id. */
export const validateViewIds = (bankId: string, accountId: string, viewId: string): ViewIds => ({
  bankId: validateId('bankId', bankId),
  accountId: validateId('accountId', accountId),
  viewId: validateId('viewId', viewId),
});

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
    nullable: true,
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
