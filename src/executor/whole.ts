import type { Execution } from './execution.ts';

/** An object of the answer. */
export type Data = Record<string, unknown>;

/**
 * Where an object or a list of the answer is put together. It is part of the answer as soon as it is begun; here is counted
 * how many of its members are on their way, and what is above is told when all have come. So a promise that a resolver
 * gives is waited for once, and costs no promise more on its way up to the root.
 */
export abstract class Whole {
  readonly execution: Execution;
  /** The object or list, while members of it are on their way. */
  members: Data | unknown[] | null = null;
  #missing = 0;

  constructor(execution: Execution) {
    this.execution = execution;
  }

  /** An object or list, and how many of its members are on their way: this stands for it, where there are any. */
  hold<T extends Data | unknown[]>(members: T, missing: number): T | this {
    if (missing === 0) return members;
    this.members = members;
    this.#missing = missing;
    return this;
  }

  /** A member that was on its way; there may be members of its own that still are. */
  take(key: string | number, completed: unknown): void {
    const { members } = this;
    // It failed while it was made, and is nowhere.
    if (members === null) return;
    const isThere = !(completed instanceof Whole);
    const value = isThere ? completed : completed.members;
    if (Array.isArray(members)) members[Number(key)] = value;
    else members[key] = value;
    if (isThere) this.arrive();
  }

  /** A member is there, with all below it. */
  arrive(): void {
    // What was given up misses nothing.
    if (this.#missing > 0 && --this.#missing === 0) this.end();
  }

  /** A member has failed where null may not be. */
  giveUp(error: unknown): void {
    if (this.#missing === 0) return;
    this.#missing = 0;
    this.failLate(error);
  }

  /** All is there. */
  protected abstract end(): void;
  /** Nothing can stand here. */
  protected abstract failLate(error: unknown): void;
}

/** The root of the answer. */
export class Root extends Whole {
  #resolve: (data: Data) => void = () => {};
  #reject: (error: unknown) => void = () => {};

  /** The fields of the root, when all of them have come. Errors: GraphQLError, where none can stand. */
  settled(): Promise<Data> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }
  protected end(): void {
    this.#resolve(this.members as Data);
  }
  protected failLate(error: unknown): void {
    this.#reject(error);
  }
}
