import { type FieldNode, GraphQLError, type GraphQLResolveInfo, getArgumentValues } from 'graphql';
import { type AnswerBudget, nameBytes, textBytes } from './answer-budget.ts';
import { attempt, type FieldPlan, type OperationPlan } from './compile.ts';
import type { ExecuteOptions } from './executor.ts';
import { PendingField } from './pending-field.ts';
import { type Data, PendingRoot, PendingValue } from './pending-value.ts';
import { WorkQueue } from './scheduler.ts';

/** How many values an execution completes as they come; what comes later waits for its turn (scheduler.ts). */
const valuesAtOnce = 1000;

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
  readonly errors: GraphQLError[] = [];
  /** The answer is given: what is still on its way has nobody to be completed for. */
  isOver = false;
  /** The root fields that are being executed. */
  root: PendingRoot | null = null;
  readonly #options: ExecuteOptions;
  #queue: WorkQueue | null = null;
  readonly #arguments: (Readonly<Record<string, unknown>> | GraphQLError | undefined)[] = [];

  constructor({ plan, context, variableValues, budget, options }: ExecutionOptions) {
    this.plan = plan;
    this.context = context;
    this.variableValues = variableValues;
    this.budget = budget;
    this.#options = options;
  }

  /** Whether what comes has to wait for this execution's turn. */
  get mustWait(): boolean {
    return this.budget.values > valuesAtOnce && this.#queue?.isRunning !== true;
  }

  /** Runs work in this execution's turn; whatever it does, it looks first whether the execution is over. */
  defer(work: () => void): void {
    this.#queue ??= new WorkQueue();
    this.#queue.push(() => {
      this.stopIfAbandoned();
      work();
    });
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
    this.root?.propagateError(error);
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
  const root = new PendingRoot(execution);
  execution.root = root;
  const data = executeFields(fields, undefined, root);
  return data instanceof PendingValue ? root.completed() : data;
}

/** The fields of a mutation: each begins when the one before has ended. */
export async function executeFieldsSerially(
  execution: Execution,
  fields: readonly FieldPlan[],
): Promise<Data> {
  const data = execution.newObject();
  for (const field of fields) {
    // What is below a null goes on, and may have ended the execution: nothing more is begun then.
    if (execution.budget.exceeded !== null) throw execution.budget.exceeded;
    Object.assign(data, await executeRoot(execution, [field]));
  }
  return data;
}

/** The selected fields of an object; what holds it, where some are on their way. Errors: where null may not be. */
export function executeFields(
  fields: readonly FieldPlan[],
  source: unknown,
  parent: PendingValue,
): Data | PendingValue {
  const { execution } = parent;
  const { budget } = execution;
  budget.spendValues(fields.length);
  const data = execution.newObject();
  let outstanding = 0;
  let bytes = 0;
  for (const field of fields) {
    const value = field.constant ?? executeField(field, source, parent);
    bytes += field.name.length + nameBytes;
    // What is on its way has its name already: the answer's order is that of the operation.
    if (value instanceof PendingValue) {
      data[field.name] = value.members;
      outstanding++;
    } else {
      if (typeof value === 'string') bytes += textBytes(value);
      data[field.name] = value;
    }
  }
  budget.spendBytes(bytes);
  return parent.awaitMembers(data, outstanding);
}

/** The value of one field, or its place where it is on its way; null where it failed. Errors: where null may not be. */
function executeField(field: FieldPlan, source: unknown, parent: PendingValue): unknown {
  const { execution } = parent;
  const { leaf } = field;
  // A leaf is completed without its place, which few of them need.
  let pending =
    leaf === null || field.takesInfo ? new PendingField(execution, parent, field, field.name) : undefined;
  try {
    const value =
      field.resolve === null
        ? propertyOf(field, source, parent)
        : field.resolve(source, execution.argumentsOf(field), execution.context, pending as PendingField);
    if (leaf !== null && !isPromise(value)) return leaf(value);
    pending ??= new PendingField(execution, parent, field, field.name);
    return isPromise(value) ? pending.awaitValue(value, field.complete) : field.complete(value, pending);
  } catch (error) {
    pending ??= new PendingField(execution, parent, field, field.name);
    return pending.handleFieldError(error);
  }
}

/** What stands for a resolver, where a field has none. */
function propertyOf(field: FieldPlan, source: unknown, parent: PendingValue): unknown {
  const { execution } = parent;
  const given = execution.argumentsOf(field);
  if ((typeof source !== 'object' || source === null) && typeof source !== 'function') return undefined;
  const property: unknown = (source as Data)[field.field.name];
  if (typeof property !== 'function') return property;
  return property.call(
    source,
    given,
    execution.context,
    new PendingField(execution, parent, field, field.name),
  );
}

/** Promises among these, in lists among them, and in what they give may be rejected: nobody waits for them any more. */
export function ignoreRejections(values: Iterable<unknown>): void {
  for (const value of values) {
    if (isPromise(value)) value.then(ignoreGiven, ignore);
    else if (Array.isArray(value) || value instanceof Set) ignoreRejections(value);
  }
}

const ignore = () => {};
const ignoreGiven = (value: unknown) => ignoreRejections([value]);

export const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
