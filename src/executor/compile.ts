import {
  type FieldNode,
  GraphQLError,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  getArgumentValues,
  getNullableType,
  isInputObjectType,
  isListType,
  isNonNullType,
  TypeNameMetaFieldDef,
} from 'graphql';
import { attempt } from './attempt.ts';
import { createCompleter, createLeafCompleter } from './complete-value.ts';
import type { FieldPlan } from './execute-fields.ts';
import type { OperationDetails } from './plan.ts';
import { collectFields, type SelectedField } from './selection.ts';

/**
 * An operation whose @skip and @include conditions are known, compiled for repeated execution. What an executor
 * otherwise works out for each record of each request (which fields are selected, their types, how their values are
 * completed) is worked out once. An object type is compiled when its first object is completed.
 *
 * The plan consists of closures. No code is generated from the document: graphql-jit does that, and executes what a
 * client puts into a string literal.
 */
export interface OperationPlan extends OperationDetails {
  readonly fields: readonly FieldPlan[];
}

interface CompileOptions extends OperationDetails {
  /** The variables used by @skip and @include only: a plan outlives the request that it was compiled for. */
  readonly variableValues: GraphQLResolveInfo['variableValues'];
}

/**
 * Errors: GraphQLError if a condition at the root is null; an Error if
 * the schema has no root type for the operation.
 */
export function compileOperation(options: CompileOptions): OperationPlan {
  const { variableValues, ...details } = options;
  const { schema, operation, fragments } = details;
  const type = schema.getRootType(operation.operation);
  if (!type) throw new Error(`the schema has no ${operation.operation}`);
  let size = 0;

  const fieldsOf = (
    nodes: readonly Pick<FieldNode, 'selectionSet'>[],
    parentType: GraphQLObjectType,
  ): FieldPlan[] =>
    collectFields({ schema, fragments, variableValues, fieldNodes: nodes }, parentType, true).map(
      (selected) => fieldOf(selected, parentType),
    );

  const fieldOf = ({ name, field, nodes }: SelectedField, parentType: GraphQLObjectType): FieldPlan => {
    const { resolve = null } = field;
    const isNonNull = isNonNullType(field.type);
    const typename = parentType.name;
    const known = memoised((objectType: GraphQLObjectType) => attempt(() => fieldsOf(nodes, objectType)));
    const objectOf = (objectType: GraphQLObjectType) => {
      const fields = known(objectType);
      if (fields instanceof GraphQLError) throw fields;
      return fields;
    };
    const below = { name, field, nodes, parentType, typename, isNonNull, fieldsOf: objectOf };
    return {
      ...below,
      constant: field === TypeNameMetaFieldDef ? parentType.name : undefined,
      resolve,
      arguments: argumentsWithoutVariables(field, nodes),
      index: size++,
      leaf: createLeafCompleter(field.type, below),
      complete: createCompleter(field.type, below),
    };
  };

  return { ...details, fields: fieldsOf([operation], type) };
}

function memoised<Key, Value extends object>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new Map<Key, Value>();
  return (key) => {
    const value = made.get(key) ?? make(key);
    made.set(key, value);
    return value;
  };
}

const none = Object.freeze({});

function argumentsWithoutVariables(
  field: GraphQLField<unknown, unknown>,
  [node]: readonly FieldNode[],
): Readonly<Record<string, unknown>> | null {
  if (field.args.length === 0) return none;
  // Without variables these are defaults and literals, which validation has already checked.
  if (node === undefined || (node.arguments ?? []).some(({ value }) => hasVariable(value))) return null;
  try {
    const given = getArgumentValues(field, node);
    for (const { name, type } of field.args) freeze(given[name], type);
    return Object.freeze(given);
  } catch {
    // Executing the field reports the same error.
    return null;
  }
}

const hasVariable = (value: object): boolean =>
  Reflect.get(value, 'kind') === 'Variable' ||
  (['values', 'fields', 'value'] as const).some((member) => {
    const below: unknown = Reflect.get(value, member);
    if (Array.isArray(below)) return below.some(hasVariable);
    return typeof below === 'object' && below !== null && hasVariable(below);
  });

/**
 * Freezes the lists and input objects that coercion created; the values of enums and scalars belong to the schema.
 */
function freeze(value: unknown, type: GraphQLInputType): void {
  if (typeof value !== 'object' || value === null) return;
  const nullable = getNullableType(type);
  if (isListType(nullable) && Array.isArray(value)) {
    for (const entry of value) freeze(entry, nullable.ofType);
    Object.freeze(value);
  } else if (isInputObjectType(nullable)) {
    for (const field of Object.values(nullable.getFields()))
      freeze(Reflect.get(value, field.name), field.type);
    Object.freeze(value);
  }
}
