import type { InputFieldMap, InputShapeFromFields } from '@pothos/core';
import { type GraphQLResolveInfo, isObjectType } from 'graphql';
import { unwrap } from '../../bank/response.ts';
import type { Field } from '../../contract/record.ts';
import { BankqlError } from '../../errors.ts';
import { earlyResolver, knownResolver } from '../../executor/known-resolvers.ts';
import { ignoreRejections } from '../../executor/promises.ts';
import {
  argumentsOf,
  type SelectedField,
  type Selection,
  selectedFields,
  selectionOfEntry,
  subselectionOf,
} from '../../executor/selection.ts';
import { getOrMake } from '../../get-or-make.ts';
import type { Fields, MadeField } from '../builder.ts';
import type { Context, ReadContext } from '../context.ts';
import { answeredByIds, fieldExtensions, fieldExtensionsOf } from './field-extensions.ts';
import { mapListItem } from './list-item.ts';
import type { NodeRef, NodeType } from './node.ts';

/**
 * Links between records.
 *
 * An object that a link leads to knows the ids that identify it; its record comes from the bank. The record is read
 * only if the operation selects a field that the ids cannot answer, so that `owners { customerId }` and
 * `account { otherAccounts { … } }` make no call for the customer or the account. While the record is being read, fields
 * that need only the ids are resolved early, so that independent calls are made at the same time.
 */

interface LinkOptions<Parent, Ids extends object, Item, Args extends InputFieldMap> {
  readonly description: string;
  readonly args?: Args;
  readonly isNonNull?: true;
  /** The ids are in the parent's record, which must be read before the link is followed. */
  readonly fromRecord?: true;
  /** The ids, with the record if the parent's record contains it; null if there is nothing to lead to. */
  readonly ids: (
    parent: Parent,
    args: InputShapeFromFields<Args>,
    context: ReadContext,
  ) => NodeRef<Ids, Item> | null;
}

/** A field that leads to another object. */
export function link<Parent extends object, Ids extends object, Item, Args extends InputFieldMap>(
  t: Fields<Parent>,
  type: NodeType<Ids, Item>,
  { description, args, isNonNull, fromRecord, ids }: LinkOptions<Parent, NoInfer<Ids>, NoInfer<Item>, Args>,
): MadeField {
  const resolve = (parent: Parent, given: InputShapeFromFields<Args>, context: Context, info: Selection) => {
    const named = ids(parent, given, context);
    return named === null || named.record !== undefined ? named : type.load(named, context, info);
  };
  return t.field({
    type: type.object,
    nullable: !isNonNull,
    description,
    args: args as Args,
    extensions: fromRecord ? {} : answeredByIds,
    // Pothos' type of a result is not computed for a type parameter.
    resolve: (fromRecord ? resolve : earlyResolver(resolve)) as never,
  });
}

/**
 * A field that leads from a list in the parent's record to an object for each entry; each is read, and can fail,
 * separately. If `ids` throws, the error is that of the entry. If the operation exceeds its limit of calls, one
 * entry has the error, and the other unread entries are null.
 */
export function links<Parent extends object, Entry, Ids extends object, Item, Args extends InputFieldMap>(
  t: Fields<Parent>,
  type: NodeType<Ids, Item>,
  {
    description,
    args,
    entries,
    ids,
    shows,
  }: {
    readonly description: string;
    readonly args?: Args;
    readonly entries: (
      parent: Parent,
      args: InputShapeFromFields<Args>,
    ) => readonly Entry[] | null | undefined;
    readonly ids: (parent: Parent, entry: Entry) => NoInfer<Ids>;
    /** The only part of the parent's record that it needs. */
    readonly shows?: Field;
  },
): MadeField {
  return t.field({
    type: [type.object],
    nullable: { list: true, items: true },
    description,
    args: args as Args,
    extensions: fieldExtensions(shows ? { shows } : {}),
    resolve(parent: Parent, given: InputShapeFromFields<Args>, context: Context, info: Selection) {
      const onError = reportLimitOnce();
      const load = (entry: Entry, index: number) =>
        type.load(ids(parent, entry), context, info, { onError, index });
      return unwrap(entries(parent, given))?.map((entry, index) => mapListItem(entry, index, load));
    },
  });
}

/**
 * Passes on the errors of a list's entries. The error for the limit of calls is reported for one entry only; further entries
 * are null.
 */
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

/** The requirements of following a link, which depend on the fields that are selected on the linked object. */
interface LinkNeeds {
  /** Whether a selected field needs more than the ids. */
  readonly record: boolean;
  /** The parts of the record that the selected fields need; null if one of them may need all. */
  readonly parts: readonly Field[] | null;
  /**
   * Resolves the fields that need only the ids, before the record is there. Shape: their results by their fields; null if there
   * are none. `index`: the position of the object, if `info` is that of a list.
   */
  resolveEarly(
    ids: object,
    context: Context,
    info: Selection,
    index?: number,
  ): ReadonlyMap<SelectedField, unknown> | null;
}

/** The needs of a selection on a type, computed once for a prepared selection. */
export function needsOf(typeName: string): (info: Selection) => LinkNeeds {
  const known = new WeakMap<object, LinkNeeds>();
  const find = (info: Selection): LinkNeeds => {
    const type = info.schema.getType(typeName);
    if (!isObjectType(type)) throw new Error(`${typeName} is no object type of the schema`);
    const fields = selectedFields(info, type).map((selected) => ({
      selected,
      ...fieldExtensionsOf(selected.field),
    }));
    const needing = fields.filter(({ answeredByIds }) => !answeredByIds);
    const parts = needing.flatMap(({ shows = [] }) => shows);
    const early = fields.flatMap(({ selected }) =>
      knownResolver(selected.field.resolve).isEarly ? selected : [],
    );
    return {
      record: needing.length > 0,
      parts: parts.length === needing.length ? parts : null,
      resolveEarly(ids, context, current, index) {
        if (early.length === 0) return null;
        const own = index === undefined ? current : selectionOfEntry(current, index);
        const results = new Map<SelectedField, unknown>();
        // The record may not be there: its fields may not use up the calls that others need.
        for (const selected of early)
          if (context.session.canPrefetch) results.set(selected, resolveEarly(selected, ids, context, own));
        return results;
      },
    };
  };
  return (info) =>
    info.details === undefined ? find(info) : getOrMake(known, info.details, () => find(info));
}

/** The result of a field that is resolved early, or its error. If its object is null, nobody sees either. */
function resolveEarly(selected: SelectedField, ids: object, context: Context, info: Selection): unknown {
  try {
    const below = subselectionOf(selected, info) as GraphQLResolveInfo;
    const result = selected.field.resolve?.(ids, argumentsOf(selected, info), context, below);
    ignoreRejections(result);
    return result;
  } catch (error) {
    return error;
  }
}

/** The record of a linked object, for a selected field that needs it. */
export function recordOf<Item>(linked: { readonly record?: Item | undefined }): Item {
  if (linked.record === undefined) throw new Error('A field needs a record that its link did not read');
  return linked.record;
}
