import type { GraphQLObjectType, GraphQLResolveInfo, ResponsePath } from 'graphql';
import { AnswerLimitError } from './answer-budget.ts';
import type { FieldPlan } from './compile.ts';
import type { Complete, Slot } from './complete.ts';
import { type Execution, ignoreRejections } from './execution.ts';
import { locateError } from './locate-error.ts';
import type { PreparedSelection } from './selection.ts';
import { Whole } from './whole.ts';

/**
 * A place in the answer: of a field, or of an entry of a list. It is what a resolver is told besides its arguments, where
 * an error says that it happened, and what stands for a value that is on its way.
 */
export class Place extends Whole implements GraphQLResolveInfo, ResponsePath, PreparedSelection {
  /** The object or list that it is a member of. */
  readonly above: Whole;
  readonly slot: Slot;
  readonly key: string | number;
  /** Null stands here for an error: what fails below is no part of the answer any more. */
  #isNulled = false;

  constructor(execution: Execution, above: Whole, slot: Slot, key: string | number) {
    super(execution);
    this.above = above;
    this.slot = slot;
    this.key = key;
  }

  /** Completes what a promise gives, when it comes. */
  wait(promise: PromiseLike<unknown>, complete: Complete): this {
    Promise.resolve(promise).then(
      (value) => this.#come(value, complete),
      (error) => this.failLate(error),
    );
    return this;
  }

  #come(value: unknown, complete: Complete): void {
    const { isOver, turns } = this.execution;
    if (isOver) {
      ignoreRejections([value]);
      return;
    }
    if (turns.isSpent) {
      turns.defer(() => this.#come(value, complete));
      return;
    }
    let completed: unknown;
    try {
      completed = complete(value, this);
      if (typeof completed === 'string') this.execution.budget.spendBytes(completed.length);
    } catch (error) {
      this.failLate(error);
      return;
    }
    this.above.take(this.key, completed);
  }

  protected end(): void {
    this.above.arrive();
  }

  /** Notes an error, and is the null in its place. Errors: the error itself, for what is above, where null may not be. */
  fail(raw: unknown): null {
    if (raw instanceof AnswerLimitError) throw raw;
    const error = this.#locate(raw);
    if (this.slot.isNonNull) throw error;
    this.#record(error);
    return null;
  }

  /** The same, where what is above has been begun. */
  protected failLate(raw: unknown): void {
    if (this.execution.isOver) return;
    try {
      if (raw instanceof AnswerLimitError) throw raw;
      const error = this.#locate(raw);
      if (this.slot.isNonNull) {
        this.above.giveUp(error);
      } else {
        this.#record(error);
        this.above.take(this.key, null);
      }
    } catch (error) {
      if (!(error instanceof AnswerLimitError)) throw error;
      this.execution.stop(error);
    }
  }

  /** The error with its place; as it is where it will not be shown, since a path costs more than the rest of a failure. */
  #locate(raw: unknown): unknown {
    if (!this.execution.budget.showsErrors) return raw;
    const keys: (string | number)[] = [];
    for (let place: Place | undefined = this; place !== undefined; place = place.prev) keys.push(place.key);
    return locateError(raw, this.slot.nodes, keys.reverse());
  }

  #record(error: unknown): void {
    if (this.execution.isOver) return;
    for (let place: Place | undefined = this; place !== undefined; place = place.prev)
      if (place.#isNulled) return;
    this.#isNulled = true;
    this.execution.record(error);
  }

  /** What the field's resolver is told: that of the list, where this is an entry. */
  get info(): GraphQLResolveInfo {
    let place: Place = this;
    while (place.typename === undefined && place.prev !== undefined) place = place.prev;
    return place;
  }
  fieldsOf(type: GraphQLObjectType): readonly FieldPlan[] {
    return this.slot.fieldsOf(type);
  }
  argumentsOf(field: FieldPlan): Readonly<Record<string, unknown>> {
    return this.execution.argumentsOf(field);
  }
  below(field: FieldPlan): Place {
    return new Place(this.execution, this, field, field.name);
  }
  get path(): ResponsePath {
    return this;
  }
  get prev(): Place | undefined {
    return this.above instanceof Place ? this.above : undefined;
  }
  get typename() {
    return this.slot.typename;
  }
  get fieldName() {
    return this.slot.field.name;
  }
  get fieldNodes() {
    return this.slot.nodes;
  }
  get returnType() {
    return this.slot.field.type;
  }
  get parentType() {
    return this.slot.parentType;
  }
  get schema() {
    return this.execution.plan.schema;
  }
  get fragments() {
    return this.execution.plan.fragments;
  }
  get operation() {
    return this.execution.plan.operation;
  }
  get variableValues() {
    return this.execution.variableValues;
  }
  get prepared(): this {
    return this;
  }
  get rootValue() {
    return undefined;
  }
  getAbortSignal() {
    return undefined;
  }
  getAsyncHelpers() {
    return {
      promiseAll: <T>(values: readonly (PromiseLike<T> | T)[]) => Promise.all(values),
      track: ignoreRejections,
    };
  }
}
