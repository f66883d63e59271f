import { MutationEffects, RequestContext, type RequestServices } from '../../engine/context.ts';
import { type BankqlPlugin, found } from './operation-context.ts';
import { incrementalLimits, isIncremental } from './use-incremental.ts';

/**
 * Gives an operation its budget of REST calls, values and bytes, in the context of its resolvers, and refuses one that needs more
 * calls before it runs.
 * Errors: RequestError LIMIT_EXCEEDED.
 */
export const useBudget = (services: RequestServices): BankqlPlugin => ({
  onExecute({ args: { contextValue: context } }) {
    const { asking } = context;
    const operation = found(context.operation);
    operation.checkCalls?.(found(context.variables), asking.credentials);
    context.run = new RequestContext(
      isIncremental(context)
        ? { ...services, answerLimits: incrementalLimits(services.answerLimits) }
        : services,
      asking,
      operation.kind === 'mutation' ? new MutationEffects() : null,
      context.explained?.recorder ?? null,
    );
  },
});
