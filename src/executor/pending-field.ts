import type { ResponsePath } from 'graphql';
import { isAnswerLimit } from './answer-budget.ts';
import type { Execution } from './execution.ts';
import { locateError } from './locate-error.ts';
import { PendingValue } from './pending-value.ts';
import type { FieldDetails } from './plan.ts';
import { ignoreRejections } from './promises.ts';
import { ResolveInfo } from './resolve-info.ts';

/**
 * Completes the value that a field's resolver returned; returns the PendingField if the value is not complete yet.
 * Errors: what is wrong with the value; the caller adds the location and path.
 */
export type Complete = (value: unknown, pending: PendingField) => unknown;

/**
 * A field of the answer, or an entry of a list: the path of its errors,
 * and the placeholder of a value that is pending.
 */
export class PendingField extends PendingValue {
  /** The object or list that it belongs to. */
  readonly parent: PendingValue;
  readonly details: FieldDetails;
  readonly key: string | number;
  /** Null already stands here because of an error: errors below it are not reported any more. */
  #isNulled = false;

  constructor(execution: Execution, parent: PendingValue, details: FieldDetails, key: string | number) {
    super(execution);
    this.parent = parent;
    this.details = details;
    this.key = key;
  }

  /** Completes the value of a promise when it is fulfilled. */
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
      if (typeof completed === 'string') this.execution.budget.spendBytes(completed.length);
    } catch (error) {
      this.handleLateError(error);
      return;
    }
    this.parent.setMember(this.key, completed);
  }

  protected onCompleted(): void {
    this.parent.memberCompleted();
  }

  /** Records the error and returns null. Errors: the error itself, if the field is non-null. */
  handleFieldError(raw: unknown): null {
    if (isAnswerLimit(raw)) throw raw;
    const error = this.#locate(raw);
    if (this.details.isNonNull) throw error;
    this.#record(error);
    return null;
  }

  /** The same, when the parent object or list has been started already. */
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

  /**
   * The error with its path and location; unchanged if it will not be reported, since a path costs more than the
   * rest of a failure.
   */
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

  /** The `info` of the field's resolver; for a list entry, that of its list. */
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
