import type { ResponsePath } from 'graphql';
import type { Execution } from './execution.ts';

/** An object of the answer. */
export type Data = Record<string, unknown>;

/**
 * Where an object or a list of the answer is put together. It is part of the answer as soon as it is begun; here is counted
 * how many of its members are on their way, and what is above is told when all have come. So a promise that a resolver
 * gives is waited for once, and costs no promise more on its way up to the root.
 */
export abstract class PendingValue {
  readonly execution: Execution;
  /** The object or list, while members of it are on their way. */
  members: Data | unknown[] | null = null;
  #outstanding = 0;

  constructor(execution: Execution) {
    this.execution = execution;
  }

  /** Where it stands in the answer; undefined for the root. */
  abstract get path(): ResponsePath | undefined;

  /** An object or list, and how many of its members are on their way: this stands for it, where there are any. */
  awaitMembers<T extends Data | unknown[]>(members: T, outstanding: number): T | this {
    if (outstanding === 0) return members;
    this.members = members;
    this.#outstanding = outstanding;
    return this;
  }

  /** One member more is on its way. */
  awaitOneMore(): void {
    this.#outstanding++;
  }

  /** Whether nothing is waited for: all is there, or was given up. */
  get isSettled(): boolean {
    return this.#outstanding === 0;
  }

  /** A member that was on its way; there may be members of its own that still are. */
  setMember(key: string | number, completed: unknown): void {
    const { members } = this;
    // It failed while it was made, and is nowhere.
    if (members === null) return;
    const isThere = !(completed instanceof PendingValue);
    const value = isThere ? completed : completed.members;
    if (Array.isArray(members)) members[Number(key)] = value;
    else members[key] = value;
    if (isThere) this.memberCompleted();
  }

  /** A member is there, with all below it. */
  memberCompleted(): void {
    // What was given up misses nothing.
    if (this.#outstanding > 0 && --this.#outstanding === 0) this.onCompleted();
  }

  /** A member has failed where null may not be. */
  propagateError(error: unknown): void {
    if (this.#outstanding === 0) return;
    this.#outstanding = 0;
    this.handleLateError(error);
  }

  /** All is there. */
  protected abstract onCompleted(): void;
  /** Nothing can stand here. */
  protected abstract handleLateError(error: unknown): void;
}

/** The root of the answer. */
export class PendingRoot extends PendingValue {
  #resolve: (data: Data) => void = () => {};
  #reject: (error: unknown) => void = () => {};

  get path(): undefined {
    return undefined;
  }

  /** The fields of the root, when all of them have come. Errors: GraphQLError, where none can stand. */
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
