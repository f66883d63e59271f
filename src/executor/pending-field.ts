import type { ResponsePath } from 'graphql';
import { isAnswerLimit, textBytes } from './answer-budget.ts';
import type { Execution } from './execution.ts';
import { locateError } from './locate-error.ts';
import { PendingValue } from './pending-value.ts';
import type { FieldDetails } from './plan.ts';
import { ignoreRejections } from './promises.ts';
import { ResolveInfo } from './resolve-info.ts';

/**
 * Makes a value of the answer of what the field's resolver gave; its place, where the value is on its way.
 * Errors: what is wrong with the value; the field, or the entry of a list, that holds it says where.
 */
export type Complete = (value: unknown, pending: PendingField) => unknown;

/**
 * The place of a field in the answer, or of an entry of a list: where an error says that it happened, and what stands for a
 * value that is on its way.
 */
export class PendingField extends PendingValue {
  /** The object or list that it is a member of. */
  readonly parent: PendingValue;
  readonly details: FieldDetails;
  readonly key: string | number;
  /** Null stands here for an error: what fails below is no part of the answer any more. */
  #isNulled = false;

  constructor(execution: Execution, parent: PendingValue, details: FieldDetails, key: string | number) {
    super(execution);
    this.parent = parent;
    this.details = details;
    this.key = key;
  }

  /** Completes what a promise gives, when it comes. */
  awaitValue(promise: PromiseLike<unknown>, complete: Complete): this {
    Promise.resolve(promise).then(
      (value) => this.#completeValue(value, complete),
      (error) => this.handleLateError(error),
    );
    return this;
  }

  /** Completes a value in the execution's turn. */
  defer(value: unknown, complete: Complete): this {
    this.execution.defer(() => this.#completeValue(value, complete));
    return this;
  }

  #completeValue(value: unknown, complete: Complete): void {
    if (this.execution.isOver) {
      ignoreRejections(value);
      return;
    }
    if (this.execution.mustWait) {
      this.defer(value, complete);
      return;
    }
    let completed: unknown;
    try {
      completed = complete(value, this);
      if (typeof completed === 'string') this.execution.budget.spendBytes(textBytes(completed));
    } catch (error) {
      this.handleLateError(error);
      return;
    }
    this.parent.setMember(this.key, completed);
  }

  protected onCompleted(): void {
    this.parent.memberCompleted();
  }

  /** Notes an error, and is the null in its place. Errors: the error itself, for what is above, where null may not be. */
  handleFieldError(raw: unknown): null {
    if (isAnswerLimit(raw)) throw raw;
    const error = this.#locate(raw);
    if (this.details.isNonNull) throw error;
    this.#record(error);
    return null;
  }

  /** The same, where what is above has been begun. */
  protected handleLateError(raw: unknown): void {
    if (this.execution.isOver) return;
    try {
      if (isAnswerLimit(raw)) throw raw;
      const error = this.#locate(raw);
      if (this.details.isNonNull) {
        this.parent.propagateError(error);
      } else {
        this.#record(error);
        this.parent.setMember(this.key, null);
      }
    } catch (error) {
      if (!isAnswerLimit(error)) throw error;
      this.execution.stop(error);
    }
  }

  /** The error with its place; as it is where it will not be shown, since a path costs more than the rest of a failure. */
  #locate(raw: unknown): unknown {
    if (!this.execution.budget.showsErrors) return raw;
    const keys: (string | number)[] = [];
    for (let pending: PendingField | undefined = this; pending !== undefined; pending = pending.#prev)
      keys.push(pending.key);
    return locateError(raw, this.details.nodes, keys.reverse());
  }

  #record(error: unknown): void {
    if (this.execution.isOver) return;
    for (let pending: PendingField | undefined = this; pending !== undefined; pending = pending.#prev)
      if (pending.#isNulled) return;
    this.#isNulled = true;
    this.execution.record(error);
  }

  /** What the field's resolver is told: that of the list, where this is an entry. */
  get info(): ResolveInfo {
    let pending: PendingField = this;
    while (pending.details.typename === undefined && pending.#prev !== undefined) pending = pending.#prev;
    return new ResolveInfo(pending.parent, pending.details);
  }

  get path(): ResponsePath {
    return { prev: this.parent.path, key: this.key, typename: this.details.typename };
  }

  get #prev(): PendingField | undefined {
    return this.parent instanceof PendingField ? this.parent : undefined;
  }
}
