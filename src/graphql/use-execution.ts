import { type ExecutionResult, GraphQLError } from 'graphql';
import { AnswerLimitError } from '../executor/answer-budget.ts';
import { RequestError } from './errors.ts';
import { explainCalls, explainHeader } from './explain.ts';
import { MutationEffects } from './mutation-effects.ts';
import { OperationContext, type RequestServices } from './operation-context.ts';
import { type BankqlPlugin, found } from './plugin-context.ts';
import { tooMuchBuilt } from './result.ts';
import { executeIncrementally, isIncremental } from './use-incremental.ts';
import type { MaskError } from './use-masked-errors.ts';

/**
 * Coerces the variables and executes the operation within its budget of REST calls, values and bytes. If it has @defer and its
 * client takes several results, fragments are delivered later. Other plugins may wrap it. If the request asks for its calls, they are recorded; without `explains`, the request is
 * refused.
 * Errors: BAD_USER_INPUT for variables that do not fit, and for a request that may not ask for its calls.
 */
export const useExecution = (
  services: RequestServices,
  explains: boolean,
  mask: MaskError,
): BankqlPlugin => ({
  onExecute({ args: { contextValue: context }, setExecuteFn }) {
    const { asking } = context;
    const operation = found(context.operation);
    const explained = explanationOf(asking.explain, explains);
    const run = new OperationContext(
      services,
      asking,
      operation.kind === 'mutation' ? new MutationEffects() : null,
      explained?.recorder ?? null,
    );
    context.run = run;
    const variables = operation.variablesOf(found(context.askedFor).variables);
    const conclude = (result: ExecutionResult) => concluded(result, run, mask);
    const prepared =
      explained === null ? operation.prepared : operation.preparedWith(explained.observe(operation.schema));
    setExecuteFn(() => {
      if (isIncremental(context))
        return executeIncrementally(context, prepared, {
          run,
          variables,
          mask,
          maxBytes: services.answerLimits.bytes,
          conclude,
          extensions: () => extensionsOf(run),
          withoutData: (error) => withoutData(error, run.effects, mask),
        });
      const result = prepared.execute(run, variables, run);
      return result instanceof Promise ? result.then(conclude) : conclude(result);
    });
  },
});

/** Records the calls of an operation, if the header asks for them. Errors: BAD_USER_INPUT. */
function explanationOf(header: string | undefined, explains: boolean) {
  if (header === undefined) return null;
  if (!explains)
    throw new RequestError(
      'BAD_USER_INPUT',
      `${explainHeader} is switched off here; the operator switches it on with EXPLORE=on.`,
    );
  return explainCalls(header);
}

/**
 * The result with its extensions. If a limit was exceeded, the answer is one error, whose extensions say what the operation
 * wrote or paid.
 */
function concluded(
  result: ExecutionResult,
  run: OperationContext,
  mask: MaskError,
): ExecutionResult | Promise<ExecutionResult> {
  const limit = result.errors?.[0];
  if (limit instanceof AnswerLimitError) return ended(limit, run, mask);
  const extensions = extensionsOf(run);
  return extensions === undefined ? result : { ...result, extensions };
}

/** The answer to an operation that exceeded its limits: its reads are cancelled; its writes and payments are awaited. */
function ended(limit: AnswerLimitError, run: OperationContext, mask: MaskError) {
  const { effects } = run;
  run.cancelReads();
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
function extensionsOf({ stale, recorder }: OperationContext): Readonly<Record<string, unknown>> | undefined {
  if (stale.length === 0 && recorder === null) return undefined;
  return {
    ...(stale.length === 0 ? {} : { stale }),
    ...(recorder === null ? {} : { explain: recorder.explanation }),
  };
}
