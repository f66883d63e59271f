import {
  type GraphQLError,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  type ResponsePath,
  responsePathAsArray,
} from 'graphql';
import { AnswerLimitError } from './answer-limits.ts';
import type { FieldPlan, ValuePlan } from './compile.ts';
import type { DeferredFragment } from './defer.ts';
import { locateError } from './errors.ts';
import type { Execution } from './execution.ts';
import { ignoreRejections } from './promises.ts';
import type { PreparedSelection, Selection } from './selection.ts';

/** An object of the answer. */
export type Data = Record<string, unknown>;

type Key = string | number;

/**
 * An object or list of the answer that is not complete yet. It is inserted into its parent as soon as it is started,
 * counts its outstanding members, and tells its parent when the last has arrived. So each promise of a resolver is
 * awaited once, and no further promise is created for the levels between it and the root.
 */
export type PendingValue = PendingRoot | PendingField;

/** The placeholder of a value that has not arrived, and therefore has no members yet. */
export const awaited = Symbol('awaited');

/**
 * Completes a value that a resolver returned. If it is not complete yet, returns its PendingField, or `awaited`.
 * Errors: an error of the value; the caller adds the location and the path.
 */
export type Complete = (plan: ValuePlan, value: unknown, place: Place) => unknown;

/**
 * The place of the value that is being completed. There is one Place object for each depth of the answer, which the values of
 * that depth use in turn: most values are complete at once, and need no object of their own. A place is valid until the current
 * call returns.
 */
export class Place {
  // The members are only declared: class fields would cost a second call for each instance.
  declare readonly execution: Execution;
  /** The value's placeholder, if it exists. */
  declare pending: PendingValue | null;
  // The following members are undefined in the Place object that Execution.placeOf returns.
  declare readonly above: Place;
  declare plan: ValuePlan;
  declare key: Key;
  declare below: Place | null;

  constructor(execution: Execution, above?: Place) {
    this.execution = execution;
    this.pending = null;
    if (above !== undefined) this.above = above;
    this.below = null;
  }

  /** The place of a member. It is the same object as the previous member's place. */
  memberAt(plan: ValuePlan, key: Key): Place {
    this.below ??= new Place(this.execution, this);
    const place = this.below;
    place.pending = null;
    place.plan = plan;
    place.key = key;
    return place;
  }

  /** Returns the placeholder of a field or entry, which is also the `info` of the field's resolver. */
  get field(): PendingField {
    if (this.pending instanceof PendingField) return this.pending;
    const { above } = this;
    const field = new PendingField(above.pending ?? above.field, this.plan, this.key);
    this.pending = field;
    return field;
  }

  /** Makes an object or list wait for members that are outstanding. */
  waitFor(members: Data | unknown[], outstanding: number): PendingValue {
    const container = this.pending ?? this.field;
    container.members = members;
    container.outstanding = outstanding;
    return container;
  }

  /** Completes the value of a promise once it is fulfilled, at the earliest in the caller's next slice (slices.ts). */
  awaitValue(promise: PromiseLike<unknown>, complete: Complete): typeof awaited {
    const late = this.#leave(complete);
    Promise.resolve(promise).then(
      (value) => arrive(late, value, false),
      (error) => placeOf(late).field.fail(error),
    );
    return awaited;
  }

  /**
   * Completes a value in a later slice (slices.ts). If a promise in it is rejected before that, its error is still in the
   * answer, and Node reports no unhandled rejection.
   */
  defer(value: unknown, complete: Complete): typeof awaited {
    const late = this.#leave(complete);
    ignoreRejections(value);
    this.execution.defer(() => arrive(late, value, true));
    return awaited;
  }

  #leave(complete: Complete): LateMember {
    const { above, plan, key, pending } = this;
    return { parent: above.pending ?? above.field, plan, key, pending, complete };
  }
}

/** A member that arrives later. */
interface LateMember {
  readonly parent: PendingValue;
  readonly plan: ValuePlan;
  readonly key: Key;
  readonly pending: PendingValue | null;
  readonly complete: Complete;
}

function placeOf({ parent, plan, key, pending }: LateMember): Place {
  const place = parent.execution.placeOf(parent).memberAt(plan, key);
  place.pending = pending;
  return place;
}

/** Completes a member that was outstanding, now or in a later slice. */
function arrive(late: LateMember, value: unknown, hasWaited: boolean): void {
  const { parent, plan, key, complete } = late;
  const { execution } = parent;
  if (execution.isOver) {
    ignoreRejections(value);
    return;
  }
  if (!hasWaited && execution.mustWait) {
    ignoreRejections(value);
    execution.defer(() => arrive(late, value, true));
    return;
  }
  const place = placeOf(late);
  try {
    const completed = complete(plan, value, place);
    if (typeof completed === 'string') execution.budget.spend(0, completed.length);
    setMember(parent, key, completed);
  } catch (error) {
    place.field.fail(error);
  }
}

/** Sets a member that was outstanding; it may have outstanding members of its own. */
function setMember(parent: PendingValue, key: Key, completed: unknown): void {
  const { members } = parent;
  // The container has already failed synchronously, and is not a part of the answer.
  if (members === null) return;
  const pending = completed instanceof PendingField ? completed : null;
  const value = completed === awaited ? null : pending === null ? completed : pending.members;
  if (Array.isArray(members)) members[Number(key)] = value;
  else members[key] = value;
  if (pending === null && completed !== awaited) countDown(parent);
}

/**
 * Counts a member as complete, and then each container that thereby becomes complete. A failed container waits for
 * nothing.
 */
export function countDown(container: PendingValue): void {
  let at: PendingValue | null = container;
  while (at !== null && at.outstanding > 0 && --at.outstanding === 0) {
    if (at instanceof PendingRoot) at.settle();
    at = at.parent;
  }
}

/** The root of the answer, of a step of a mutation, or of a fragment that is delivered later. */
export class PendingRoot {
  readonly execution: Execution;
  readonly parent = null;
  /** Whether the root is a fragment that has failed. If it is, later errors below it are not reported. */
  isNulled = false;
  /** The errors below the root. */
  readonly errors: GraphQLError[];
  /** The fragments below the root that are delivered later. */
  readonly deferred: DeferredFragment[];
  /** The object, while some of its members are outstanding. */
  members: Data | unknown[] | null = null;
  outstanding = 0;
  #settled: PromiseWithResolvers<Data> | null = null;

  constructor(execution: Execution, errors = execution.errors, deferred = execution.deferred) {
    this.execution = execution;
    this.errors = errors;
    this.deferred = deferred;
  }

  get path(): ResponsePath | undefined {
    return undefined;
  }

  /** The object, when its outstanding members have arrived. Errors: GraphQLError, if a non-null field failed. */
  get completed(): Promise<Data> {
    this.#settled ??= Promise.withResolvers();
    return this.#settled.promise;
  }

  settle(): void {
    this.#settled?.resolve(this.members as Data);
  }

  /** Fails because a non-null member has failed. */
  propagateError(error: unknown): void {
    if (this.outstanding === 0) return;
    this.outstanding = 0;
    this.#settled?.reject(error);
  }
}

/**
 * A field of the answer, or an entry of a list, that is pending or has failed. It is the placeholder of the value, and has the
 * path of its errors. It is also the `info` of the field's resolver, whose members are computed when they are read.
 */
export class PendingField implements GraphQLResolveInfo, PreparedSelection {
  declare readonly execution: Execution;
  declare readonly parent: PendingValue;
  declare readonly details: ValuePlan;
  declare readonly key: Key;
  /** The object or list, while some of its members are outstanding. */
  declare members: Data | unknown[] | null;
  /** The number of outstanding members. */
  declare outstanding: number;
  /** Whether an error has already made the value null. If it has, later errors below the value are not reported. */
  declare isNulled: boolean;

  constructor(parent: PendingValue, details: ValuePlan, key: Key) {
    this.execution = parent.execution;
    this.parent = parent;
    this.details = details;
    this.key = key;
    this.members = null;
    this.outstanding = 0;
    this.isNulled = false;
  }

  /** Records the error and returns null. Errors: the error itself, if the field is non-null. */
  handleFieldError(raw: unknown): null {
    if (raw instanceof AnswerLimitError) throw raw;
    const error = this.#locate(raw);
    if (this.details.isNonNull) throw error;
    this.#record(error);
    return null;
  }

  /** Like handleFieldError, for a field whose parent object or list has already been started. */
  fail(raw: unknown): void {
    if (this.execution.isOver) return;
    try {
      setMember(this.parent, this.key, this.handleFieldError(raw));
    } catch (error) {
      if (error instanceof AnswerLimitError) this.execution.stop(error);
      else this.parent.propagateError(error);
    }
  }

  /** Fails because a non-null member has failed: the value becomes null, or its parent fails in turn. */
  propagateError(error: unknown): void {
    if (this.outstanding === 0) return;
    this.outstanding = 0;
    this.fail(error);
  }

  /**
   * The error with its path and location. An error that will not be reported stays unchanged, because a path
   * costs more than the rest of a failure.
   */
  #locate(raw: unknown): unknown {
    if (!this.execution.budget.showsErrors) return raw;
    return locateError(raw, this.details.nodes, responsePathAsArray(this.path));
  }

  #record(error: unknown): void {
    if (this.execution.isOver) return;
    let root: PendingValue = this;
    for (let at: PendingValue | null = this; at !== null; at = at.parent) {
      if (at.isNulled) return;
      root = at;
    }
    this.isNulled = true;
    if (root instanceof PendingRoot) this.execution.record(error, root.errors);
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
  deferredFieldsOf(type: GraphQLObjectType): readonly FieldPlan[] {
    return this.details.objectPlanOf(type).deferred.flatMap(({ object }) => object.whole.fields);
  }
  argumentsOf(field: FieldPlan): Readonly<Record<string, unknown>> {
    return this.execution.argumentsOf(field);
  }
  subselection(field: FieldPlan): Selection {
    return new PendingField(this, field, field.name);
  }
  selectionOfEntry(index: number): Selection {
    const { entry } = this.details;
    return entry === null ? this : new PendingField(this, entry, index);
  }
}

const asyncHelpers: ReturnType<GraphQLResolveInfo['getAsyncHelpers']> = {
  promiseAll: (values) => Promise.all(values),
  /** Ignores the rejections of promises that a resolver started and does not await. */
  track: ignoreRejections,
};
