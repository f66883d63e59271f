import { explainHeader } from '../../engine/context.ts';
import { RequestError } from '../../engine/errors.ts';
import type { ExplainOption } from '../../engine/explain.ts';
import type { OperationLimits } from '../../schema/bank-session.ts';
import type { Defaults } from '../../schema/context.ts';
import { type BankqlPlugin, found } from './operation-context.ts';

interface UseExplainOptions {
  /** Null: requests that ask for an explanation are refused. */
  readonly explain: ExplainOption | null;
  readonly defaults: Defaults;
  readonly limits: OperationLimits;
}

/** The plan of an operation in place of its answer, or the calls that it makes besides it. Errors: BAD_USER_INPUT. */
export const useExplain = ({ explain, defaults, limits }: UseExplainOptions): BankqlPlugin => ({
  onExecute({ args: { contextValue: context }, setResultAndStopExecution }) {
    const { explain: header, credentials } = context.asking;
    if (header === undefined) return;
    if (explain === null)
      throw new RequestError(
        'BAD_USER_INPUT',
        `${explainHeader} is switched off here; the operator switches it on with EXPLORE=on.`,
      );
    const operation = found(context.operation);
    const variableValues = found(context.variables);
    const explained = explain.explain(header, { operation, variableValues, credentials, defaults, limits });
    if ('answer' in explained) return setResultAndStopExecution(explained.answer);
    context.explained = explained;
  },
});
