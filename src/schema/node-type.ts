import { isObjectType } from 'graphql';
import type { z } from 'zod';
import { unwrap } from '../bank/response.ts';
import {
  argumentsOf,
  type SelectedField,
  type Selection,
  selectedFields,
  subselectionOf,
  withDeferred,
} from '../executor/selection.ts';
import type { Context, ReadContext } from './context.ts';
import {
  type EstimateContext,
  type FieldExtensions,
  fieldExtensions,
  fieldExtensionsOf,
  type KnownObject,
  startPrefetch,
  unknownRecord,
} from './field-extensions.ts';
import { encodeGlobalId, forged, globalIdDescription, globalIdTypes } from './global-id.ts';
import { mapListItems } from './list-item.ts';

/**
 * Links between records.
 *
 * An object that a link leads to knows the ids that identify it; its record comes from the bank. The record is read
 * only if the operation selects a field that the ids cannot answer, so that `owners { customerId }` and
 * `account { otherAccounts { … } }` make no call for the customer or the account. While the record is being read,
 * fields that need only the ids are prefetched, so that independent calls are made at the same time.
 */

/** Ids, with the record that they identify if it has been read. */
export type NodeRef<Ids, Item> = Ids & { readonly record?: Item | undefined };

type Resolve<Parent, Args, Result> = (
  parent: Parent,
  args: Args,
  context: Context,
  info: Selection,
) => Result | Promise<Result>;

/** The extensions of a field that its parent's ids answer. */
export const answeredByIds = fieldExtensions({ answeredByIds: true });

/** The options of an id field that the path of the record's request answers. */
export const idFromPath = (description: string) =>
  ({ nullable: false, description, extensions: answeredByIds }) as const;

/** A field that its parent's ids answer, but with calls of its own, which `prefetch` and `estimate` request. */
export const answeredByIdsWithPrefetch = <Parent, Args>(
  prefetch: Resolve<Parent, Args, unknown>,
  estimate: (parent: Parent, args: Args, context: EstimateContext) => KnownObject | null,
  estimateUnknown?: FieldExtensions['estimateUnknown'],
) =>
  fieldExtensions({
    answeredByIds: true,
    prefetch,
    estimate,
    ...(estimateUnknown === undefined ? {} : { estimateUnknown }),
  });

/** How a node type is named, linked to and read. */
export interface NodeTypeOptions<Ids extends object, Item, Key extends readonly unknown[]> {
  /** The GraphQL type's name. */
  readonly name: string;
  /** The schema of the key in a global id; the ids in it are validated, whoever wrote them. */
  readonly key: z.ZodType<Key>;
  /** The key of a linked object, unique within its type. */
  readonly toKey: (linked: NodeRef<Ids, Item>) => Key;
  readonly toIds: (key: Key) => Ids;
  /** Reads the record that the ids identify. Errors: those of the operation behind it. */
  readonly read: (ids: Ids, context: ReadContext) => Promise<Item>;
  /** The record's canonical ids, if it can be found by other ids too; by default those that it was found by. */
  readonly idsOfRecord?: (ids: Ids, record: Item) => Ids;
}

export interface NodeType<Ids extends object, Item> {
  readonly name: string;
  /**
   * The options of the field `id`: the global id of a linked object, without
   * the promise that Pothos' own field creates.
   */
  readonly idField: {
    readonly nullable: false;
    readonly description: string;
    readonly extensions: typeof answeredByIds;
    readonly resolve: (linked: NodeRef<Ids, Item>) => string;
  };
  /** The ids in a global id's key. Errors: BAD_USER_INPUT if it is not a key of this type. */
  idsOf(key: unknown): Ids;
  /** The linked object, with its record if a selected field needs it. Errors: those of `read`. */
  load(ids: Ids, context: Context, info: Selection): NodeRef<Ids, Item> | Promise<NodeRef<Ids, Item>>;
  /** Reads the record that the ids identify. Errors: those of the operation behind it. */
  read(ids: Ids, context: ReadContext): Promise<Item>;
  /** The linked object with its record, which is read if it has not been. Errors: those of `read`. */
  withRecord(
    linked: NodeRef<Ids, Item>,
    context: ReadContext,
  ): NodeRef<Ids, Item> | Promise<NodeRef<Ids, Item>>;
  /** The linked object as plans use it. */
  estimate(ids: Ids, context: EstimateContext): KnownObject;
}

type AnyNodeType = Pick<NodeType<object, unknown>, 'withRecord'>;

/** The node types by their names. */
export const nodeTypes = new Map<string, AnyNodeType>();

export function defineNodeType<Ids extends object, Item, Key extends readonly unknown[]>(
  options: NodeTypeOptions<Ids, Item, Key>,
): NodeType<Ids, Item> {
  const { name, key, toKey, toIds, read, idsOfRecord } = options;
  const stepsOf = createSteps(name);
  globalIdTypes.add(name);
  const withReadRecord = (ids: Ids, record: Item): NodeRef<Ids, Item> => ({
    ...(idsOfRecord?.(ids, record) ?? ids),
    record,
  });
  const nodeType: NodeType<Ids, Item> = {
    name,
    idField: {
      nullable: false,
      description: globalIdDescription,
      extensions: answeredByIds,
      resolve: (linked) => encodeGlobalId(name, JSON.stringify(toKey(linked))),
    },
    idsOf(value) {
      const parsed = key.safeParse(value);
      // The same key with another order of members, or with extra members, would be a second id of the same node.
      if (!parsed.success || JSON.stringify(parsed.data) !== JSON.stringify(value)) throw forged();
      return toIds(parsed.data);
    },
    load(ids, context, info) {
      // Ids that only the record tells are the same for every field: deferred ones must not change them.
      const selection = idsOfRecord === undefined ? info : withDeferred(info);
      const { needsRecord, prefetches } = stepsOf(selection);
      if (!needsRecord) return ids;
      const reading = read(ids, context);
      for (const { prefetch, selected } of prefetches) {
        if (!context.session.canPrefetch) break;
        const below = subselectionOf(selected, info);
        startPrefetch(() => prefetch(ids as never, argumentsOf(selected, info) as never, context, below));
      }
      return reading.then((record) => withReadRecord(ids, record));
    },
    read,
    withRecord: (linked, context) =>
      linked.record === undefined
        ? read(linked, context).then((record) => withReadRecord(linked, record))
        : linked,
    estimate: (ids, context) => ({ type: name, parent: ids, read: () => read(ids, context) }),
  };
  nodeTypes.set(name, nodeType as unknown as AnyNodeType);
  return nodeType;
}

/** What following a link requires, depending on the fields that are selected on the linked object. */
interface Steps {
  /** Whether a selected field needs more than the ids. */
  readonly needsRecord: boolean;
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
    return {
      needsRecord: !fields.every(({ field }) => fieldExtensionsOf(field).answeredByIds),
      prefetches: fields.flatMap((selected) => {
        const { prefetch } = fieldExtensionsOf(selected.field);
        return prefetch === undefined ? [] : [{ prefetch, selected }];
      }),
    };
  };
  return (info) => {
    const details = info.details;
    if (details === undefined) return make(info);
    const steps = known.get(details) ?? make(info);
    known.set(details, steps);
    return steps;
  };
}

/** The record of a linked object, for a selected field that needs it. */
export function recordOf<Item>(linked: { readonly record?: Item | undefined }): Item {
  if (linked.record === undefined) throw new Error('A field needs a record that its link did not read');
  return linked.record;
}

/**
 * A field that leads from a parent's ids to another object, or to null. Spread it into a Pothos field: it provides
 * `resolve`, and the extensions that links and plans use.
 */
export function nodeFromIds<Parent, Args, Ids extends object, Item>(
  nodeType: () => NodeType<Ids, Item>,
  ids: (parent: Parent, args: Args, context: ReadContext) => Ids,
) {
  const resolve: Resolve<Parent, Args, NodeRef<Ids, Item>> = (parent, args, context, info) =>
    nodeType().load(ids(parent, args, context), context, info);
  const estimate = (parent: Parent, args: Args, context: EstimateContext) =>
    nodeType().estimate(ids(parent, args, context), context);
  return { resolve, extensions: answeredByIdsWithPrefetch(resolve, estimate) };
}

/** A field that leads from a parent's record to another object, or to null if the record names none. */
export function nodeFromRecord<Parent, Ids extends object, Item>(
  nodeType: () => NodeType<Ids, Item>,
  ids: (parent: Parent) => Ids | null,
  /** The ids that are known without the record; left out if `ids` needs only the record. */
  unknownIds?: (parent: Parent, unknownId: () => string) => Ids,
) {
  const resolve: Resolve<Parent, object, NodeRef<Ids, Item> | null> = (parent, _args, context, info) => {
    const named = ids(parent);
    return named === null ? null : nodeType().load(named, context, info);
  };
  const estimateUnknown: FieldExtensions['estimateUnknown'] = (parent: object, _args, context, unknownId) => {
    const read = { ...parent, record: unknownRecord(unknownId) } as Parent;
    const named = unknownIds === undefined ? ids(read) : unknownIds(read, unknownId);
    return named === null ? null : nodeType().estimate(named, context);
  };
  return { resolve, extensions: fieldExtensions({ estimateUnknown }) };
}

/**
 * A field that leads from a list in a parent's record to an object for each entry; each is read, and can fail,
 * separately. If `toIds` throws, the error is that of the entry.
 */
export function nodesFromRecord<Parent, Ids extends object, Item>(
  nodeType: () => NodeType<Ids, Item>,
  entries: (parent: Parent) => readonly string[] | null | undefined,
  toIds: (parent: Parent, entry: string) => Ids,
) {
  const resolve = (parent: Parent, _args: object, context: Context, info: Selection) => {
    const named = unwrap(entries(parent));
    return named && mapListItems(named, (entry) => nodeType().load(toIds(parent, entry), context, info));
  };
  const estimateUnknown = (
    parent: Parent,
    _args: object,
    context: EstimateContext,
    unknownId: () => string,
  ) => nodeType().estimate(toIds(parent, unknownId()), context);
  return { resolve, extensions: fieldExtensions({ estimateUnknown }) };
}
