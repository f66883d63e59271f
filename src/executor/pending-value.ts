import type { ResponsePath } from 'graphql';
import type { Execution } from './execution.ts';

/** An object of the answer. */
export type Data = Record<string, unknown>;

/**
 * An object or list of the answer that is not complete yet. It is inserted into its parent as soon as it is
 * started, counts its outstanding members, and tells its parent when the last has arrived. So each promise of a
 * resolver is awaited once, and no further promise is created for the levels between it and the root.
 */
export abstract class PendingValue {
  readonly execution: Execution;
  /** The object or list, while some of its members are outstanding. */
  members: Data | unknown[] | null = null;
  #outstanding = 0;

  constructor(execution: Execution) {
    this.execution = execution;
  }

  /** Its path in the answer; undefined for the root. */
  abstract get path(): ResponsePath | undefined;

  /** Returns the members if none of them is outstanding, else this placeholder for them. */
  awaitMembers<T extends Data | unknown[]>(members: T, outstanding: number): T | this {
    if (outstanding === 0) return members;
    this.members = members;
    this.#outstanding = outstanding;
    return this;
  }

  /** Sets a member that was outstanding; it may have outstanding members of its own. */
  setMember(key: string | number, completed: unknown): void {
    const { members } = this;
    // The container already failed synchronously and is not part of the answer.
    if (members === null) return;
    const isThere = !(completed instanceof PendingValue);
    const value = isThere ? completed : completed.members;
    if (Array.isArray(members)) members[Number(key)] = value;
    else members[key] = value;
    if (isThere) this.memberCompleted();
  }

  /** Counts a member as complete, with everything below it. */
  memberCompleted(): void {
    // A container that has failed waits for nothing.
    if (this.#outstanding > 0 && --this.#outstanding === 0) this.onCompleted();
  }

  /** Fails because a non-null member has failed. */
  propagateError(error: unknown): void {
    if (this.#outstanding === 0) return;
    this.#outstanding = 0;
    this.handleLateError(error);
  }

  /** All members are complete. */
  protected abstract onCompleted(): void;
  /** A non-null member failed: this object or list becomes null, or its parent fails in turn. */
  protected abstract handleLateError(error: unknown): void;
}

/** The root of the answer. */
export class PendingRoot extends PendingValue {
  #resolve: (data: Data) => void = () => {};
  #reject: (error: unknown) => void = () => {};

  get path(): undefined {
    return undefined;
  }

  /** The fields of the root, when all have arrived. Errors: GraphQLError, if a non-null field failed. */
  completed(): Promise<Data> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }
  protected onCompleted(): void {
    this.#resolve(this.members as Data);
  }
  protected handleLateError(error: unknown): void {
    this.#reject(error);
  }
}
