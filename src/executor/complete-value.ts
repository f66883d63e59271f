import {
  defaultTypeResolver,
  type FieldNode,
  type GraphQLAbstractType,
  GraphQLError,
  type GraphQLField,
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
import { lengthOf, textBytes } from './answer-budget.ts';
import type { FieldPlan } from './compile.ts';
import { executeFields, ignoreRejections, isPromise } from './execution.ts';
import { PendingField } from './pending-field.ts';

/**
 * Makes a value of the answer of what the field's resolver gave; its place, where the value is on its way.
 * Errors: what is wrong with the value; the field, or the entry of a list, that holds it says where.
 */
export type Complete = (value: unknown, pending: PendingField) => unknown;

/** The same of a leaf, which is never on its way and needs to know no place. */
export type CompleteLeaf = (value: unknown) => unknown;

/** What is known beforehand of the places of a field, or of the entries of its list. */
export interface FieldDetails {
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
export function createCompleter(type: GraphQLOutputType, details: FieldDetails): Complete {
  const leaf = createLeafCompleter(type, details);
  if (leaf !== null) return leaf;
  const nullable = getNullableType(type);
  const complete = isListType(nullable)
    ? list(nullable, details)
    : isAbstractType(nullable)
      ? abstract(nullable, details)
      : object(nullable as GraphQLObjectType, details);
  return isNonNullType(type) ? nonNull(complete, details) : complete;
}

/** The same of a leaf type; null of another. */
export function createLeafCompleter(type: GraphQLOutputType, details: FieldDetails): CompleteLeaf | null {
  const nullable = getNullableType(type);
  return isLeafType(nullable) ? leaf(nullable, isNonNullType(type), details) : null;
}

const nonNullError = ({ parentType, field }: FieldDetails) =>
  new Error(`Cannot return null for non-nullable field ${parentType.name}.${field.name}.`);

function nonNull(complete: Complete, details: FieldDetails): Complete {
  return (value, pending) => {
    const completed = complete(value, pending);
    if (completed === null) throw nonNullError(details);
    return completed;
  };
}

function leaf(type: GraphQLLeafType, isNonNull: boolean, details: FieldDetails): CompleteLeaf {
  // What most values are, and what coercion leaves as it is.
  const isText = type === GraphQLString || type === GraphQLID;
  return (value) => {
    if (isText && typeof value === 'string') return value;
    if (isAbsent(value)) {
      if (isNonNull) throw nonNullError(details);
      return null;
    }
    const coerced = type.coerceOutputValue(value);
    if (coerced === null || coerced === undefined)
      throw new Error(`Expected \`${type.name}.coerceOutputValue\` to return a value that is not null.`);
    return coerced;
  };
}

function object(type: GraphQLObjectType, { fieldsOf }: FieldDetails): Complete {
  let fields: readonly FieldPlan[] | null = null;
  const complete: Complete = (value, pending) => {
    fields ??= fieldsOf(type);
    return executeFields(fields, value, pending);
  };
  const { isTypeOf } = type;
  if (!isTypeOf) return (value, pending) => (isAbsent(value) ? null : complete(value, pending));
  const completeIf = (isOfType: unknown, value: unknown, pending: PendingField) => {
    if (!isOfType) throw new GraphQLError(`Expected value of type "${type.name}".`);
    return complete(value, pending);
  };
  return (value, pending) => {
    if (isAbsent(value)) return null;
    const isOfType = isTypeOf(value, pending.execution.context, pending.info);
    return isPromise(isOfType)
      ? pending.awaitValue(isOfType, (resolved) => completeIf(resolved, value, pending))
      : completeIf(isOfType, value, pending);
  };
}

function abstract(type: GraphQLAbstractType, details: FieldDetails): Complete {
  const resolveType = type.resolveType ?? defaultTypeResolver;
  const objects = new Map<string, Complete>();
  /** Errors: GraphQLError where there is no such type, or it is none of this abstract one. */
  const objectNamed = (name: unknown, { schema }: GraphQLResolveInfo): Complete => {
    const known = typeof name === 'string' ? objects.get(name) : undefined;
    if (known !== undefined) return known;
    const named = typeof name === 'string' ? schema.getType(name) : undefined;
    if (!isObjectType(named) || !schema.isSubType(type, named)) {
      const at = `${details.parentType.name}.${details.field.name}`;
      throw new GraphQLError(
        `Abstract type "${type.name}" must resolve to one of its object types at runtime for field "${at}".`,
      );
    }
    const complete = object(named, details);
    objects.set(named.name, complete);
    return complete;
  };
  return (value, pending) => {
    if (isAbsent(value)) return null;
    const name = resolveType(value, pending.execution.context, pending.info, type);
    return isPromise(name)
      ? pending.awaitValue(name, (resolved) => objectNamed(resolved, pending)(value, pending))
      : objectNamed(name, pending)(value, pending);
  };
}

function list(type: GraphQLList<GraphQLOutputType>, details: FieldDetails): Complete {
  const itemType = type.ofType;
  const entry: FieldDetails = { ...details, typename: undefined, isNonNull: isNonNullType(itemType) };
  const leaf = createLeafCompleter(itemType, details);
  const complete = leaf ?? createCompleter(itemType, entry);

  /** An entry of the answer's list, or its place where it is on its way. */
  function completeItem(item: unknown, parent: PendingField, index: number): unknown {
    // As in executeField: a leaf is completed without its place.
    let pending = leaf === null ? new PendingField(parent.execution, parent, entry, index) : undefined;
    try {
      if (leaf !== null && !isPromise(item)) return leaf(item);
      pending ??= new PendingField(parent.execution, parent, entry, index);
      return isPromise(item) ? pending.awaitValue(item, complete) : complete(item, pending);
    } catch (error) {
      pending ??= new PendingField(parent.execution, parent, entry, index);
      return pending.handleFieldError(error);
    }
  }

  /** The entries of a list; `length` are counted already. */
  function completeItems(list: Iterable<unknown>, length: number, pending: PendingField): unknown {
    const { budget } = pending.execution;
    const completed: unknown[] = [];
    let outstanding = 0;
    let bytes = 0;
    try {
      for (const item of list) {
        if (completed.length >= length) budget.spendValues(1);
        const done = completeItem(item, pending, completed.length);
        if (done instanceof PendingField) {
          completed.push(done.members);
          outstanding++;
        } else {
          if (typeof done === 'string') bytes += textBytes(done);
          completed.push(done);
        }
      }
      budget.spendBytes(bytes);
    } catch (error) {
      // There is no list: what its entries still come to is nobody's failure.
      ignoreRejections([list]);
      throw error;
    }
    return pending.awaitMembers(completed, outstanding);
  }

  return (value, pending) => {
    if (isAbsent(value)) return null;
    if (!isIterable(value))
      throw new GraphQLError(
        `Expected Iterable, but did not find one for field "${details.parentType.name}.${details.field.name}".`,
      );
    const { execution } = pending;
    const length = lengthOf(value) ?? 0;
    try {
      execution.budget.spendValues(length);
    } catch (error) {
      ignoreRejections([value]);
      throw error;
    }
    if (!execution.mustWait) return completeItems(value, length, pending);
    return pending.defer(value, () => completeItems(value, length, pending));
  };
}

const isIterable = (value: unknown): value is Iterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.iterator in value;

/** Whether a value is none. Errors: the value itself, where an error stands in its place. */
function isAbsent(value: unknown): boolean {
  if (value instanceof Error) throw value;
  return value === null || value === undefined;
}
