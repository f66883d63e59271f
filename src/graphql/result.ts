import { type ExecutionResult, GraphQLError } from 'graphql';
import { answerTooLong } from '../executor/answer-limits.ts';
import { refusals } from '../load/capacity.ts';
import { slices } from '../load/slices.ts';
import { overloadedError } from './errors.ts';
import { jsonInSlices } from './json.ts';
import type { OperationContext } from './operation-context.ts';

export interface BoundedResultOptions {
  /** The maximum length of the answer's JSON, in bytes. */
  readonly maxBytes: number;
  /** Whether HTTP caches may keep the answer's data, because all of it is public data of the bank (default: they may not). */
  readonly isCacheable?: boolean;
  /** Creates the answer with this error instead of the data. */
  withoutData(error: unknown): ExecutionResult;
}

/**
 * The result of an execution. The length of its JSON is known only once it is serialized; if it is too long,
 * another answer replaces it.
 */
export class BoundedResult implements ExecutionResult {
  // The members in the order of the JSON. Undefined members do not appear in it.
  readonly errors?: readonly GraphQLError[];
  readonly data?: ExecutionResult['data'];
  readonly extensions?: Readonly<Record<string, unknown>>;
  readonly #dataJson: readonly Buffer[] | null;
  readonly #options: BoundedResultOptions;

  /** `dataJson`: the JSON of the data in chunks, if the data was long and has been serialized already. */
  constructor(
    result: ExecutionResult,
    options: BoundedResultOptions,
    dataJson: readonly Buffer[] | null = null,
  ) {
    if (result.errors !== undefined) this.errors = result.errors;
    if (result.data !== undefined) this.data = result.data;
    if (result.extensions !== undefined) this.extensions = result.extensions;
    this.#dataJson = dataJson;
    this.#options = options;
  }

  /** The JSON of the data in chunks if it has been serialized already; otherwise null. */
  get dataJson(): readonly Buffer[] | null {
    return this.#dataJson;
  }

  /** Whether HTTP caches may keep the result: it is public data of the bank, complete and fresh. */
  get isCacheable(): boolean {
    return this.#options.isCacheable === true && this.errors === undefined && this.extensions === undefined;
  }

  /** Whether JSON of this length, in bytes, is within the limit. */
  fits(bytes: number): boolean {
    return bytes <= this.#options.maxBytes;
  }

  /** The answer that replaces this result: with `error`; by default, with the error that the JSON is too long. */
  failed(error: unknown = answerTooLong(this.#options.maxBytes)): ExecutionResult {
    return this.#options.withoutData(error);
  }
}

/**
 * Answers up to this length, in bytes, are sent even if no memory is left for unread answers: nearly all answers to payments are
 * shorter.
 */
export const shortAnswer = 16_384;

/** The result of an operation, or the several results of an operation with @defer, each with its JSON. */
export type Result = ExecutionResult | AsyncIterable<Payload>;

/** One of several results. */
export interface Payload {
  /** A member of yoga's results. */
  readonly hasNext: boolean;
  /** The result as JSON, in chunks if it is long. */
  readonly json: string | readonly Buffer[];
}

/** The length of a result's JSON, in bytes. */
export const lengthOf = (json: Payload['json']): number =>
  typeof json === 'string' ? Buffer.byteLength(json) : json.reduce((sum, chunk) => sum + chunk.length, 0);

/** From this number of values or bytes on, the JSON is written here, in slices, because it takes milliseconds. */
const manyValues = 10_000;
const manyBytes = 256 * 1024;
export const isLong = ({ values, bytes }: { readonly values: number; readonly bytes: number }): boolean =>
  values > manyValues || bytes > manyBytes;

/** Bounds the JSON of an operation's result. A large result is serialized here, a short one by the handler that sends it. */
export function boundedResult(
  result: ExecutionResult,
  operation: OperationContext,
): ExecutionResult | Promise<ExecutionResult> {
  const { budget } = operation;
  // If an operation was refused or exceeded its limits, its answer is short.
  if (!operation.hasBegun || budget.exceeded !== null) return result;
  return isLong(budget) ? serialize(result, operation) : new BoundedResult(result, operation);
}

/** Serializes a large answer in chunks, each in a slice of time (slices.ts). */
async function serialize(result: ExecutionResult, operation: OperationContext): Promise<ExecutionResult> {
  if (!slices.hasTime) await slices.wait(operation);
  if (operation.isAbandoned()) return { data: null };
  // If there is no memory for the JSON, it is not created: its creation would slow other requests, and it
  // could not be sent.
  if (!operation.takeJson()) return operation.withoutData(tooMuchBuilt());
  try {
    const dataJson = await jsonInSlices(result.data, operation.maxBytes, operation);
    const bounded = new BoundedResult(result, operation, dataJson);
    return dataJson === null ? bounded.failed() : bounded;
  } catch (error) {
    return operation.withoutData(error);
  }
}

/** The error if no memory is left to keep a long answer until its client has read it. */
export const noRoom = () => overloadedError(refusals.unread);

/** The error if no memory is left for the values of a large answer. */
export const tooMuchBuilt = () => overloadedError(refusals.values);

/**
 * If the operation has written or paid, makes its error not `retryable` and removes `retryAfter`, because the operation
 * must not be repeated unchanged. Other results stay as they are.
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
