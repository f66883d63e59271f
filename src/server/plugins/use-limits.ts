import { type BankqlPlugin, found } from './operation-context.ts';

/**
 * Coerces the variables, and refuses an operation that asks for too many nodes by their ids. The size of a document is checked
 * when it is parsed (engine/limits.ts), the number of its calls by use-budget.
 * Errors: RequestError BAD_USER_INPUT, LIMIT_EXCEEDED.
 */
export const useLimits = (): BankqlPlugin => ({
  onExecute({ args: { contextValue: context } }) {
    const operation = found(context.operation);
    const variables = operation.constantVariables ?? operation.variablesOf(found(context.askedFor).variables);
    context.variables = variables;
  },
});
