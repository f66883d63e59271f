import type { ExecutionResult } from 'graphql';
import type { CallPlan } from '../schema/call-plan.ts';
import { RequestError } from './request-error.ts';

/** The values of the header x-bankql-explain: the plan without any call, or the answer together with its calls. */
export type Explain = 'plan' | 'calls';

/** The header's name, in lower case. */
export const explainHeader = 'x-bankql-explain';

/** What a request's header asks for; null without the header. Errors: BAD_USER_INPUT. */
export function parseExplain(given: string | undefined, isAllowed: boolean): Explain | null {
  if (given === undefined) return null;
  if (!isAllowed)
    throw new RequestError(
      'BAD_USER_INPUT',
      `${explainHeader} is switched off here; the operator switches it on with EXPLAIN=on.`,
    );
  if (given === 'plan' || given === 'calls') return given;
  throw new RequestError('BAD_USER_INPUT', `${explainHeader} is plan or calls.`);
}

/** The answer to an operation that is planned and not run. */
export const planResult = (plan: CallPlan): ExecutionResult => ({
  data: null,
  extensions: { explain: { plan } },
});
