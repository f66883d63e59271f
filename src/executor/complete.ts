import {
  defaultTypeResolver,
  type FieldNode,
  type GraphQLAbstractType,
  type GraphQLField,
  GraphQLError,
  GraphQLID,
  type GraphQLLeafType,
  type GraphQLList,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  GraphQLString,
  getNullableType,
  isAbstractType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import type { FieldPlan } from './compile.ts';
import { executeFields, ignoreRejections, isPromise } from './execution.ts';
import { Place } from './place.ts';

/**
 * Makes a value of the answer of what the field's resolver gave; its place, where the value is on its way.
 * Errors: what is wrong with the value; the field, or the entry of a list, that holds it says where.
 */
export type Complete = (value: unknown, place: Place) => unknown;

/** The same of a leaf, which is never on its way and needs to know no place. */
export type CompleteLeaf = (value: unknown) => unknown;

/** What is known beforehand of the places of a field, or of the entries of its list. */
export interface Slot {
  readonly field: GraphQLField<unknown, unknown>;
  readonly nodes: readonly FieldNode[];
  readonly parentType: GraphQLObjectType;
  /** The parent type's name, as a path has it; undefined for entries. */
  readonly typename: string | undefined;
  readonly isNonNull: boolean;
  /** The fields that are selected of an object of this type. */
  readonly fieldsOf: (type: GraphQLObjectType) => readonly FieldPlan[];
}

/** How the values of a type are completed: the specification's CompleteValue, decided once for each field. */
export function completerOf(type: GraphQLOutputType, slot: Slot): Complete {
  const leaf = leafCompleterOf(type, slot);
  if (leaf !== null) return leaf;
  const nullable = getNullableType(type);
  const complete = isListType(nullable)
    ? list(nullable, slot)
    : isAbstractType(nullable)
      ? abstract(nullable, slot)
      : object(nullable as GraphQLObjectType, slot);
  return isNonNullType(type) ? nonNull(complete, slot) : complete;
}

/** The same of a leaf type; null of another. */
export function leafCompleterOf(type: GraphQLOutputType, slot: Slot): CompleteLeaf | null {
  const nullable = getNullableType(type);
  return isLeafType(nullable) ? leaf(nullable, isNonNullType(type), slot) : null;
}

const noNull = ({ parentType, field }: Slot) =>
  new Error(`Cannot return null for non-nullable field ${parentType.name}.${field.name}.`);

function nonNull(complete: Complete, slot: Slot): Complete {
  return (value, place) => {
    const completed = complete(value, place);
    if (completed === null) throw noNull(slot);
    return completed;
  };
}

function leaf(type: GraphQLLeafType, isNonNull: boolean, slot: Slot): CompleteLeaf {
  // What most values are, and what coercion leaves as it is.
  const isText = type === GraphQLString || type === GraphQLID;
  return (value) => {
    if (isText && typeof value === 'string') return value;
    if (isAbsent(value)) {
      if (isNonNull) throw noNull(slot);
      return null;
    }
    const coerced = type.coerceOutputValue(value);
    if (coerced === null || coerced === undefined)
      throw new Error(`Expected \`${type.name}.coerceOutputValue\` to return a value that is not null.`);
    return coerced;
  };
}

function object(type: GraphQLObjectType, { nodes, fieldsOf }: Slot): Complete {
  let fields: readonly FieldPlan[] | null = null;
  const complete: Complete = (value, place) => {
    fields ??= fieldsOf(type);
    return executeFields(fields, value, place);
  };
  const { isTypeOf } = type;
  if (!isTypeOf) return (value, place) => (isAbsent(value) ? null : complete(value, place));
  const completeIf = (isOfType: unknown, value: unknown, place: Place) => {
    if (!isOfType) throw new GraphQLError(`Expected value of type "${type.name}".`, { nodes });
    return complete(value, place);
  };
  return (value, place) => {
    if (isAbsent(value)) return null;
    const isOfType = isTypeOf(value, place.execution.context, place.info);
    return isPromise(isOfType)
      ? place.wait(isOfType, (resolved) => completeIf(resolved, value, place))
      : completeIf(isOfType, value, place);
  };
}

function abstract(type: GraphQLAbstractType, slot: Slot): Complete {
  const resolveType = type.resolveType ?? defaultTypeResolver;
  const objects = new Map<string, Complete>();
  /** Errors: GraphQLError where there is no such type, or it is none of this abstract one. */
  const objectNamed = (name: unknown, { schema }: GraphQLResolveInfo): Complete => {
    const known = typeof name === 'string' ? objects.get(name) : undefined;
    if (known !== undefined) return known;
    const named = typeof name === 'string' ? schema.getType(name) : undefined;
    if (!isObjectType(named) || !schema.isSubType(type, named)) {
      const at = `${slot.parentType.name}.${slot.field.name}`;
      throw new GraphQLError(
        `Abstract type "${type.name}" must resolve to one of its object types at runtime for field "${at}".`,
        { nodes: slot.nodes },
      );
    }
    const complete = object(named, slot);
    objects.set(named.name, complete);
    return complete;
  };
  return (value, place) => {
    if (isAbsent(value)) return null;
    const name = resolveType(value, place.execution.context, place.info, type);
    return isPromise(name)
      ? place.wait(name, (resolved) => objectNamed(resolved, place)(value, place))
      : objectNamed(name, place)(value, place);
  };
}

function list(type: GraphQLList<GraphQLOutputType>, slot: Slot): Complete {
  const itemType = type.ofType;
  const entry: Slot = { ...slot, typename: undefined, isNonNull: isNonNullType(itemType) };
  const leaf = leafCompleterOf(itemType, slot);
  const complete = leaf ?? completerOf(itemType, entry);

  /** An entry of the answer's list, or its place where it is on its way. */
  function completeItem(item: unknown, above: Place, index: number): unknown {
    // As in executeField: a leaf is completed without its place.
    let place = leaf === null ? new Place(above.execution, above, entry, index) : undefined;
    try {
      if (leaf !== null && !isPromise(item)) return leaf(item);
      place ??= new Place(above.execution, above, entry, index);
      return isPromise(item) ? place.wait(item, complete) : complete(item, place);
    } catch (error) {
      place ??= new Place(above.execution, above, entry, index);
      return place.fail(error);
    }
  }

  return (value, place) => {
    if (isAbsent(value)) return null;
    if (typeof value !== 'object' || value === null || !(Symbol.iterator in value))
      throw new GraphQLError(
        `Expected Iterable, but did not find one for field "${slot.parentType.name}.${slot.field.name}".`,
      );
    const { budget } = place.execution;
    const isCounted = Array.isArray(value);
    const completed: unknown[] = [];
    let missing = 0;
    let bytes = 0;
    try {
      if (isCounted) budget.spendValues(value.length);
      for (const item of value as Iterable<unknown>) {
        if (!isCounted) budget.spendValues(1);
        const done = completeItem(item, place, completed.length);
        if (done instanceof Place) {
          completed.push(done.members);
          missing++;
        } else {
          if (typeof done === 'string') bytes += done.length;
          completed.push(done);
        }
      }
      budget.spendBytes(bytes);
    } catch (error) {
      // There is no list: what its entries still come to is nobody's failure.
      ignoreRejections(value as Iterable<unknown>);
      throw error;
    }
    return place.hold(completed, missing);
  };
}

/** Whether a value is none. Errors: the value itself, where an error stands in its place. */
function isAbsent(value: unknown): boolean {
  if (value instanceof Error) throw value;
  return value === null || value === undefined;
}
