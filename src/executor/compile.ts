import {
  type FieldNode,
  GraphQLError,
  type GraphQLField,
  type GraphQLFieldResolver,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getArgumentValues,
  getNullableType,
  isInputObjectType,
  isListType,
  isNonNullType,
  type OperationDefinitionNode,
  TypeNameMetaFieldDef,
} from 'graphql';
import {
  type Complete,
  type CompleteLeaf,
  createCompleter,
  createLeafCompleter,
  type FieldDetails,
} from './complete-value.ts';
import { collectFields, type SelectedField } from './selection.ts';

/**
 * An operation whose @skip and @include are decided, prepared to be executed again and again: what an executor finds out
 * anew for each record of each request (which fields are selected, of which types they are, how their values are
 * completed) is found out once. Objects are prepared when the first of their type turns up.
 *
 * It is made of closures. No code is generated from the document: graphql-jit, which does that, runs what a client puts
 * into a string literal.
 */
export interface OperationPlan {
  readonly schema: GraphQLSchema;
  readonly operation: OperationDefinitionNode;
  readonly fragments: GraphQLResolveInfo['fragments'];
  readonly hideSuggestions: boolean;
  readonly fields: readonly FieldPlan[];
  /** Whether a name of the answer is `__proto__`, which sets the prototype of an object that has one. */
  readonly namesPrototype: boolean;
  /** How many fields have been prepared, which number the arguments of an execution. */
  size: number;
}

/** One field of an object, under its name in the answer. */
export interface FieldPlan extends FieldDetails {
  readonly name: string;
  /** The field's value where it is the same for every object: that of __typename. */
  readonly constant: string | undefined;
  /** Null: the field is a property of its object. */
  readonly resolve: GraphQLFieldResolver<unknown, unknown> | null;
  /** Whether the resolver may look at `info`. */
  readonly takesInfo: boolean;
  /** The arguments, where no variable is among them: they are the same each time, and nobody may change them. */
  readonly arguments: Readonly<Record<string, unknown>> | null;
  /** Its place among the arguments of an execution. */
  readonly index: number;
  readonly complete: Complete;
  /** The same, where the field's type is a leaf. */
  readonly leaf: CompleteLeaf | null;
}

interface CompileOptions {
  readonly schema: GraphQLSchema;
  readonly operation: OperationDefinitionNode;
  readonly fragments: GraphQLResolveInfo['fragments'];
  /** The variables that decide its @skip and @include, and no others: a plan outlives its first request. */
  readonly variableValues: GraphQLResolveInfo['variableValues'];
  readonly hideSuggestions: boolean;
  readonly namesPrototype: boolean;
}

/** Errors: GraphQLError where a condition at the root is null; an Error where the schema has no root type for the operation. */
export function compileOperation(options: CompileOptions): OperationPlan {
  const { schema, operation, fragments, hideSuggestions, namesPrototype } = options;
  const type = schema.getRootType(operation.operation);
  if (!type) throw new Error(`the schema has no ${operation.operation}`);
  const fields: FieldPlan[] = [];
  const plan: OperationPlan = {
    schema,
    operation,
    fragments,
    hideSuggestions,
    fields,
    namesPrototype,
    size: 0,
  };

  const fieldsOf = (
    nodes: readonly Pick<FieldNode, 'selectionSet'>[],
    parentType: GraphQLObjectType,
  ): FieldPlan[] =>
    collectFields({ ...options, fieldNodes: nodes }, parentType, true).map((selected) =>
      fieldOf(selected, parentType),
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
    const details: FieldDetails = { field, nodes, parentType, typename, isNonNull, fieldsOf: objectOf };
    return {
      ...details,
      name,
      constant: field === TypeNameMetaFieldDef ? parentType.name : undefined,
      resolve,
      takesInfo: resolve !== null && takesInfo(resolve),
      arguments: argumentsWithoutVariables(field, nodes),
      index: plan.size++,
      leaf: createLeafCompleter(field.type, details),
      complete: createCompleter(field.type, details),
    };
  };

  fields.push(...fieldsOf([operation], type));
  return plan;
}

/**
 * Whether a resolver may look at its fourth argument. Its length does not say so alone: it counts neither rest parameters
 * nor any from the first with a default on.
 */
function takesInfo(resolve: GraphQLFieldResolver<unknown, unknown>): boolean {
  if (resolve.length > 3 || resolve.length === 0) return true;
  return /\.\.\.|\barguments\b|\[native code\]|^[^{]*[^=!<>]=[^=>]/.test(
    Function.prototype.toString.call(resolve),
  );
}

/** The error itself, where it is one of GraphQL: it is the same each time, and takes long to make. */
export function attempt<T>(make: () => T): T | GraphQLError {
  try {
    return make();
  } catch (error) {
    if (error instanceof GraphQLError) return error;
    throw error;
  }
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
  // Without variables, these are defaults and literals, which validation has held against their types.
  if (node === undefined || (node.arguments ?? []).some(({ value }) => hasVariable(value))) return null;
  try {
    const given = getArgumentValues(field, node);
    for (const { name, type } of field.args) freeze(given[name], type);
    return Object.freeze(given);
  } catch {
    // The same error comes back where the field is executed.
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

/** Freezes the lists and input objects that coercion made; the values of enums and scalars belong to the schema. */
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
