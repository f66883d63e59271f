import { type BankqlPlugin, found } from './operation-context.ts';

/** Coerces the variables. The size of a document was checked when it was parsed (engine/limits.ts). Errors: RequestError BAD_USER_INPUT. */
export const useLimits = (): BankqlPlugin => ({
  onExecute({ args: { contextValue: context } }) {
    const operation = found(context.operation);
    context.variables =
      operation.constantVariables ?? operation.variablesOf(found(context.askedFor).variables);
  },
});
