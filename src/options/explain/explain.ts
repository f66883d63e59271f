import { explainHeader } from '../../engine/context.ts';
import type { ExplainOption } from '../../engine/engine.ts';
import { RequestError } from '../../engine/errors.ts';
import { CallRecorder, recordedSchema } from './calls.ts';
import { planCalls } from './plan.ts';

/** A plan stops at this multiple of the calls that an operation may make. */
const planFactor = 10;

/** The header x-bankql-explain: `plan` for the plan without any call, `calls` for the answer together with its calls. */
export const explainByHeader: ExplainOption = {
  explain(header, { operation, limits, ...asked }) {
    if (header === 'calls') return { recorder: new CallRecorder(), observe: recordedSchema };
    if (header !== 'plan') throw new RequestError('BAD_USER_INPUT', `${explainHeader} is plan or calls.`);
    const { schema, node, fragments } = operation;
    const maxCalls = planFactor * limits.restCalls;
    const plan = planCalls({ ...asked, schema, operation: node, fragments, maxCalls });
    return { answer: { data: null, extensions: { explain: { plan } } } };
  },
};
