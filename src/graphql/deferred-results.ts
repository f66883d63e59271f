import type { GraphQLError } from 'graphql';
import { answerTooLong, boundErrors, maxErrors } from '../executor/answer-budget.ts';
import type { PreparedOperation } from '../executor/compile.ts';
import { executeIncrementally, type IncrementalResults } from '../executor/defer.ts';
import type { Selection } from '../executor/selection.ts';
import { type MaskError, shownError } from './errors.ts';
import type { OperationContext } from './operation-context.ts';
import { finalIfItWrote, noRoom, type Result, shortAnswer } from './result.ts';

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
  return 'initialResult' in result ? resultsOf(result, bankql, mask) : result;
}

/** The members of a first result, of later results, and of their parts. */
interface AnyResult {
  readonly errors?: readonly GraphQLError[] | undefined;
  readonly data?: unknown;
  readonly pending?: readonly { readonly id: string }[];
  readonly incremental?: readonly AnyResult[];
  readonly completed?: readonly ({ readonly id: string } & Pick<AnyResult, 'errors'>)[];
  readonly hasNext?: boolean;
}

/**
 * Yields the results in yoga's form, each with its JSON, which yoga sends unchanged. Together they obey the limits of one answer.
 */
async function* resultsOf(
  { initialResult, subsequentResults }: IncrementalResults,
  operation: OperationContext,
  mask: MaskError,
): AsyncGenerator<{ readonly hasNext: boolean; stringify(): string }, void, void> {
  const { budget, maxBytes } = operation;
  const { holder, activity, incremental: form } = operation.request;
  const awaited = new Set<string>();
  let isFirst = true;
  let bytes = 0;
  let errorsSoFar = 0;

  /** Errors: AnswerLimitError if the JSON is too long; OVERLOADED if there is no memory in which it can wait for its client. */
  function toSent(result: AnyResult) {
    if (budget.exceeded !== null) throw budget.exceeded;
    const reported: GraphQLError[] = [];
    const shown = <T extends Pick<AnyResult, 'errors'>>(part: T) => {
      if (part.errors === undefined) return part;
      const errors = part.errors.slice(0, Math.max(0, maxErrors - errorsSoFar)).map(mask);
      errorsSoFar += part.errors.length;
      reported.push(...errors);
      return { ...part, errors: boundErrors(errors, part.errors.length - errors.length).map(shownError) };
    };
    const { incremental, completed, hasNext } = result;
    const more = hasNext === true ? undefined : operation.extensions;
    const json = JSON.stringify({
      ...shown(result),
      ...(incremental && { incremental: incremental.map(shown) }),
      ...(completed && { completed: completed.map(shown) }),
      ...(more && { extensions: more }),
    });
    const length = Buffer.byteLength(json);
    bytes += length;
    if (bytes > maxBytes) throw answerTooLong(maxBytes);
    if (length > shortAnswer && holder?.reserveRoom(length) === false) throw noRoom();
    // Set only after the checks above: a refused result is not sent, so it is not the first one.
    isFirst = false;
    for (const { id } of result.pending ?? []) awaited.add(id);
    for (const { id } of completed ?? []) awaited.delete(id);
    activity?.streamed(200, {
      json,
      errors: reported,
      hasData: [result, ...(incremental ?? [])].some(hasData),
    });
    return { hasNext: hasNext === true, stringify: () => json };
  }

  try {
    yield toSent(initialResult);
    let { hasNext } = initialResult as AnyResult;
    for await (const result of subsequentResults as AsyncIterable<AnyResult>) {
      yield toSent(result);
      ({ hasNext } = result);
    }
    // If a limit ended the execution, the results may stop without an error.
    if (hasNext === true) throw budget.exceeded ?? new Error('the results end early');
  } catch (cause) {
    operation.cancelReads();
    // The mutation has been executed even if its payload is deferred: a read that fails later must not make the client repeat it.
    const { errors = [] } = finalIfItWrote(operation.withoutData(budget.exceeded ?? cause));
    const shown = errors.map(shownError);
    const last = isFirst
      ? { data: null, errors: shown, hasNext: false }
      : form === '20220824'
        ? { incremental: [{ path: [], errors: shown }], hasNext: false }
        : { completed: [...awaited].map((id) => ({ id, errors: shown })), hasNext: false };
    const json = JSON.stringify({ ...last, extensions: operation.extensions });
    if (json.length > shortAnswer && holder?.reserveRoom(json.length) === false) {
      // There is not even enough memory for the error. The answer is cut off, so that the client sees that it is incomplete.
      activity?.brokenOff('OVERLOADED');
      throw new DOMException('no room', 'AbortError');
    }
    activity?.streamed(200, { json, errors, hasData: false });
    yield { hasNext: false, stringify: () => json };
  } finally {
    await subsequentResults.return().catch(() => {});
  }
}

/** Whether a result contains data. A null does not count: its field may have failed. */
const hasData = ({ data }: AnyResult): boolean => Object.values(data ?? {}).some((field) => field !== null);
