import {
  defaultTypeResolver,
  type FieldNode,
  type GraphQLAbstractType,
  type GraphQLField,
  GraphQLError,
  type GraphQLLeafType,
  type GraphQLList,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  isAbstractType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import type { FieldPlan } from './compile.ts';
import { type Execution, executeFields, isPromise, type Path, swallow } from './execution.ts';

/**
 * Makes a value of the answer of what a resolver gave, or a promise of one. `path` is where it stands.
 * Errors: what is wrong with the value; the field, or the entry of a list, that holds it says where.
 */
export type Complete = (
  value: unknown,
  execution: Execution,
  info: GraphQLResolveInfo,
  path: Path | undefined,
) => unknown;

interface Place {
  readonly parentType: GraphQLObjectType;
  readonly field: GraphQLField<unknown, unknown>;
  readonly nodes: readonly FieldNode[];
  /** The fields that are selected of an object of this type. */
  readonly objectOf: (type: GraphQLObjectType) => readonly FieldPlan[];
}

/** How the values of a type are completed: the specification's CompleteValue, decided once for each field. */
export function completerOf(type: GraphQLOutputType, place: Place): Complete {
  if (isNonNullType(type)) return nonNull(completerOf(type.ofType, place), place);
  if (isListType(type)) return list(type, place);
  if (isLeafType(type)) return leaf(type);
  if (isAbstractType(type)) return abstract(type, place);
  return object(type, place);
}

function nonNull(complete: Complete, { parentType, field }: Place): Complete {
  const check = (completed: unknown) => {
    if (completed === null)
      throw new Error(`Cannot return null for non-nullable field ${parentType.name}.${field.name}.`);
    return completed;
  };
  return (value, execution, info, path) => {
    const completed = complete(value, execution, info, path);
    return completed instanceof Promise ? completed.then(check) : check(completed);
  };
}

function leaf(type: GraphQLLeafType): Complete {
  return (value) => {
    if (value instanceof Error) throw value;
    if (value === null || value === undefined) return null;
    const coerced = type.coerceOutputValue(value);
    if (coerced === null || coerced === undefined)
      throw new Error(`Expected \`${type.name}.coerceOutputValue\` to return a value that is not null.`);
    return coerced;
  };
}

function object(type: GraphQLObjectType, { nodes, objectOf }: Place): Complete {
  let fields: readonly FieldPlan[] | null = null;
  const refuse = () => new GraphQLError(`Expected value of type "${type.name}".`, { nodes });
  return (value, execution, info, path) => {
    if (value instanceof Error) throw value;
    if (value === null || value === undefined) return null;
    fields ??= objectOf(type);
    if (type.isTypeOf) {
      const isOfType = type.isTypeOf(value, execution.context, info);
      if (isPromise(isOfType))
        return execution.after(isOfType, (resolved) => {
          if (!resolved) throw refuse();
          return executeFields(execution, fields ?? [], value, path);
        });
      if (!isOfType) throw refuse();
    }
    return executeFields(execution, fields, value, path);
  };
}

function abstract(type: GraphQLAbstractType, place: Place): Complete {
  const resolveType = type.resolveType ?? defaultTypeResolver;
  const objects = new Map<string, Complete>();
  /** Errors: GraphQLError where there is no such type, or it is none of this abstract one. */
  const objectNamed = (name: unknown, { schema }: GraphQLResolveInfo): Complete => {
    const known = objects.get(String(name));
    if (known !== undefined) return known;
    const named = typeof name === 'string' ? schema.getType(name) : undefined;
    if (!isObjectType(named) || !schema.isSubType(type, named)) {
      const at = `${place.parentType.name}.${place.field.name}`;
      throw new GraphQLError(
        `Abstract type "${type.name}" must resolve to one of its object types at runtime for field "${at}".`,
        { nodes: place.nodes },
      );
    }
    const complete = object(named, place);
    objects.set(named.name, complete);
    return complete;
  };
  return (value, execution, info, path) => {
    if (value instanceof Error) throw value;
    if (value === null || value === undefined) return null;
    const name = resolveType(value, execution.context, info, type);
    return isPromise(name)
      ? execution.after(name, (resolved) => objectNamed(resolved, info)(value, execution, info, path))
      : objectNamed(name, info)(value, execution, info, path);
  };
}

function list(type: GraphQLList<GraphQLOutputType>, place: Place): Complete {
  const complete = completerOf(type.ofType, place);
  const isItemNonNull = isNonNullType(type.ofType);
  const { parentType, field, nodes } = place;

  function completeItem(item: unknown, execution: Execution, info: GraphQLResolveInfo, path: Path) {
    const fail = (error: unknown) => execution.fail(error, nodes, path, isItemNonNull);
    try {
      if (isPromise(item))
        return execution.after(item, (resolved) => complete(resolved, execution, info, path)).catch(fail);
      const completed = complete(item, execution, info, path);
      return completed instanceof Promise ? completed.catch(fail) : completed;
    } catch (error) {
      return fail(error);
    }
  }

  return (value, execution, info, path) => {
    if (value instanceof Error) throw value;
    if (value === null || value === undefined) return null;
    if (typeof value !== 'object' || !(Symbol.iterator in value))
      throw new GraphQLError(
        `Expected Iterable, but did not find one for field "${parentType.name}.${field.name}".`,
      );
    const completed: unknown[] = [];
    let isPending = false;
    try {
      for (const item of value as Iterable<unknown>) {
        const done = completeItem(item, execution, info, {
          prev: path,
          key: completed.length,
          typename: undefined,
        });
        if (done instanceof Promise) isPending = true;
        completed.push(done);
      }
    } catch (error) {
      swallow(completed);
      throw error;
    }
    return isPending ? Promise.all(completed) : completed;
  };
}
