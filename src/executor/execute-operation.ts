import { type ExecutionResult, GraphQLError } from 'graphql';
import { AnswerLimitError, boundErrors } from './answer-budget.ts';
import { executeFieldsSerially, executeRoot, type FieldPlan } from './execute-fields.ts';
import type { Execution } from './execution.ts';
import type { Data } from './pending-value.ts';

/** Executes a plan. Never throws and never rejects. */
export function run(
  execution: Execution,
  fields: readonly FieldPlan[],
): ExecutionResult | Promise<ExecutionResult> {
  const { operation } = execution.plan;
  const answer = (data: Data | null): ExecutionResult => {
    execution.end();
    const { errors, budget } = execution;
    return errors.length === 0 ? { data } : { errors: boundErrors(errors, budget.omittedErrors), data };
  };
  const fail = (error: unknown): ExecutionResult => {
    execution.end();
    try {
      if (error instanceof AnswerLimitError) throw error;
      execution.record(error);
      return answer(null);
    } catch (limit) {
      return {
        errors: [limit instanceof GraphQLError ? limit : new GraphQLError(String(limit))],
        data: null,
      };
    }
  };
  try {
    const data = (operation.operation === 'mutation' ? executeFieldsSerially : executeRoot)(
      execution,
      fields,
    );
    return data instanceof Promise ? data.then(answer, fail) : answer(data);
  } catch (error) {
    return fail(error);
  }
}
