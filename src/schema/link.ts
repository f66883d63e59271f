import { isObjectType } from 'graphql';
import type { z } from 'zod';
import { sound } from '../bank/answer.ts';
import {
  argumentsOf,
  type SelectedField,
  type Selection,
  selectedFields,
  selectionBelow,
} from '../executor/selection.ts';
import type { Asking, Context } from './context.ts';
import { askAhead, type FieldFacts, facts, factsOf, type Lead, type Planning } from './field-facts.ts';
import { encodeGlobalId, forged, globalIdDescription } from './global-id.ts';
import { eachEntry } from './list-entry.ts';

/**
 * Links between records.
 *
 * A linked object knows the ids that name it; its record comes from the bank. A link reads the record only where the
 * operation selects a field that the ids do not answer, so that `owners { customerId }` and
 * `account { otherAccounts { … } }` cost no call for the customer or the account. While the record is on its way,
 * what hangs on the ids alone is asked for too, so that independent records leave at once.
 */

/** Ids, with the record that they name where it was read. */
export type Linked<Ids, Item> = Ids & { readonly record?: Item | undefined };

type Resolve<Parent, Args, Result> = (
  parent: Parent,
  args: Args,
  context: Context,
  info: Selection,
) => Result | Promise<Result>;

/** The extensions of a field that its parent's ids answer. */
export const fromIds = facts({ fromIds: true });

/** The options of an id field that the path of the record's request answers. */
export const fromPath = (description: string) =>
  ({ nullable: false, description, extensions: fromIds }) as const;

/** A field that its parent's ids answer, at the price of calls of its own, which `ahead` and `plan` ask for. */
export const fromIdsAhead = <Parent, Args>(
  ahead: Resolve<Parent, Args, unknown>,
  plan: (parent: Parent, args: Args, planning: Planning) => Lead | null,
) => facts({ fromIds: true, ahead, plan });

/** How one node type is named, linked to and read. */
export interface LinkOptions<Ids extends object, Item, Key extends readonly unknown[]> {
  /** The GraphQL type's name. */
  readonly name: string;
  /** The shape of the key behind a global id; ids in it are checked, whoever wrote them. */
  readonly key: z.ZodType<Key>;
  /** The key of a linked object, unique over its type. */
  readonly toKey: (linked: Linked<Ids, Item>) => Key;
  readonly toIds: (key: Key) => Ids;
  /** Reads the record that the ids name. Errors: those of the operation behind it. */
  readonly read: (ids: Ids, context: Asking) => Promise<Item>;
}

export interface Link<Ids extends object, Item> {
  readonly name: string;
  /** The options of the field `id`: the global id of a linked object, which is no promise as Pothos' own would be. */
  readonly idField: {
    readonly nullable: false;
    readonly description: string;
    readonly extensions: typeof fromIds;
    readonly resolve: (linked: Linked<Ids, Item>) => string;
  };
  /** The ids behind a global id's key. Errors: BAD_USER_INPUT where it is no key of this type. */
  idsOf(key: unknown): Ids;
  /** The linked object, with its record where the selected fields need it. Errors: those of `read`. */
  follow(ids: Ids, context: Context, info: Selection): Linked<Ids, Item> | Promise<Linked<Ids, Item>>;
  /** The linked object as a plan sees it. */
  leadTo(ids: Ids, planning: Planning): Lead;
}

export function createLink<Ids extends object, Item, Key extends readonly unknown[]>(
  options: LinkOptions<Ids, Item, Key>,
): Link<Ids, Item> {
  const { name, key, toKey, toIds, read } = options;
  const stepsOf = createSteps(name);
  return {
    name,
    idField: {
      nullable: false,
      description: globalIdDescription,
      extensions: fromIds,
      resolve: (linked) => encodeGlobalId(name, JSON.stringify(toKey(linked))),
    },
    idsOf(value) {
      const parsed = key.safeParse(value);
      // A key in another order, or with more in it, would be a second id of the same node.
      if (!parsed.success || JSON.stringify(parsed.data) !== JSON.stringify(value)) throw forged();
      return toIds(parsed.data);
    },
    follow(ids, context, info) {
      const { needsRecord, fieldsAhead } = stepsOf(info);
      if (!needsRecord) return ids;
      const reading = read(ids, context);
      for (const { ahead, selected } of fieldsAhead) {
        if (!context.reader.hasRoomAhead) break;
        const below = selectionBelow(selected, info);
        askAhead(() => ahead(ids as never, argumentsOf(selected, info) as never, context, below));
      }
      return reading.then((record) => ({ ...ids, record }));
    },
    leadTo: (ids, planning) => ({ type: name, parent: ids, read: () => read(ids, planning) }),
  };
}

/** What following a link takes, by what is selected of the linked object. */
interface Steps {
  /** The ids do not answer all of it. */
  readonly needsRecord: boolean;
  /** What can be asked for while the record is on its way. */
  readonly fieldsAhead: readonly {
    readonly ahead: NonNullable<FieldFacts['ahead']>;
    readonly selected: SelectedField;
  }[];
}

/** The steps of a link to this type: worked out once for a selection that is prepared. */
function createSteps(name: string): (info: Selection) => Steps {
  const known = new WeakMap<object, Steps>();
  const make = (info: Selection): Steps => {
    const type = info.schema.getType(name);
    if (!isObjectType(type)) throw new Error(`${name} is no object type of the schema`);
    const fields = selectedFields(info, type);
    return {
      needsRecord: !fields.every(({ field }) => factsOf(field).fromIds),
      fieldsAhead: fields.flatMap((selected) => {
        const { ahead } = factsOf(selected.field);
        return ahead === undefined ? [] : [{ ahead, selected }];
      }),
    };
  };
  return (info) => {
    const slot = info.prepared?.slot;
    if (slot === undefined) return make(info);
    const steps = known.get(slot) ?? make(info);
    known.set(slot, steps);
    return steps;
  };
}

/** The record of a linked object, of which a selected field needs it. */
export function recordOf<Item>(linked: { readonly record?: Item | undefined }): Item {
  if (linked.record === undefined) throw new Error('A field needs a record that its link did not read');
  return linked.record;
}

/**
 * A field that leads from a parent's ids to another object, or to none.
 * Spread it into a Pothos field: it brings `resolve`, and the facts that links and plans look at.
 */
export function linkFromIds<Parent, Args, Ids extends object, Item>(
  link: () => Link<Ids, Item>,
  ids: (parent: Parent, args: Args, context: Asking) => Ids,
) {
  const resolve: Resolve<Parent, Args, Linked<Ids, Item>> = (parent, args, context, info) =>
    link().follow(ids(parent, args, context), context, info);
  const plan = (parent: Parent, args: Args, planning: Planning) =>
    link().leadTo(ids(parent, args, planning), planning);
  return { resolve, extensions: fromIdsAhead(resolve, plan) };
}

/** A field that leads from a parent's record to another object, or to none where the record names none. */
export function linkFromRecord<Parent, Ids extends object, Item>(
  link: () => Link<Ids, Item>,
  ids: (parent: Parent) => Ids | null,
) {
  const resolve: Resolve<Parent, object, Linked<Ids, Item> | null> = (parent, _args, context, info) => {
    const named = ids(parent);
    return named === null ? null : link().follow(named, context, info);
  };
  return { resolve };
}

/**
 * A field that leads from a list of a parent's record to an object for each entry; each is read, and fails, on its own.
 * `toIds` may throw: the error is its entry's.
 */
export function linksFromRecord<Parent, Ids extends object, Item>(
  link: () => Link<Ids, Item>,
  entries: (parent: Parent) => readonly string[] | null | undefined,
  toIds: (parent: Parent, entry: string) => Ids,
) {
  const resolve = (parent: Parent, _args: object, context: Context, info: Selection) => {
    const named = sound(entries(parent));
    return named && eachEntry(named, (entry) => link().follow(toIds(parent, entry), context, info));
  };
  return { resolve };
}
