import {
  type DocumentNode,
  defaultFieldResolver,
  type ExecutionResult,
  type FieldNode,
  type GraphQLAbstractType,
  GraphQLError,
  type GraphQLField,
  type GraphQLFieldResolver,
  GraphQLID,
  type GraphQLInputType,
  type GraphQLLeafType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  GraphQLString,
  getArgumentValues,
  getNullableType,
  isAbstractType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
  TypeNameMetaFieldDef,
  visit,
} from 'graphql';
import { AnswerBudget, nameBytes, unlimited } from './answer-budget.ts';
import { attempt } from './errors.ts';
import { run } from './execute.ts';
import { type ExecuteOptions, Execution } from './execution.ts';
import { collectFields, fragmentsOf, isOfSource, type SelectedField, type Selection } from './selection.ts';

/**
 * Compiles operations. Other executors determine for each record of each request which fields are selected, their types, and how
 * their values are completed. Here, this is determined once for each operation, and stored in a plan.
 *
 * A plan is plain data, which execute.ts interprets. No code is generated from the document: graphql-jit does that, and a
 * client's string literal may then be executed as code.
 */
export interface PrepareOptions {
  readonly schema: GraphQLSchema;
  /** The validated document. */
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  /** Whether errors leave out suggestions that name parts of the schema. */
  readonly hideSuggestions?: boolean;
}

export interface PreparedOperation {
  /**
   * Runs the operation. Never throws and never rejects. An answer that would be too large is only an AnswerLimitError;
   * one with too many errors ends with an error that says so (answer-budget.ts). It is complete: @defer and @stream are
   * ignored. `variables`: as graphql's getVariableValues coerces them.
   */
  execute(
    context: unknown,
    variables: GraphQLResolveInfo['variableValues'],
    options?: ExecuteOptions,
  ): ExecutionResult | Promise<ExecutionResult>;
}

/** How many plans an operation keeps: one for each of the latest combinations of @skip and @include conditions. */
export const maxPlans = 2;

/**
 * Prepares a query or a mutation for repeated execution, with a plan for each combination of its @skip and @include
 * conditions.
 */
export function prepareOperation({
  schema,
  document,
  operation,
  hideSuggestions = false,
}: PrepareOptions): PreparedOperation {
  const { conditions, namesPrototype } = analyseDocument(document);
  const details = { schema, operation, fragments: fragmentsOf(document), hideSuggestions, namesPrototype };
  const plans = new Map<string, OperationPlan | GraphQLError>();
  /** The only plan, if no condition is a variable. */
  let only: OperationPlan | GraphQLError | null = null;

  const planFor = (coerced: Readonly<Record<string, unknown>>): OperationPlan | GraphQLError => {
    const key = conditions.map((name) => coerced[name]).join();
    const known = plans.get(key);
    if (known !== undefined) return known;
    const decided = Object.fromEntries(conditions.map((name) => [name, coerced[name]]));
    const plan = attempt(() => new OperationPlan(details, { coerced: decided, sources: {} }));
    const [oldest] = plans.keys();
    if (plans.size === maxPlans && oldest !== undefined) plans.delete(oldest);
    plans.set(key, plan);
    if (conditions.length === 0) only = plan;
    return plan;
  };

  return {
    execute(context, variableValues, options = {}) {
      const plan = only ?? planFor(variableValues.coerced);
      if (plan instanceof GraphQLError) return { errors: [plan], data: null };
      const { budget = new AnswerBudget(unlimited) } = options;
      const { constant } = plan.root;
      if (constant !== null && budget.admits(constant.values, constant.bytes)) return { data: constant.data };
      return run(new Execution({ plan, context, variableValues, budget, options }));
    },
  };
}

/** The variables that @skip and @include use, and whether a response name is `__proto__`. */
function analyseDocument(document: DocumentNode) {
  const conditions = new Set<string>();
  let namesPrototype = false;
  visit(document, {
    Directive({ name, arguments: given }) {
      if (name.value !== 'skip' && name.value !== 'include') return;
      for (const { value } of given ?? []) if (value.kind === Kind.VARIABLE) conditions.add(value.name.value);
    },
    Field({ alias }) {
      if (alias?.value === '__proto__') namesPrototype = true;
    },
  });
  return { conditions: [...conditions], namesPrototype };
}

/** The properties of an operation that are known before it is executed. */
interface OperationDetails {
  readonly schema: GraphQLSchema;
  readonly operation: OperationDefinitionNode;
  readonly fragments: GraphQLResolveInfo['fragments'];
  readonly hideSuggestions: boolean;
  /** Whether a response name is `__proto__`, which would set the prototype of an ordinary object. */
  readonly namesPrototype: boolean;
}

/** An operation whose @skip and @include conditions are known. */
export class OperationPlan {
  readonly details: OperationDetails;
  readonly root: ObjectPlan;
  /** The fields of a mutation, which are executed one after the other; null for a query. */
  readonly serial: readonly ObjectPlan[] | null;
  /** The variables used by @skip and @include only: a plan outlives the request that it was compiled for. */
  readonly #conditions: Selection['variableValues'];
  #fieldCount = 0;

  /**
   * Errors: GraphQLError if a condition at the root is null; an Error if
   * the schema has no root type for the operation.
   */
  constructor(details: OperationDetails, conditions: Selection['variableValues']) {
    const { schema, operation } = details;
    this.details = details;
    this.#conditions = conditions;
    const type = schema.getRootType(operation.operation);
    if (!type) throw new Error(`the schema has no ${operation.operation}`);
    this.root = this.compileObject([operation], type);
    const { fields } = this.root;
    if (operation.operation !== 'mutation') this.serial = null;
    else this.serial = fields.length === 1 ? [this.root] : fields.map((field) => new ObjectPlan([field]));
  }

  /** Errors: GraphQLError if a condition is null. */
  compileObject(fieldNodes: Selection['fieldNodes'], type: GraphQLObjectType): ObjectPlan {
    const { schema, fragments } = this.details;
    const selection = { schema, fragments, variableValues: this.#conditions, fieldNodes };
    const fields = collectFields(selection, type, true);
    return new ObjectPlan(fields.map((field) => new FieldPlan(this, field, type, this.#fieldCount++)));
  }
}

/** The fields that are selected on an object. */
export class ObjectPlan {
  readonly fields: readonly FieldPlan[];
  /** The length of the fields' names in JSON; a lower bound. */
  readonly nameBytes: number;

  /** The object itself if all its fields are constant: the same, frozen one for each answer. */
  readonly constant: ConstantObject | null;

  constructor(fields: readonly FieldPlan[]) {
    this.fields = fields;
    this.nameBytes = fields.reduce((bytes, { name }) => bytes + name.length + nameBytes, 0);
    this.constant = constantObject(this);
  }
}

interface ConstantObject {
  readonly data: Readonly<Record<string, unknown>>;
  readonly values: number;
  readonly bytes: number;
}

function constantObject({
  fields,
  nameBytes,
}: Pick<ObjectPlan, 'fields' | 'nameBytes'>): ConstantObject | null {
  // Such a name would need an object without a prototype.
  if (fields.some(({ name, constant }) => constant === undefined || name === '__proto__')) return null;
  const data = Object.freeze(Object.fromEntries(fields.map(({ name, constant }) => [name, constant])));
  const bytes = fields.reduce((sum, { constant = '' }) => sum + constant.length, nameBytes);
  return { data, values: fields.length, bytes };
}

/** The static properties of a field's value, or of the entries of its list. */
export class ValuePlan {
  /** The field's response name (its alias, if it has one). */
  readonly name: string;
  readonly field: SelectedField['field'];
  readonly nodes: readonly FieldNode[];
  readonly parentType: GraphQLObjectType;
  /** The parent type's name, as in a response path; undefined for list entries. */
  readonly typename: string | undefined;
  readonly isNonNull: boolean;
  /** The type of the value without its list and non-null wrappers that were unwrapped: exactly one of these is set. */
  readonly leaf: GraphQLLeafType | null;
  readonly object: GraphQLObjectType | null;
  readonly abstract: GraphQLAbstractType | null;
  /** The plan of the list's entries. */
  readonly entry: ValuePlan | null;
  /** Whether strings need no coercion. */
  readonly isText: boolean;
  /** The plan of `object`, once it has been compiled. */
  objectPlan: ObjectPlan | null = null;
  /** The fields that are selected on an object of this type; compiled when the first one is completed. Errors: GraphQLError. */
  readonly objectPlanOf: (type: GraphQLObjectType) => ObjectPlan;

  constructor(
    { name, field, nodes }: SelectedField,
    parentType: GraphQLObjectType,
    objectPlanOf: ValuePlan['objectPlanOf'],
    /** The type of a list's entries; by default the field's type. */
    entryType?: GraphQLOutputType,
  ) {
    const type = entryType ?? field.type;
    const nullable = getNullableType(type);
    const named = isListType(nullable) ? null : nullable;
    this.name = name;
    this.field = field;
    this.nodes = nodes;
    this.parentType = parentType;
    this.typename = entryType === undefined ? parentType.name : undefined;
    this.isNonNull = isNonNullType(type);
    this.leaf = isLeafType(named) ? named : null;
    this.object = named === null || isLeafType(named) || isAbstractType(named) ? null : named;
    this.abstract = isAbstractType(named) ? named : null;
    this.entry = isListType(nullable) ? new ValuePlan(this, parentType, objectPlanOf, nullable.ofType) : null;
    // The most frequent values, which coercion would return unchanged.
    this.isText = named === GraphQLString || named === GraphQLID;
    this.objectPlanOf = objectPlanOf;
  }
}

/** A field of an object. */
export class FieldPlan extends ValuePlan {
  /** The field's value if it is the same for every object, as that of __typename. */
  readonly constant: string | undefined;
  /** Null if the field has no resolver: it reads the property of its object. */
  readonly resolve: GraphQLFieldResolver<unknown, unknown> | null;
  /** Whether the resolver may read its `info`. */
  readonly takesInfo: boolean;
  /** The arguments if none of them uses a variable: they are frozen and the same for each call; otherwise null. */
  readonly arguments: Readonly<Record<string, unknown>> | null;
  /** The index of its arguments among those of an execution. */
  readonly index: number;

  constructor(plan: OperationPlan, selected: SelectedField, parentType: GraphQLObjectType, index: number) {
    const { field, nodes } = selected;
    super(
      selected,
      parentType,
      memoised((type: GraphQLObjectType) => attempt(() => plan.compileObject(nodes, type))),
    );
    this.constant = field === TypeNameMetaFieldDef ? parentType.name : undefined;
    // Pothos gives each exposed field the default resolver.
    const { resolve = defaultFieldResolver } = field;
    this.resolve = resolve === defaultFieldResolver ? null : resolve;
    this.takesInfo = !isOfSource(field.resolve);
    this.arguments = argumentsWithoutVariables(field, nodes, plan.details.operation);
    this.index = index;
  }
}

/** Errors: GraphQLError if `make` returns one. */
function memoised<Key, Value extends object>(make: (key: Key) => Value | GraphQLError): (key: Key) => Value {
  const made = new Map<Key, Value | GraphQLError>();
  return (key) => {
    let value = made.get(key);
    if (value === undefined) {
      value = make(key);
      made.set(key, value);
    }
    if (value instanceof GraphQLError) throw value;
    return value;
  };
}

const none = Object.freeze({});

function argumentsWithoutVariables(
  field: GraphQLField<unknown, unknown>,
  [node]: readonly FieldNode[],
  { variableDefinitions }: OperationDefinitionNode,
): Readonly<Record<string, unknown>> | null {
  if (field.args.length === 0) return none;
  if (node === undefined) return null;
  // Without variables these are defaults and literals, which validation has already checked.
  const mayHaveVariables = variableDefinitions !== undefined && variableDefinitions.length > 0;
  if (mayHaveVariables && node.arguments?.some(({ value }) => hasVariable(value))) return null;
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
    const fields = nullable.getFields();
    for (const [name, member] of Object.entries(value))
      if (typeof member === 'object' && fields[name] !== undefined) freeze(member, fields[name].type);
    Object.freeze(value);
  }
}
