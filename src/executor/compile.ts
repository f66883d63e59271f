import {
  type DocumentNode,
  defaultFieldResolver,
  type FieldNode,
  type GraphQLAbstractType,
  GraphQLError,
  type GraphQLFieldResolver,
  GraphQLID,
  type GraphQLLeafType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  GraphQLString,
  getArgumentValues,
  getNamedType,
  getNullableType,
  isAbstractType,
  isLeafType,
  isListType,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
  TypeNameMetaFieldDef,
  visit,
} from 'graphql';
import { getOrMake } from '../get-or-make.ts';
import { nameBytes } from './answer-limits.ts';
import { attempt } from './errors.ts';
import { knownResolver } from './known-resolvers.ts';
import {
  collectFields,
  type DeferredNode,
  fragmentsOf,
  type SelectedField,
  type Selection,
} from './selection.ts';

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

/** The maximum number of plans that an operation keeps, one for each recently used combination of its @skip and @include conditions. */
const maxPlans = 8;

/** The maximum number of plans for each operation of a document. */
export const plansOf = (document: DocumentNode): number =>
  Math.min(maxPlans, 2 ** conditionsOf(document).length);

/**
 * A query or a mutation that is executed repeatedly (execute.ts, defer.ts), with a plan for each combination of its @skip and
 * @include conditions.
 */
export class PreparedOperation {
  readonly #details: Omit<OperationDetails, 'defers'>;
  readonly #conditions: readonly string[];
  /** The plans in the order of their last use. */
  readonly #plans = new Map<string, OperationPlan | GraphQLError>();

  constructor({ schema, document, operation, hideSuggestions = false }: PrepareOptions) {
    this.#details = { schema, operation, fragments: fragmentsOf(document), hideSuggestions };
    this.#conditions = conditionsOf(document);
  }

  /** The plan for these variables, as graphql's getVariableValues coerces them; a GraphQLError if a condition at the root is null. */
  planFor({ coerced }: GraphQLResolveInfo['variableValues'], defers: boolean): OperationPlan | GraphQLError {
    let key = String(defers);
    for (const name of this.#conditions) key += `,${coerced[name]}`;
    const known = this.#plans.get(key);
    if (known !== undefined && this.#conditions.length === 0) return known;
    const plan = known ?? this.#compile(coerced, defers);
    this.#plans.delete(key);
    this.#plans.set(key, plan);
    const [oldest] = this.#plans.keys();
    if (this.#plans.size > maxPlans && oldest !== undefined) this.#plans.delete(oldest);
    return plan;
  }

  #compile(coerced: Readonly<Record<string, unknown>>, defers: boolean): OperationPlan | GraphQLError {
    const decided = Object.fromEntries(this.#conditions.map((name) => [name, coerced[name]]));
    return attempt(() => new OperationPlan({ ...this.#details, defers }, { coerced: decided, sources: {} }));
  }
}

/** The variables that @skip, @include and @defer use. */
function conditionsOf(document: DocumentNode): readonly string[] {
  const conditions = new Set<string>();
  visit(document, {
    Directive({ name, arguments: given }) {
      if (!['skip', 'include', 'defer'].includes(name.value)) return;
      for (const { value } of given ?? []) if (value.kind === Kind.VARIABLE) conditions.add(value.name.value);
    },
  });
  return [...conditions];
}

interface CollectedField extends SelectedField {
  readonly nodes: FieldNode[];
}

interface CollectedObject {
  readonly names: readonly string[];
  readonly fields: readonly CollectedField[];
  readonly deferred: readonly (CollectedObject & { readonly label: string | undefined })[];
}

/** The properties of an operation, which are known before its execution. */
interface OperationDetails {
  readonly schema: GraphQLSchema;
  readonly operation: OperationDefinitionNode;
  readonly fragments: GraphQLResolveInfo['fragments'];
  readonly hideSuggestions: boolean;
  /** Whether fragments with @defer are delivered later. */
  readonly defers: boolean;
}

/** An operation whose @skip and @include conditions are known. */
export class OperationPlan {
  readonly details: OperationDetails;
  /** The fields at the root. Those of a mutation are executed one after the other, so each has a plan of its own. */
  readonly steps: readonly ObjectPlan[];
  /**
   * The values of the variables in @skip and @include. The other variables are left out, because a plan outlives the request
   * for which it was compiled.
   */
  readonly #conditions: Selection['variableValues'];

  /** Errors: GraphQLError if a condition at the root is null; Error if the schema has no root type for the operation. */
  constructor(details: OperationDetails, conditions: Selection['variableValues']) {
    const { schema, operation } = details;
    this.details = details;
    this.#conditions = conditions;
    const type = schema.getRootType(operation.operation);
    if (!type) throw new Error(`the schema has no ${operation.operation}`);
    const root = this.compileObject([operation], type);
    const isSerial = operation.operation === 'mutation';
    this.steps = isSerial ? root.fields.map((field) => new ObjectPlan([field])) : [root];
  }

  /** Errors: GraphQLError if a condition is null. */
  compileObject(fieldNodes: Selection['fieldNodes'], type: GraphQLObjectType): ObjectPlan {
    return this.#planOf(this.#collect(fieldNodes, type, new Map()), type);
  }

  /** Collects selected fields. `outer`: the fields that the object has outside this fragment, by name. They are not executed again. */
  #collect(
    fieldNodes: Selection['fieldNodes'],
    type: GraphQLObjectType,
    outer: ReadonlyMap<string, CollectedField>,
  ): CollectedObject {
    const { schema, fragments, defers } = this.details;
    const selection = { schema, fragments, variableValues: this.#conditions, fieldNodes };
    const deferred: DeferredNode[] = [];
    const fields: CollectedField[] = [];
    const names: string[] = [];
    for (const { name, field, nodes } of collectFields(selection, type, defers ? deferred : null)) {
      names.push(name);
      const known = outer.get(name);
      if (known === undefined) fields.push({ name, field, nodes: [...nodes] });
      // The object has this field already. What the fragment selects below the field is delivered with the field.
      else if (!isLeafType(getNamedType(field.type))) known.nodes.push(...nodes);
    }
    const all = new Map([...outer, ...fields.map((field) => [field.name, field] as const)]);
    return {
      names,
      fields,
      deferred: deferred.map((node) => ({ label: node.label, ...this.#collect([node], type, all) })),
    };
  }

  #planOf({ fields, deferred }: CollectedObject, type: GraphQLObjectType): ObjectPlan {
    return new ObjectPlan(
      fields.map((field) => new FieldPlan(this, field, type)),
      deferred.map((fragment) => ({
        label: fragment.label,
        names: fragment.names,
        object: this.#planOf(fragment, type),
      })),
    );
  }
}

/** The selected fields of an object. */
export class ObjectPlan {
  readonly fields: readonly FieldPlan[];
  /** The length of the fields' names in JSON; a lower bound. */
  readonly nameBytes: number;
  /** Whether a response name is `__proto__`, which would set the prototype of an ordinary object. */
  readonly namesPrototype: boolean;
  /** Whether some fields may be resolved before the object is read. */
  readonly hasEarly: boolean;
  /** The fragments that are delivered later. */
  readonly deferred: readonly DeferredPlan[];
  /** The plan of all fields, including those of the deferred fragments. */
  readonly whole: ObjectPlan;

  constructor(fields: readonly FieldPlan[], deferred: readonly DeferredPlan[] = []) {
    this.fields = fields;
    this.deferred = deferred;
    this.whole =
      deferred.length === 0
        ? this
        : new ObjectPlan([...fields, ...deferred.flatMap(({ object }) => object.whole.fields)]);
    this.hasEarly = fields.some(({ isEarly }) => isEarly);
    this.nameBytes = fields.reduce((bytes, { name }) => bytes + name.length + nameBytes, 0);
    this.namesPrototype = fields.some(({ name }) => name === '__proto__');
  }
}

/** A fragment that is delivered later. */
export interface DeferredPlan {
  readonly label: string | undefined;
  /** The names of all fields of the fragment. */
  readonly names: readonly string[];
  /** The fields that the object does not have without the fragment. */
  readonly object: ObjectPlan;
}

/** What is known about a field's value, or about the entries of its list, before the execution. */
export class ValuePlan {
  /** The field's response name (its alias, if it has one). */
  readonly name: string;
  readonly field: SelectedField['field'];
  readonly nodes: SelectedField['nodes'];
  readonly parentType: GraphQLObjectType;
  readonly isNonNull: boolean;
  /** The value's type. Exactly one of the next four members is set: a leaf, object or abstract type, or the plan of a list's entries. */
  readonly leaf: GraphQLLeafType | null;
  readonly object: GraphQLObjectType | null;
  readonly abstract: GraphQLAbstractType | null;
  /** The plan of the list's entries. */
  readonly entry: ValuePlan | null;
  /** Whether a string from the resolver goes into the answer unchanged: the type is String or ID. */
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
    type: GraphQLOutputType = field.type,
  ) {
    const nullable = getNullableType(type);
    const named = isListType(nullable) ? null : nullable;
    this.name = name;
    this.field = field;
    this.nodes = nodes;
    this.parentType = parentType;
    this.isNonNull = isNonNullType(type);
    this.leaf = isLeafType(named) ? named : null;
    this.object = named === null || isLeafType(named) || isAbstractType(named) ? null : named;
    this.abstract = isAbstractType(named) ? named : null;
    this.entry = isListType(nullable) ? new ValuePlan(this, parentType, objectPlanOf, nullable.ofType) : null;
    // String and ID are the most frequent types, and coercion would return their strings unchanged.
    this.isText = named === GraphQLString || named === GraphQLID;
    this.objectPlanOf = objectPlanOf;
  }
}

/** A field of an object. */
export class FieldPlan extends ValuePlan {
  /** The field's value if it is the same for every object, such as __typename. */
  readonly constant: string | undefined;
  /** The property that the resolver reads; null if the resolver does anything else. */
  readonly property: string | null;
  /** The object's member in which the property is; null if it is in the object itself. */
  readonly holder: string | null;
  readonly resolve: GraphQLFieldResolver<unknown, unknown>;
  /** Whether the resolver may read its `info`. */
  readonly takesInfo: boolean;
  /** Whether the resolver may run before its object is read. */
  readonly isEarly: boolean;
  /** The arguments if they are the same for each call; otherwise null, and Execution computes them. */
  readonly arguments: Readonly<Record<string, unknown>> | null;

  constructor(plan: OperationPlan, selected: SelectedField, parentType: GraphQLObjectType) {
    const { field, nodes } = selected;
    const plans = new Map<GraphQLObjectType, ObjectPlan | GraphQLError>();
    super(selected, parentType, (type) => {
      // A selection that cannot be compiled fails in the same way for each record, so its error is kept too.
      const compiled = getOrMake(plans, type, () => attempt(() => plan.compileObject(nodes, type)));
      if (compiled instanceof GraphQLError) throw compiled;
      return compiled;
    });
    this.constant = field === TypeNameMetaFieldDef ? parentType.name : undefined;
    // Pothos gives each exposed field the default resolver.
    const { resolve = defaultFieldResolver } = field;
    const { property, holder = null, usesOnlySource, isEarly } = knownResolver(resolve);
    // A field with arguments does not count: invalid arguments are errors, even if the resolver does not use them.
    const onlyReads = field.args.length === 0 && (resolve === defaultFieldResolver || property !== undefined);
    this.property = onlyReads ? (property ?? field.name) : null;
    this.holder = holder;
    this.resolve = resolve;
    this.takesInfo = usesOnlySource !== true;
    this.isEarly = isEarly === true;
    const [node] = nodes;
    this.arguments = node ? sharedArguments(field, node) : null;
  }
}

/** A field's arguments if they are the same for each call and no resolver can change them; otherwise null. */
function sharedArguments(field: SelectedField['field'], node: FieldNode) {
  const isConstant = node.arguments?.every(
    ({ value: { kind } }) => kind !== Kind.VARIABLE && kind !== Kind.LIST && kind !== Kind.OBJECT,
  );
  if (isConstant === false) return null;
  try {
    const values = getArgumentValues(field, node);
    return Object.values(values).some((value) => Object(value) === value) ? null : Object.freeze(values);
  } catch {
    // The error is not lost: each call of the field computes its arguments again, and reports it.
    return null;
  }
}
