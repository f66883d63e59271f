import type { ExecutionResult, GraphQLError } from 'graphql';
import { answerTooLong } from '../executor/answer-budget.ts';

interface BoundedResultOptions {
  /** How long its JSON may be. */
  readonly maxBytes: number;
  /** Whether it takes long to make its JSON, which then waits for its turn (`schedule` in executor/scheduler.ts). */
  readonly isLong: boolean;
  /** Whether the client has left. */
  readonly isAbandoned: () => boolean;
  /** Makes the answer with this error in the place of the data. */
  readonly withoutData: (error: unknown) => ExecutionResult;
}

/** The result of an execution. How long its JSON is shows when it is made, and then it may have to be replaced. */
export class BoundedResult implements ExecutionResult {
  // In the order of the JSON, which leaves out what is undefined.
  readonly errors?: readonly GraphQLError[];
  readonly data?: ExecutionResult['data'];
  readonly extensions?: Readonly<Record<string, unknown>>;
  readonly #options: BoundedResultOptions;

  constructor(result: ExecutionResult, options: BoundedResultOptions) {
    if (result.errors !== undefined) this.errors = result.errors;
    if (result.data !== undefined) this.data = result.data;
    if (result.extensions !== undefined) this.extensions = result.extensions;
    this.#options = options;
  }

  /** Whether its JSON is made in a turn of its own. */
  get isLong(): boolean {
    return this.#options.isLong;
  }

  /** Whether nobody waits for it any more. Ask right before its JSON is made, where that takes long. */
  get isAbandoned(): boolean {
    return this.#options.isAbandoned();
  }

  /** Whether its JSON is short enough; mostly it is so short that nobody has to count its bytes. */
  fits(json: string | Buffer): boolean {
    const { maxBytes } = this.#options;
    return json.length * 3 <= maxBytes || Buffer.byteLength(json) <= maxBytes;
  }

  /** What is answered instead: where its JSON is too long (without an error), or where it cannot be sent for another. */
  failed(error: unknown = answerTooLong(this.#options.maxBytes)): ExecutionResult {
    return this.#options.withoutData(error);
  }
}
