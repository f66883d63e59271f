import { MutationEffects, RequestContext, type RequestServices } from '../../engine/context.ts';
import { type BankqlPlugin, found } from './operation-context.ts';
import { incrementalLimits, isIncremental } from './use-incremental.ts';

/**
 * Gives an operation its budget of REST calls, values and bytes, in the context of its resolvers.
 */
export const useBudget = (services: RequestServices): BankqlPlugin => ({
  onExecute({ args: { contextValue: context } }) {
    const { asking } = context;
    const operation = found(context.operation);
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
