import { type ExecutionArgs, GraphQLError, getOperationAST, getVariableValues, Kind } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { Defaults, OperationLimits } from '../schema/context.ts';
import { planOf } from '../schema/plan.ts';

interface CallPlanOptions {
  readonly defaults: Defaults;
  readonly limits: Pick<OperationLimits, 'restCalls'>;
}

/**
 * Refuses an operation that needs more REST calls than it may make, before it runs: neither is anything read, nor
 * written, nor paid. It is not planned beyond ten times that many. As while it runs, a payment itself is not counted; what is asked for beside it is.
 */
export function useCallPlan({ defaults, limits: { restCalls } }: CallPlanOptions): Plugin {
  return {
    onExecute({ args, setResultAndStopExecution }) {
      const { schema, document, operationName, variableValues }: ExecutionArgs = args;
      const operation = getOperationAST(document, operationName);
      // Without an operation, or with variables that do not fit, the executor says what is wrong.
      if (!operation) return;
      const variables = getVariableValues(schema, operation.variableDefinitions ?? [], variableValues ?? {});
      if (variables.variableValues === undefined) return;
      const { calls } = planOf({
        schema,
        operation,
        fragments: Object.fromEntries(
          document.definitions.flatMap((node) =>
            node.kind === Kind.FRAGMENT_DEFINITION ? [[node.name.value, node]] : [],
          ),
        ),
        variableValues: variables.variableValues,
        defaults,
        most: 10 * restCalls,
      });
      const counted = calls.filter(({ operation: { kind } }) => kind !== 'payment').length;
      if (counted > restCalls) setResultAndStopExecution({ errors: [refusal(counted, restCalls)] });
    },
  };
}

/** As mask-error.ts would give it, which an execution that is stopped does not come by. */
const refusal = (needed: number, limit: number) =>
  new GraphQLError(
    `The operation needs at least ${needed} REST calls, and may make ${limit}; ask for less at a time.`,
    { extensions: { code: 'LIMIT_EXCEEDED', retryable: false, http: { status: 400, spec: false } } },
  );
