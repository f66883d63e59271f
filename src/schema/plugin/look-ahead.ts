import { type GraphQLResolveInfo, isObjectType, TypeNameMetaFieldDef } from 'graphql';
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
import type { Context, ResolverContext } from '../context.ts';
import { fieldExtensionsOf } from './field-extensions.ts';

/** Finds out what the selected fields of a linked object need, and which of them need not wait for its record. */

/** What a selection on a linked object needs. */
export interface Needs {
  /** Whether a selected field needs more than the ids. */
  readonly record: boolean;
  /** Whether only deferred fields need the record. If so, the other fields are delivered before the record is read. */
  readonly isLate: boolean;
  /**
   * Resolves the fields that need only the ids, before the record is read. Shape: a map from these fields to their results;
   * null if no field can be resolved early. `index`: the position of the object, if `info` is that of a list.
   */
  resolveEarly(
    ids: object,
    context: Context,
    info: Selection,
    index?: number,
  ): ReadonlyMap<SelectedField, unknown> | null;
}

/** What a selection on a type needs. This is computed once for a prepared selection. */
export function needsOf(typeName: string): (info: Selection) => Needs {
  const known = new WeakMap<object, Needs>();
  const find = (info: Selection): Needs => {
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
        // The record may not exist, so its fields must not use up the calls that other fields need.
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

/**
 * The result or the error of a field that is resolved early. If the field's object turns out to be null, the
 * answer contains neither.
 */
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
