import { type FieldNode, GraphQLError, type GraphQLResolveInfo, getArgumentValues } from 'graphql';
import { type AnswerBudget, nameBytes } from './answer-budget.ts';
import { attempt, type FieldPlan, type OperationPlan } from './compile.ts';
import type { ExecuteOptions } from './executor.ts';
import { Place } from './place.ts';
import { Turns } from './turns.ts';
import { type Data, Root, Whole } from './whole.ts';

export interface ExecutionOptions {
  readonly plan: OperationPlan;
  readonly context: unknown;
  readonly variableValues: GraphQLResolveInfo['variableValues'];
  readonly budget: AnswerBudget;
  readonly options: ExecuteOptions;
}

/** What is true of one execution of a plan. */
export class Execution {
  readonly plan: OperationPlan;
  readonly context: unknown;
  readonly variableValues: GraphQLResolveInfo['variableValues'];
  readonly budget: AnswerBudget;
  readonly turns = new Turns(this);
  readonly errors: GraphQLError[] = [];
  /** The answer is given: what is still on its way has nobody to be completed for. */
  isOver = false;
  /** The root fields that are being executed. */
  root: Root | null = null;
  readonly #options: ExecuteOptions;
  readonly #arguments: (Readonly<Record<string, unknown>> | GraphQLError | undefined)[] = [];

  constructor({ plan, context, variableValues, budget, options }: ExecutionOptions) {
    this.plan = plan;
    this.context = context;
    this.variableValues = variableValues;
    this.budget = budget;
    this.#options = options;
  }

  /** An object of the answer, in which every name is a member. */
  newObject(): Data {
    return this.plan.namesPrototype ? Object.create(null) : {};
  }

  /** Records the error of a field or entry that is null for it. Errors: AnswerLimitError. */
  record(error: unknown): void {
    if (this.budget.countFailure())
      this.errors.push(error instanceof GraphQLError ? error : new GraphQLError(String(error)));
  }

  /** Ends an execution whose root waits for what is on its way: nothing more is resolved, and nothing waited for. */
  stop(error: GraphQLError): void {
    if (this.isOver) return;
    this.isOver = true;
    this.root?.giveUp(error);
  }

  /** The same, where nobody waits for the answer. What a mutation has begun runs to its end. */
  stopIfAbandoned(): void {
    if (this.plan.operation.operation === 'query' && this.#options.isAbandoned?.())
      this.stop(new GraphQLError('The client has left.'));
  }

  /** The arguments of a field, worked out once for all objects that have it. Errors: GraphQLError. */
  argumentsOf(field: FieldPlan): Readonly<Record<string, unknown>> {
    if (field.arguments !== null) return field.arguments;
    const known = this.#arguments[field.index];
    if (known instanceof GraphQLError) throw known;
    if (known !== undefined) return known;
    const node = field.nodes[0] as FieldNode;
    const { hideSuggestions } = this.plan;
    const given = attempt(() =>
      getArgumentValues(field.field, node, this.variableValues, undefined, hideSuggestions),
    );
    this.#arguments[field.index] = given;
    if (given instanceof GraphQLError) throw given;
    return given;
  }
}

/** Fields of the root, or a promise of them. Errors: GraphQLError, where null may not be. */
export function executeRoot(execution: Execution, fields: readonly FieldPlan[]): Data | Promise<Data> {
  const root = new Root(execution);
  execution.root = root;
  const data = executeFields(fields, undefined, root);
  return data instanceof Whole ? root.settled() : data;
}

/** The fields of a mutation: each begins when the one before has ended. */
export async function executeInTurn(execution: Execution, fields: readonly FieldPlan[]): Promise<Data> {
  const data = execution.newObject();
  for (const field of fields) {
    // What is below a null goes on, and may have ended the execution: nothing more is begun then.
    if (execution.budget.exceeded !== null) throw execution.budget.exceeded;
    Object.assign(data, await executeRoot(execution, [field]));
  }
  return data;
}

/** The selected fields of an object; what holds it, where some are on their way. Errors: where null may not be. */
export function executeFields(fields: readonly FieldPlan[], source: unknown, above: Whole): Data | Whole {
  const { execution } = above;
  const { budget } = execution;
  budget.spendValues(fields.length);
  const data = execution.newObject();
  let missing = 0;
  let bytes = 0;
  for (const field of fields) {
    const value = field.constant ?? executeField(field, source, above);
    bytes += field.name.length + nameBytes;
    // What is on its way has its name already: the answer's order is that of the operation.
    if (value instanceof Whole) {
      data[field.name] = value.members;
      missing++;
    } else {
      if (typeof value === 'string') bytes += value.length;
      data[field.name] = value;
    }
  }
  budget.spendBytes(bytes);
  return above.hold(data, missing);
}

/** The value of one field, or its place where it is on its way; null where it failed. Errors: where null may not be. */
function executeField(field: FieldPlan, source: unknown, above: Whole): unknown {
  const { execution } = above;
  const { leaf } = field;
  // A leaf is completed without its place, which few of them need.
  let place = leaf === null || field.takesInfo ? new Place(execution, above, field, field.name) : undefined;
  try {
    const value =
      field.resolve === null
        ? propertyOf(field, source, above)
        : field.resolve(source, execution.argumentsOf(field), execution.context, place as Place);
    if (leaf !== null && !isPromise(value)) return leaf(value);
    place ??= new Place(execution, above, field, field.name);
    return isPromise(value) ? place.wait(value, field.complete) : field.complete(value, place);
  } catch (error) {
    place ??= new Place(execution, above, field, field.name);
    return place.fail(error);
  }
}

/** What stands for a resolver, where a field has none. */
function propertyOf(field: FieldPlan, source: unknown, above: Whole): unknown {
  const { execution } = above;
  const given = execution.argumentsOf(field);
  if ((typeof source !== 'object' || source === null) && typeof source !== 'function') return undefined;
  const property: unknown = (source as Data)[field.field.name];
  if (typeof property !== 'function') return property;
  return property.call(source, given, execution.context, new Place(execution, above, field, field.name));
}

/** Promises among these, and in lists among them, may be rejected: nobody waits for them any more. */
export function ignoreRejections(values: Iterable<unknown>): void {
  const ignore = () => {};
  for (const value of values) {
    if (isPromise(value)) value.then(ignore, ignore);
    else if (Array.isArray(value) || value instanceof Set) ignoreRejections(value);
  }
}

export const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
