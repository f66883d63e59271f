import type { GraphQLError } from 'graphql';
import { answerTooLong, boundErrors, maxErrors } from '../executor/answer-limits.ts';
import type { PreparedOperation } from '../executor/compile.ts';
import { executeIncrementally, Fragments, type IncrementalResult } from '../executor/defer.ts';
import type { Selection } from '../executor/selection.ts';
import { type MaskError, shownError } from './errors.ts';
import { jsonInSlices } from './json.ts';
import type { OperationContext } from './operation-context.ts';
import {
  finalIfItWrote,
  isLong,
  lengthOf,
  noRoom,
  type Payload,
  type Result,
  shortAnswer,
  tooMuchBuilt,
} from './result.ts';

/** Executes an operation whose fragments with @defer are delivered later. */
export async function executeDeferred(
  prepared: PreparedOperation,
  variables: Selection['variableValues'],
  context: { readonly bankql: OperationContext },
  mask: MaskError,
): Promise<Result> {
  const { bankql } = context;
  const { incremental = 'v0.2' } = bankql.request;
  const result = await executeIncrementally(prepared, incremental, context, variables, bankql);
  return result instanceof Fragments ? resultsOf(result, bankql, mask) : result;
}

/**
 * Yields the results, each as JSON. Together they obey the limits of one answer.
 */
async function* resultsOf(
  fragments: Fragments,
  operation: OperationContext,
  mask: MaskError,
): AsyncGenerator<Payload, void, void> {
  const { budget, maxBytes } = operation;
  const { holder, activity } = operation.request;
  let bytes = 0;
  let errorsSoFar = 0;
  /** The memory that is reserved for the JSON so far, in bytes: a lower bound of its length. */
  let reserved = 0;

  /**
   * The JSON of a result. If the answer so far is long, this result may be long too, so it is serialized in
   * slices.
   * Errors: as toSent.
   */
  async function jsonOf(payload: object): Promise<Payload['json']> {
    if (!isLong(budget)) return JSON.stringify(payload);
    const added = budget.bytes - reserved;
    reserved = budget.bytes;
    if (!operation.takeJson(added)) throw tooMuchBuilt();
    const json = await jsonInSlices(payload, maxBytes - bytes, operation);
    if (json === null) throw answerTooLong(maxBytes);
    return json;
  }

  /**
   * Errors: AnswerLimitError if the JSON is too long; OVERLOADED if there is no memory to keep it until its client has read it.
   */
  async function toSent(result: IncrementalResult): Promise<Payload> {
    if (budget.exceeded !== null) throw budget.exceeded;
    const reported: GraphQLError[] = [];
    const shown = (part: IncrementalResult) => {
      if (part.errors === undefined) return part;
      const errors = part.errors.slice(0, Math.max(0, maxErrors - errorsSoFar)).map(mask);
      errorsSoFar += part.errors.length;
      reported.push(...errors);
      return { ...part, errors: boundErrors(errors, part.errors.length - errors.length).map(shownError) };
    };
    const { incremental, completed, hasNext = false } = result;
    const json = await jsonOf({
      ...shown(result),
      ...(incremental && { incremental: incremental.map(shown) }),
      ...(completed && { completed: completed.map(shown) }),
      ...(!hasNext && { extensions: operation.extensions }),
    });
    const length = lengthOf(json);
    bytes += length;
    if (bytes > maxBytes) throw answerTooLong(maxBytes);
    if (length > shortAnswer && holder?.reserveRoom(length) === false) throw noRoom();
    activity?.streamed(200, {
      bytes: length,
      errors: reported,
      hasData: [result, ...(incremental ?? [])].some(hasData),
    });
    return { hasNext, json };
  }

  try {
    for await (const result of fragments.results) yield await toSent(result);
  } catch (cause) {
    operation.cancelReads();
    // The mutation has been executed even if its payload is deferred: a read that fails later must not make the client repeat it.
    const { errors = [] } = finalIfItWrote(operation.withoutData(budget.exceeded ?? cause));
    const last = fragments.lastResult(errors.map(shownError));
    const json = JSON.stringify({ ...last, extensions: operation.extensions });
    if (json.length > shortAnswer && holder?.reserveRoom(json.length) === false) {
      // There is not even enough memory for the error. The answer is cut off, so that the client sees that it is incomplete.
      activity?.brokenOff('OVERLOADED');
      throw new DOMException('no room', 'AbortError');
    }
    activity?.streamed(200, { bytes: Buffer.byteLength(json), errors, hasData: false });
    yield { hasNext: false, json };
  }
}

/** Whether a result contains data. A null does not count: its field may have failed. */
const hasData = ({ data }: IncrementalResult): boolean =>
  Object.values(data ?? {}).some((field) => field !== null);
