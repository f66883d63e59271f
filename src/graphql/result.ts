import { type ExecutionResult, GraphQLError } from 'graphql';
import { answerTooLong } from '../executor/answer-budget.ts';
import { refusals } from '../load/capacity.ts';
import { overloadedError } from './errors.ts';

export interface BoundedResultOptions {
  /** The most bytes that its JSON may have. */
  readonly maxBytes: number;
  /** The JSON of its data in chunks, if that was long and has been serialized already. */
  readonly dataJson?: readonly Buffer[] | null;
  /** Whether HTTP caches may keep its data, because all of it is public data of the bank (default: they may not). */
  readonly isCacheable?: boolean;
  /** Creates the answer with this error instead of the data. */
  readonly withoutData: (error: unknown) => ExecutionResult;
}

/**
 * The result of an execution. The length of its JSON is known only once it is serialized; if it is too long,
 * another answer replaces it.
 */
export class BoundedResult implements ExecutionResult {
  // In the order of the JSON; undefined members do not appear in it.
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

  /** The JSON of its data in chunks if it has been serialized already; otherwise null. */
  get dataJson(): readonly Buffer[] | null {
    return this.#options.dataJson ?? null;
  }

  /** Whether HTTP caches may keep it: it is public data of the bank, complete and fresh. */
  get isCacheable(): boolean {
    return this.#options.isCacheable === true && this.errors === undefined && this.extensions === undefined;
  }

  /** Whether its JSON is short enough; usually it is so short that its bytes need not be counted. */
  fits(json: string | Buffer): boolean {
    const { maxBytes } = this.#options;
    return json.length * 3 <= maxBytes || Buffer.byteLength(json) <= maxBytes;
  }

  /** The answer that replaces this result: for `error` or, by default, because the JSON is too long. */
  failed(error: unknown = answerTooLong(this.#options.maxBytes)): ExecutionResult {
    return this.#options.withoutData(error);
  }
}

/** There is no room for a long answer to wait for its client. */
export const noRoom = () => overloadedError(refusals.unread);

/** There is no room for the values of a large answer. */
export const tooMuchBuilt = () => overloadedError(refusals.values);

/**
 * If an operation has written or paid, it must not be repeated unchanged. Its error says what it did, but not when to try
 * again.
 */
export function finalIfItWrote(result: ExecutionResult): ExecutionResult {
  const [error] = result.errors ?? [];
  if (error === undefined) return result;
  const { retryAfter: _, ...extensions } = error.extensions;
  const isDone = extensions.writes !== undefined || extensions.idempotencyKey !== undefined;
  if (!isDone) return result;
  const final = { ...extensions, retryable: false, http: { status: 503 } };
  return { ...result, errors: [new GraphQLError(error.message, { extensions: final })] };
}
