import type { ExecutionResult, GraphQLError } from 'graphql';
import { answerTooLong } from '../executor/answer-budget.ts';

export interface BoundedResultOptions {
  /** How long its JSON may be. */
  readonly maxBytes: number;
  /** The JSON of its data, where that was long and is made already. */
  readonly dataJson?: Buffer | null;
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

  /** The JSON of its data, where it is made already; null where it is still to be made. */
  get dataJson(): Buffer | null {
    return this.#options.dataJson ?? null;
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
