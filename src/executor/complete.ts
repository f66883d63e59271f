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
  isAbstractType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import type { FieldPlan } from './compile.ts';
import { executeFields, isPromise, type Path, swallow } from './execution.ts';
import type { FieldPlace } from './field-place.ts';

/**
 * Makes a value of the answer of what the field's resolver gave, or a promise of one. `path` is where it stands: the field's
 * place, or that of an entry of its list.
 * Errors: what is wrong with the value; the field, or the entry of a list, that holds it says where.
 */
export type Complete = (value: unknown, field: FieldPlace, path: Path) => unknown;

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
  return (value, at, path) => {
    const completed = complete(value, at, path);
    return completed instanceof Promise ? completed.then(check) : check(completed);
  };
}

function leaf(type: GraphQLLeafType): Complete {
  const complete = ifPresent((value) => {
    const coerced = type.coerceOutputValue(value);
    if (coerced === null || coerced === undefined)
      throw new Error(`Expected \`${type.name}.coerceOutputValue\` to return a value that is not null.`);
    return coerced;
  });
  if (type !== GraphQLString && type !== GraphQLID) return complete;
  // What most values are, and what coercion leaves as it is.
  return (value, at, path) => (typeof value === 'string' ? value : complete(value, at, path));
}

function object(type: GraphQLObjectType, { nodes, objectOf }: Place): Complete {
  let fields: readonly FieldPlan[] | null = null;
  const refuse = () => new GraphQLError(`Expected value of type "${type.name}".`, { nodes });
  const check = (isOfType: unknown) => {
    if (!isOfType) throw refuse();
  };
  const complete: Complete = (value, { execution }, path) => {
    fields ??= objectOf(type);
    return executeFields(execution, fields, value, path);
  };
  const { isTypeOf } = type;
  if (!isTypeOf) return ifPresent(complete);
  return ifPresent((value, at, path) => {
    const { execution } = at;
    const isOfType = isTypeOf(value, execution.context, at);
    if (isPromise(isOfType))
      return execution.after(isOfType, (resolved) => {
        check(resolved);
        return complete(value, at, path);
      });
    check(isOfType);
    return complete(value, at, path);
  });
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
  return ifPresent((value, at, path) => {
    const { execution } = at;
    const name = resolveType(value, execution.context, at, type);
    return isPromise(name)
      ? execution.after(name, (resolved) => objectNamed(resolved, at)(value, at, path))
      : objectNamed(name, at)(value, at, path);
  });
}

function list(type: GraphQLList<GraphQLOutputType>, place: Place): Complete {
  const complete = completerOf(type.ofType, place);
  const isItemNonNull = isNonNullType(type.ofType);
  const { parentType, field, nodes } = place;

  function completeItem(item: unknown, at: FieldPlace, path: Path): unknown {
    try {
      if (isPromise(item)) return completeItemLater(item, at, path);
      const completed = complete(item, at, path);
      return completed instanceof Promise ? completed.then(undefined, failing(at, path)) : completed;
    } catch (error) {
      return at.execution.fail(error, nodes, path, isItemNonNull);
    }
  }

  const completeItemLater = (item: PromiseLike<unknown>, at: FieldPlace, path: Path) =>
    at.execution.after(item, (resolved) => complete(resolved, at, path), failing(at, path));

  const failing = (at: FieldPlace, path: Path) => (error: unknown) =>
    at.execution.fail(error, nodes, path, isItemNonNull);

  return ifPresent((value, at, path) => {
    if (typeof value !== 'object' || value === null || !(Symbol.iterator in value))
      throw new GraphQLError(
        `Expected Iterable, but did not find one for field "${parentType.name}.${field.name}".`,
      );
    const completed: unknown[] = [];
    let pending = 0;
    try {
      for (const item of value as Iterable<unknown>) {
        const place = { prev: path, key: completed.length, typename: undefined };
        const done = completeItem(item, at, place);
        if (done instanceof Promise) pending++;
        completed.push(done);
      }
    } catch (error) {
      swallow(completed);
      throw error;
    }
    return pending === 0 ? completed : Promise.all(completed);
  });
}

/** An error in a value's place is thrown, and null is null. */
const ifPresent =
  (complete: Complete): Complete =>
  (value, at, path) => {
    if (value instanceof Error) throw value;
    return value === null || value === undefined ? null : complete(value, at, path);
  };
