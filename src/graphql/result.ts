import { type ExecutionResult, GraphQLError } from 'graphql';
import { answerTooLong } from '../executor/answer-budget.ts';
import { refusals } from '../load/capacity.ts';
import { slices } from '../load/slices.ts';
import { overloadedError } from './errors.ts';
import { jsonInSlices } from './json.ts';
import type { OperationContext } from './operation-context.ts';

export interface BoundedResultOptions {
  /** The most bytes that its JSON may have. */
  readonly maxBytes: number;
  /** Whether HTTP caches may keep its data, because all of it is public data of the bank (default: they may not). */
  readonly isCacheable?: boolean;
  /** Creates the answer with this error instead of the data. */
  withoutData(error: unknown): ExecutionResult;
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
  readonly #dataJson: readonly Buffer[] | null;
  readonly #options: BoundedResultOptions;

  /** `dataJson`: the JSON of its data in chunks, if that was long and has been serialized already. */
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

  /** The JSON of its data in chunks if it has been serialized already; otherwise null. */
  get dataJson(): readonly Buffer[] | null {
    return this.#dataJson;
  }

  /** Whether HTTP caches may keep it: it is public data of the bank, complete and fresh. */
  get isCacheable(): boolean {
    return this.#options.isCacheable === true && this.errors === undefined && this.extensions === undefined;
  }

  /** Whether JSON of this length is short enough. */
  fits(bytes: number): boolean {
    return bytes <= this.#options.maxBytes;
  }

  /** The answer that replaces this result: for `error` or, by default, because the JSON is too long. */
  failed(error: unknown = answerTooLong(this.#options.maxBytes)): ExecutionResult {
    return this.#options.withoutData(error);
  }
}

/** Answers up to this length, in bytes, are sent even without room: nearly all answers to payments are shorter. */
export const shortAnswer = 16_384;

/** The result of an operation, or the several ones of an operation with @defer, each with its JSON. */
export type Result = ExecutionResult | AsyncIterable<Payload>;

/** One of several results. */
export interface Payload {
  readonly hasNext: boolean;
  stringify(): string;
}

/** The size of an answer from which on its JSON is made here, in slices: making more takes milliseconds. */
const manyValues = 10_000;
const manyBytes = 256 * 1024;

/** The result of an operation, whose JSON is bounded. A large one is serialized here; a short one by the handler that sends it. */
export function boundedResult(
  result: ExecutionResult,
  operation: OperationContext,
): ExecutionResult | Promise<ExecutionResult> {
  const { budget } = operation;
  // An operation that was refused, or exceeded its limits, has a short answer.
  if (!operation.hasBegun || budget.exceeded !== null) return result;
  const isLong = budget.values > manyValues || budget.bytes > manyBytes;
  return isLong ? serialize(result, operation) : new BoundedResult(result, operation);
}

/** A large answer, serialized in chunks, when there is time. */
async function serialize(result: ExecutionResult, operation: OperationContext): Promise<ExecutionResult> {
  if (!slices.hasTime) await slices.wait(operation);
  if (operation.isAbandoned()) return { data: null };
  // Otherwise the JSON would be created, at the cost of other requests, and then thrown away.
  if (!operation.takeJson()) return operation.withoutData(tooMuchBuilt());
  try {
    const dataJson = await jsonInSlices(result.data, operation.maxBytes, operation);
    const bounded = new BoundedResult(result, operation, dataJson);
    return dataJson === null ? bounded.failed() : bounded;
  } catch (error) {
    return operation.withoutData(error);
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
