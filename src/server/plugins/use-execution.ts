import { type ExecutionResult, GraphQLError } from 'graphql';
import type { MutationEffects, RequestContext } from '../../engine/context.ts';
import { tooMuchBuilt } from '../../engine/result.ts';
import { AnswerLimitError } from '../../executor/answer-budget.ts';
import { type BankqlPlugin, found } from './operation-context.ts';
import { executeIncrementally, isIncremental } from './use-incremental.ts';
import type { MaskError } from './use-masked-errors.ts';

/**
 * Coerces the variables and executes the operation: with graphql's incremental executors if it has @defer or @stream and its client
 * takes several results, otherwise with the project's own executor. Other plugins may wrap it.
 * Errors: BAD_USER_INPUT for variables that do not fit.
 */
export const useExecution = (mask: MaskError, maxBytes: number): BankqlPlugin => ({
  onExecute({ args: { contextValue: context }, setExecuteFn }) {
    const operation = found(context.operation);
    const variables = operation.variablesOf(found(context.askedFor).variables);
    setExecuteFn(() => {
      const run = found(context.run);
      const observe = context.explained?.observe;
      const conclude = (result: ExecutionResult) => concluded(result, run, mask);
      if (isIncremental(context))
        return executeIncrementally(context, {
          variables,
          mask,
          maxBytes,
          conclude,
          extensions: () => extensionsOf(run),
          withoutData: (error) => withoutData(error, run.effects, mask),
        });
      const prepared =
        observe === undefined ? operation.prepared : operation.preparedWith(observe(operation.schema));
      const result = prepared.execute(run, variables, run);
      return result instanceof Promise ? result.then(conclude) : conclude(result);
    });
  },
});

/** The result with its extensions; or, if it is only that a limit was exceeded, what the operation did until then. */
function concluded(
  result: ExecutionResult,
  run: RequestContext,
  mask: MaskError,
): ExecutionResult | Promise<ExecutionResult> {
  const limit = result.errors?.[0];
  if (limit instanceof AnswerLimitError) return ended(limit, run, mask);
  const extensions = extensionsOf(run);
  return extensions === undefined ? result : { ...result, extensions };
}

/** The answer to an operation that exceeded its limits: its reads are cancelled; its writes and payments are awaited. */
function ended(limit: AnswerLimitError, run: RequestContext, mask: MaskError) {
  const { effects } = run;
  run.session.cancel();
  const answer = () => withoutData(limit.isTemporary ? tooMuchBuilt() : limit, effects, mask);
  return effects === null ? answer() : effects.settled().then(answer);
}

/** The answer to an operation whose data cannot be returned; its error's extensions say what a mutation did. */
export function withoutData(
  cause: unknown,
  effects: MutationEffects | null,
  mask: MaskError,
): ExecutionResult {
  const { message, extensions } = mask(cause);
  const error = new GraphQLError(message, { extensions: { ...extensions, ...effects?.extensions } });
  return { errors: [mask.asItIs(error)], data: null };
}

/** The answer's extensions; undefined if there is nothing to report. */
function extensionsOf({
  session: { stale },
  recorder,
}: RequestContext): Readonly<Record<string, unknown>> | undefined {
  if (stale.length === 0 && recorder === null) return undefined;
  return {
    ...(stale.length === 0 ? {} : { stale }),
    ...(recorder === null ? {} : { explain: recorder.explanation }),
  };
}
