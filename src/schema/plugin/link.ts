import {
  type FieldKind,
  type InputFieldMap,
  type InputShapeFromFields,
  RootFieldBuilder,
} from '@pothos/core';
import { type GraphQLResolveInfo, isObjectType, TypeNameMetaFieldDef } from 'graphql';
import { unwrap } from '../../bank/answer.ts';
import { BankqlError } from '../../errors.ts';
import { knownResolver } from '../../executor/known-resolvers.ts';
import { ignoreRejections } from '../../executor/promises.ts';
import {
  argumentsOf,
  deferredFields,
  type SelectedField,
  type Selection,
  selectedFields,
  selectionOfEntry,
  subselectionOf,
} from '../../executor/selection.ts';
import { getOrMake } from '../../get-or-make.ts';
import type { Types } from '../builder.ts';
import type { Context, ReadContext, ResolverContext } from '../context.ts';
import { fieldExtensionsOf } from './field-extensions.ts';
import { type Listed, mapListItem } from './list-item.ts';
import type { BankTypes, Linked, LinkedOf } from './node.ts';

/**
 * Links between records.
 *
 * An object that a link leads to knows the ids that identify it; its record comes from the bank. The record is read
 * only if the operation selects a field that the ids cannot answer, so that `owners { customerId }` and
 * `account { otherAccounts { … } }` make no call for the customer or the account. While the record is being read, fields
 * that need only the ids are resolved early, so that independent calls are made at the same time.
 */

/** Pothos computes the type of a field's options from the kind of its parent, which its plugins do not know. */
export const fieldOptions = (options: object) => options as never;

export interface LinkOptions<Parent, T extends BankTypes, Args extends InputFieldMap> {
  readonly description: string;
  /** Arguments that have the name of an id in the key are checked. */
  readonly args?: Args;
  readonly nullable?: false;
  /** The ids are in the parent's record, which must be read before the link is followed. */
  readonly fromRecord?: true;
  /**
   * The ids, with the record if the parent's record contains it; null if there is nothing to lead to. By default those in the
   * parent's path, and the arguments.
   */
  readonly ids?: (
    parent: Parent,
    args: InputShapeFromFields<Args>,
    context: ReadContext,
  ) => LinkedOf<T> | null;
}

const fieldsProto = RootFieldBuilder.prototype as PothosSchemaTypes.RootFieldBuilder<
  Types,
  unknown,
  FieldKind
>;

type IdsOf = (parent: unknown, args: object, context: Context) => Linked<object, unknown> | null;

fieldsProto.link = function link(this: typeof fieldsProto, ref, { ids, fromRecord, ...options }) {
  const check = ref.argumentCheck(options.args);
  const idsOf = (ids ?? ((parent: object, args: object) => ref.pathOf({ ...parent, ...args }))) as IdsOf;
  const resolverOn = (typename: string) => {
    if (ids === undefined) ref.checkIdsFrom(typename, options.args);
    const isBack = ids === undefined && options.args === undefined && ref.isParentOf(typename);
    const isToChild = ids === undefined && ref.isChildOf(typename);
    return (parent: Linked<Listed, unknown>, args: never, { bankql }: ResolverContext, info: Selection) => {
      check?.(args);
      if (isBack && parent.under?.record !== undefined) return parent.under;
      const linked = idsOf(parent, args, bankql);
      if (linked === null || linked.record !== undefined) return linked;
      return ref.load(isToChild ? { ...linked, under: parent } : linked, bankql, info);
    };
  };
  return this.field(fieldOptions({ ...options, type: ref, fromIds: !fromRecord, resolverOn }));
};

export interface LinksOptions<Parent, T extends BankTypes, Entry, Args extends InputFieldMap> {
  readonly description: string;
  readonly args?: Args;
  /** Set if the list is never null. */
  readonly nullable?: { readonly list: false; readonly items: true };
  /** The entries of the list in the parent's record. */
  readonly entries: (
    parent: Parent,
    args: InputShapeFromFields<Args>,
  ) => readonly Entry[] | Error | null | undefined;
  /** Errors: those of the entry. */
  readonly ids: (parent: Parent, entry: Entry) => T['Ids'];
}

// If the operation exceeds its limit of calls, one entry has the error, and the other unread entries are null.
fieldsProto.links = function links(ref, { entries, ids, ...options }) {
  const resolve = (parent: unknown, args: never, { bankql }: ResolverContext, info: Selection) => {
    const onError = reportLimitOnce();
    return unwrap(entries(parent, args))?.map((item, at) =>
      mapListItem(item, at, (entry, index) => ref.load(ids(parent, entry), bankql, info, { onError, index })),
    );
  };
  return this.field(
    fieldOptions({ nullable: { list: true, items: true }, ...options, type: [ref], resolve }),
  );
};

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
  /** Whether only deferred fields need the record, so that the other fields are delivered before it is read. */
  readonly isLate: boolean;
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
    const declared = (selected: SelectedField) => ({ selected, ...fieldExtensionsOf(selected.field) });
    const now = selectedFields(info, type).map(declared);
    const fields = [...now, ...deferredFields(info, type).map(declared)];
    const early = fields.flatMap(({ selected }) =>
      knownResolver(selected.field.resolve).isEarly ? selected : [],
    );
    const isShownFirst = ({ fromIds, selected }: (typeof fields)[number]) =>
      fromIds && selected.field !== TypeNameMetaFieldDef;
    return {
      record: fields.some(({ fromIds }) => !fromIds),
      isLate: now.some(isShownFirst) && now.every(({ fromIds }) => fromIds),
      resolveEarly(ids, context, current, index) {
        if (early.length === 0) return null;
        const own = index === undefined ? current : selectionOfEntry(current, index);
        const results = new Map<SelectedField, unknown>();
        const resolverContext = { bankql: context };
        // The record may not exist, so its fields may not use up the calls that others need.
        for (const selected of early)
          if (context.session.hasEarlyCalls)
            results.set(selected, resolveEarly(selected, ids, resolverContext, own));
        return results;
      },
    };
  };
  return (info) => {
    const { details } = info;
    if (details === undefined) return find(info);
    return known.get(details) ?? getOrMake(known, details, () => find(info));
  };
}

/** The result of a field that is resolved early, or its error. If its object is null, neither is in the answer. */
function resolveEarly(
  selected: SelectedField,
  ids: object,
  context: ResolverContext,
  info: Selection,
): unknown {
  try {
    const below = subselectionOf(selected, info) as GraphQLResolveInfo;
    const result = selected.field.resolve?.(ids, argumentsOf(selected, info), context, below);
    ignoreRejections(result);
    return result;
  } catch (error) {
    return error;
  }
}
