import type { ExecutionResult } from 'graphql';
import { isAsyncIterable } from 'graphql-yoga';
import { slices } from '../load/slices.ts';
import { internalError } from './errors.ts';
import { jsonInSlices } from './json.ts';
import type { OperationContext } from './operation-context.ts';
import type { BankqlPlugin } from './plugin-context.ts';
import { BoundedResult, type BoundedResultOptions, tooMuchBuilt } from './result.ts';
import { withoutData } from './use-execution.ts';
import type { MaskError } from './use-masked-errors.ts';

/**
 * Bounds the JSON of each answer. It is the last plugin, so that the changes of other plugins count too. A large answer is serialized
 * here, in slices; a short one by the handler that sends it.
 */
export const useBoundedAnswers = (maxBytes: number, mask: MaskError): BankqlPlugin => ({
  onExecutionResult({ result, context: { run }, setResult }) {
    if (result === undefined || isAsyncIterable(result) || Array.isArray(result)) return;
    // Yoga drops the error of an aborted request.
    if (result.errors?.length === 0 && result.data === undefined)
      return setResult({ errors: [internalError()] });
    // An operation that exceeded its limits has a short answer.
    if (run === undefined || run.budget.exceeded !== null) return;
    const bounds = {
      maxBytes,
      isCacheable: run.isCacheable,
      withoutData: (error: unknown) => withoutData(error, run.effects, mask),
    };
    // Serializing more takes milliseconds.
    const isLong = run.budget.values > 10_000 || run.budget.bytes > 256 * 1024;
    if (!isLong) return setResult(new BoundedResult(result, bounds));
    return serialize(result, bounds, run).then(setResult);
  },
});

/** A large answer, serialized in chunks, when there is time. */
async function serialize(
  answer: ExecutionResult,
  options: BoundedResultOptions,
  run: OperationContext,
): Promise<ExecutionResult> {
  if (!slices.hasTime) await slices.wait(run);
  if (run.isAbandoned()) return { data: null };
  // Otherwise the JSON would be created, at the cost of other requests, and then thrown away.
  if (!run.takeJson()) return options.withoutData(tooMuchBuilt());
  try {
    const dataJson = await jsonInSlices(answer.data, options.maxBytes, run);
    const result = new BoundedResult(answer, { ...options, dataJson });
    return dataJson === null ? result.failed() : result;
  } catch (error) {
    return options.withoutData(error);
  }
}
