import {
  defaultTypeResolver,
  type GraphQLAbstractType,
  GraphQLError,
  GraphQLID,
  type GraphQLLeafType,
  type GraphQLList,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  GraphQLString,
  getNullableType,
  isAbstractType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { createListCompleter } from './complete-list.ts';
import { type CompleteLeaf, executeFields, type FieldPlan } from './execute-fields.ts';
import type { Complete } from './pending-field.ts';
import type { FieldDetails } from './plan.ts';
import { isPromise } from './promises.ts';

/** The part of a field's plan that its completion needs; for a list also that of its entries. */
interface CompletedField extends FieldDetails {
  readonly fieldsOf: FieldPlan['fieldsOf'];
}

/** How the values of a type are completed: the specification's CompleteValue, decided once for each field. */
export function createCompleter(type: GraphQLOutputType, details: CompletedField): Complete {
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

/** The same for a leaf type; null for any other type. */
export function createLeafCompleter(type: GraphQLOutputType, details: CompletedField): CompleteLeaf | null {
  const nullable = getNullableType(type);
  return isLeafType(nullable) ? leaf(nullable, isNonNullType(type), details) : null;
}

const nonNullError = ({ parentType, field }: CompletedField) =>
  new Error(`Cannot return null for non-nullable field ${parentType.name}.${field.name}.`);

function nonNull(complete: Complete, details: CompletedField): Complete {
  return (value, pending) => {
    const completed = complete(value, pending);
    if (completed === null) throw nonNullError(details);
    return completed;
  };
}

function leaf(type: GraphQLLeafType, isNonNull: boolean, details: CompletedField): CompleteLeaf {
  // The most frequent case, which coercion would return unchanged.
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

function object(type: GraphQLObjectType, { fieldsOf }: CompletedField): Complete {
  let fields: readonly FieldPlan[] | null = null;
  const complete: Complete = (value, pending) => {
    fields ??= fieldsOf(type);
    return executeFields(fields, value, pending);
  };
  return (value, pending) => (isAbsent(value) ? null : complete(value, pending));
}

function abstract(type: GraphQLAbstractType, details: CompletedField): Complete {
  const resolveType = type.resolveType ?? defaultTypeResolver;
  const objects = new Map<string, Complete>();
  /** Errors: GraphQLError if there is no such object type, or it is not a possible type of this abstract one. */
  const objectNamed = (name: unknown, schema: GraphQLSchema): Complete => {
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
    const { context, plan } = pending.execution;
    const name = resolveType(value, context, pending.info, type);
    return isPromise(name)
      ? pending.awaitValue(name, (resolved) => objectNamed(resolved, plan.schema)(value, pending))
      : objectNamed(name, plan.schema)(value, pending);
  };
}

function list(type: GraphQLList<GraphQLOutputType>, details: CompletedField): Complete {
  const itemType = type.ofType;
  const entry: CompletedField = { ...details, typename: undefined, isNonNull: isNonNullType(itemType) };
  const leaf = createLeafCompleter(itemType, details);
  const complete = createListCompleter({ entry, leaf, complete: leaf ?? createCompleter(itemType, entry) });
  return (value, pending) => (isAbsent(value) ? null : complete(value, pending));
}

/** Whether a value is null or undefined. Errors: the value itself, if it is an Error. */
function isAbsent(value: unknown): boolean {
  if (value instanceof Error) throw value;
  return value === null || value === undefined;
}
