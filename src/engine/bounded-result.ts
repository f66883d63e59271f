import type { ExecutionResult, GraphQLError } from 'graphql';
import { answerTooLong } from '../executor/answer-budget.ts';
import { schedule } from '../executor/scheduler.ts';

interface BoundedResultOptions {
  /** How long its JSON may be. */
  readonly maxBytes: number;
  /** Whether it takes long to make its JSON. */
  readonly isLong: boolean;
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

  /** Whether it takes long to make its JSON, which then is to wait for its turn. */
  get isLong(): boolean {
    return this.#options.isLong;
  }

  /** Resolves when its JSON may be made, in its turn among what the operations of others have to do. */
  turn(): Promise<void> {
    return new Promise(schedule);
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
