import type { ExecutionResult, GraphQLError } from 'graphql';
import { answerTooLong } from '../executor/answer-budget.ts';

/** The result of an execution. How long its JSON is shows when it is made, and then it may have to be replaced. */
export class BoundedResult implements ExecutionResult {
  // In the order of the JSON, which leaves out what is undefined.
  readonly errors?: readonly GraphQLError[];
  readonly data?: ExecutionResult['data'];
  readonly extensions?: Readonly<Record<string, unknown>>;
  readonly #maxBytes: number;
  readonly #withoutData: (error: unknown) => ExecutionResult;

  /** `withoutData` makes the answer with this error in the place of the data. */
  constructor(result: ExecutionResult, maxBytes: number, withoutData: (error: unknown) => ExecutionResult) {
    if (result.errors !== undefined) this.errors = result.errors;
    if (result.data !== undefined) this.data = result.data;
    if (result.extensions !== undefined) this.extensions = result.extensions;
    this.#maxBytes = maxBytes;
    this.#withoutData = withoutData;
  }

  /** Whether its JSON is short enough; mostly it is so short that nobody has to count its bytes. */
  fits(json: string | Buffer): boolean {
    return json.length * 3 <= this.#maxBytes || Buffer.byteLength(json) <= this.#maxBytes;
  }

  /** What is answered where its JSON is too long. */
  tooLong(): ExecutionResult {
    return this.#withoutData(answerTooLong(this.#maxBytes));
  }

  /** What is answered where no JSON can be made of it. */
  failed(error: unknown): ExecutionResult {
    return this.#withoutData(error);
  }
}
