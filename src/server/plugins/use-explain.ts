import { RequestError } from '../../engine/errors.ts';
import { explainCalls, explainHeader } from '../../engine/explain.ts';
import type { BankqlPlugin } from './operation-context.ts';

/**
 * The calls of an operation, in `extensions.explain` of its answer. Unless `explains`, requests that ask for them are refused.
 * Errors: BAD_USER_INPUT.
 */
export const useExplain = (explains: boolean): BankqlPlugin => ({
  onExecute({ args: { contextValue: context } }) {
    const { explain: header } = context.asking;
    if (header === undefined) return;
    if (!explains)
      throw new RequestError(
        'BAD_USER_INPUT',
        `${explainHeader} is switched off here; the operator switches it on with EXPLORE=on.`,
      );
    context.explained = explainCalls(header);
  },
});
