import {
  type FieldNode,
  GraphQLError,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  getArgumentValues,
  type ResponsePath,
  responsePathAsArray,
} from 'graphql';
import { type SlicedOperation, slices } from '../load/slices.ts';
import { AnswerBudget, AnswerLimitError, clientHasLeft, unlimited, valuesAtOnce } from './answer-budget.ts';
import type { FieldPlan, OperationPlan, ValuePlan } from './compile.ts';
import { attempt, locateError } from './errors.ts';
import { ignoreRejections } from './promises.ts';
import type { PreparedSelection, Selection } from './selection.ts';

/** The limits of an execution, and its surroundings. */
export interface ExecuteOptions {
  /** The limits of the answer; afterwards it contains the answer's size (default: no limits). */
  readonly budget?: AnswerBudget;
  /** Values that arrive later are completed in the time of this operation's caller (slices.ts). */
  readonly operation?: SlicedOperation;
  /** Whether nobody needs the answer any more; a long execution asks this from time to time. */
  isAbandoned?(): boolean;
}

type Arguments = Readonly<Record<string, unknown>>;

const nobody: SlicedOperation = { caller: '' };

/** The state of one execution of a plan. */
export class Execution {
  readonly plan: OperationPlan;
  readonly context: unknown;
  readonly variableValues: GraphQLResolveInfo['variableValues'];
  readonly budget: AnswerBudget;
  readonly errors: GraphQLError[] = [];
  /** Whether the answer is finished: values that arrive later are not completed. */
  isOver = false;
  /** The root fields that are being executed. */
  root: PendingRoot | null = null;
  readonly #options: ExecuteOptions;
  readonly #arguments = new Map<FieldPlan, Arguments | GraphQLError>();

  constructor(
    plan: OperationPlan,
    context: unknown,
    variableValues: GraphQLResolveInfo['variableValues'],
    options: ExecuteOptions,
  ) {
    this.plan = plan;
    this.context = context;
    this.variableValues = variableValues;
    this.budget = options.budget ?? new AnswerBudget(unlimited);
    this.#options = options;
  }

  /** Whether the next value has to wait; the first `valuesAtOnce` values never wait. */
  get mustWait(): boolean {
    return this.budget.values > valuesAtOnce && !slices.hasTime;
  }

  /** Runs work when there is time. The work itself checks first whether the execution is over. */
  defer(work: () => void): void {
    void slices.wait(this.#options.operation ?? nobody).then(() => {
      if (this.#options.isAbandoned?.()) this.stop(clientHasLeft);
      work();
    });
  }

  /** Records the error of a nulled field or entry. Errors: AnswerLimitError. */
  record(error: unknown): void {
    if (this.budget.countFailure())
      this.errors.push(error instanceof GraphQLError ? error : new GraphQLError(String(error)));
  }

  /** Ends an execution whose root is pending: nothing more is resolved or waited for. */
  stop(error: GraphQLError): void {
    if (this.isOver) return;
    this.isOver = true;
    this.root?.propagateError(error);
  }

  /** The arguments of a field, computed once for all objects that have it. Errors: GraphQLError. */
  argumentsOf(field: FieldPlan): Arguments {
    if (field.arguments !== null) return field.arguments;
    let given = this.#arguments.get(field);
    if (given === undefined) {
      const { hideSuggestions } = this.plan.details;
      const [node] = field.nodes;
      given = attempt(() =>
        getArgumentValues(field.field, node as FieldNode, this.variableValues, undefined, hideSuggestions),
      );
      this.#arguments.set(field, given);
    }
    if (given instanceof GraphQLError) throw given;
    return given;
  }
}

/** An object of the answer. */
export type Data = Record<string, unknown>;

/**
 * An object or list of the answer that is not complete yet. It is inserted into its parent as soon as it is started,
 * counts its outstanding members, and tells its parent when the last has arrived. So each promise of a resolver is
 * awaited once, and no further promise is created for the levels between it and the root.
 */
export type PendingValue = PendingRoot | PendingField;

/** Sets a member that was outstanding; it may have outstanding members of its own. */
function setMember(parent: PendingValue, key: string | number, completed: unknown): void {
  const { members } = parent;
  // The container already failed synchronously and is not part of the answer.
  if (members === null) return;
  const isThere = !(completed instanceof PendingField);
  const value = isThere ? completed : completed.members;
  if (Array.isArray(members)) members[Number(key)] = value;
  else members[key] = value;
  if (!isThere) return;
  // Counts the member as complete, and then each container that it completes. A failed container waits for nothing.
  let at: PendingValue | null = parent;
  while (at !== null && at.outstanding > 0 && --at.outstanding === 0) {
    if (at instanceof PendingRoot) at.settle();
    at = at.parent;
  }
}

/** The root of the answer. */
export class PendingRoot {
  readonly execution: Execution;
  readonly parent = null;
  readonly path = undefined;
  readonly isNulled = false;
  /** The object, while some of its members are outstanding. */
  members: Data | null = null;
  outstanding = 0;
  readonly #settled = Promise.withResolvers<Data>();
  /** The object, when all members have arrived. Errors: GraphQLError, if a non-null field failed. */
  readonly completed: Promise<Data> = this.#settled.promise;

  constructor(execution: Execution) {
    this.execution = execution;
  }

  settle(): void {
    if (this.members !== null) this.#settled.resolve(this.members);
  }

  /** Fails because a non-null member has failed. */
  propagateError(error: unknown): void {
    if (this.outstanding === 0) return;
    this.outstanding = 0;
    this.#settled.reject(error);
  }
}

/**
 * Completes a value that a resolver returned; returns the PendingField if it is not complete yet.
 * Errors: the fault of the value, without location and path, which the caller adds.
 */
type Complete = (plan: ValuePlan, value: unknown, pending: PendingField) => unknown;

/**
 * A field of the answer, or an entry of a list: its resolver's `info`, the path of its errors, and the placeholder of a
 * value that is pending. The members of `info` are computed when they are read.
 */
export class PendingField implements GraphQLResolveInfo, PreparedSelection {
  // An instance is created for nearly every value. Class fields, also private ones, would cost a second call for each.
  declare readonly execution: Execution;
  declare readonly parent: PendingValue;
  declare readonly details: ValuePlan;
  declare readonly key: string | number;
  /** The object or list, while some of its members are outstanding. */
  declare members: Data | unknown[] | null;
  /** The number of outstanding members. */
  declare outstanding: number;
  /** Whether an error has already made this null: later errors below it are not reported. */
  declare isNulled: boolean;

  constructor(execution: Execution, parent: PendingValue, details: ValuePlan, key: string | number) {
    this.execution = execution;
    this.parent = parent;
    this.details = details;
    this.key = key;
    this.members = null;
    this.outstanding = 0;
    this.isNulled = false;
  }

  /** Completes the value of a promise when it is fulfilled, and there is time. */
  awaitValue(promise: PromiseLike<unknown>, complete: Complete): this {
    Promise.resolve(promise).then(this.#arrive.bind(this, complete, true), this.fail.bind(this));
    return this;
  }

  /** Completes a value when there is time. */
  defer(value: unknown, complete: Complete): this {
    this.execution.defer(() => this.#arrive(complete, false, value));
    return this;
  }

  #arrive(complete: Complete, mayWait: boolean, value: unknown): void {
    const { execution } = this;
    if (execution.isOver) {
      ignoreRejections(value);
    } else if (mayWait && execution.mustWait) {
      this.defer(value, complete);
    } else {
      try {
        const completed = complete(this.details, value, this);
        if (typeof completed === 'string') execution.budget.spend(0, completed.length);
        setMember(this.parent, this.key, completed);
      } catch (error) {
        this.fail(error);
      }
    }
  }

  /** Records the error and returns null. Errors: the error itself, if the field is non-null. */
  handleFieldError(raw: unknown): null {
    if (raw instanceof AnswerLimitError) throw raw;
    const error = this.#locate(raw);
    if (this.details.isNonNull) throw error;
    this.#record(error);
    return null;
  }

  /** Like handleFieldError, when the parent object or list has been started already. */
  fail(raw: unknown): void {
    if (this.execution.isOver) return;
    try {
      setMember(this.parent, this.key, this.handleFieldError(raw));
    } catch (error) {
      if (error instanceof AnswerLimitError) this.execution.stop(error);
      else this.parent.propagateError(error);
    }
  }

  /** Fails because a non-null member has failed: becomes null, or its parent fails in turn. */
  propagateError(error: unknown): void {
    if (this.outstanding === 0) return;
    this.outstanding = 0;
    this.fail(error);
  }

  /**
   * The error with its path and location; unchanged if it will not be reported, since a path costs more than the
   * rest of a failure.
   */
  #locate(raw: unknown): unknown {
    if (!this.execution.budget.showsErrors) return raw;
    return locateError(raw, this.details.nodes, responsePathAsArray(this.path));
  }

  #record(error: unknown): void {
    if (this.execution.isOver) return;
    for (let at: PendingValue | null = this; at !== null; at = at.parent) if (at.isNulled) return;
    this.isNulled = true;
    this.execution.record(error);
  }

  get path(): ResponsePath {
    const { key, details } = this;
    const typename = typeof key === 'string' ? details.parentType.name : undefined;
    return { prev: this.parent.path, key, typename };
  }
  get fieldName() {
    return this.details.field.name;
  }
  get fieldNodes() {
    return this.details.nodes;
  }
  get returnType() {
    return this.details.field.type;
  }
  get parentType() {
    return this.details.parentType;
  }
  get schema() {
    return this.execution.plan.details.schema;
  }
  get fragments() {
    return this.execution.plan.details.fragments;
  }
  get operation() {
    return this.execution.plan.details.operation;
  }
  get variableValues() {
    return this.execution.variableValues;
  }
  get rootValue() {
    return undefined;
  }
  getAbortSignal() {
    return undefined;
  }
  getAsyncHelpers() {
    return asyncHelpers;
  }
  fieldsOf(type: GraphQLObjectType): readonly FieldPlan[] {
    return this.details.objectPlanOf(type).fields;
  }
  argumentsOf(field: FieldPlan): Readonly<Record<string, unknown>> {
    return this.execution.argumentsOf(field);
  }
  subselection(field: FieldPlan): Selection {
    return new PendingField(this.execution, this.parent, field, field.name);
  }
}

const asyncHelpers: ReturnType<GraphQLResolveInfo['getAsyncHelpers']> = {
  promiseAll: (values) => Promise.all(values),
  /** Promises that a resolver started and does not await: their rejections are ignored. */
  track: ignoreRejections,
};
