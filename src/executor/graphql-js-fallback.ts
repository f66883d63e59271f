import {
  defaultFieldResolver,
  type ExecutionArgs,
  type ExecutionResult,
  type ExperimentalIncrementalExecutionResults,
  experimentalExecuteIncrementally,
  type GraphQLCompositeType,
  GraphQLError,
  type GraphQLField,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  responsePathAsArray,
} from 'graphql';
import {
  type AnswerBudget,
  AnswerLimitError,
  boundErrors,
  lengthOf,
  maxErrors,
  nameBytes,
} from './answer-budget.ts';
import { locateError } from './locate-error.ts';
import { ignoreRejections, isPromise } from './promises.ts';

type Field = GraphQLField<unknown, unknown>;

/**
 * Executes an operation without @defer and @stream with graphql's own executor, within the same budget. Never throws and
 * never rejects.
 *
 * Errors of completion (not of a resolver) count towards the 100 that are shown, but never end the operation, and
 * entries of a list that reports no length are not counted. Only subscriptions come here, which the schema has none of,
 * and tests.
 */
export const executeByReference = (
  args: ExecutionArgs,
  budget: AnswerBudget,
): ExecutionResult | Promise<ExecutionResult> =>
  // Without @defer and @stream in the document there is one result; `execute` refuses any schema that has them.
  executeIncrementally(args, budget) as ExecutionResult | Promise<ExecutionResult>;

/** A first result and those that follow it, or an ordinary result. */
export type IncrementalExecution = ExecutionResult | ExperimentalIncrementalExecutionResults;

/** The same for @defer and @stream. The results that follow the first stop with an error once the budget is exceeded. */
export function executeIncrementally(
  args: ExecutionArgs,
  budget: AnswerBudget,
): IncrementalExecution | Promise<IncrementalExecution> {
  const stop = new AbortController();
  const answer = (result: IncrementalExecution): IncrementalExecution => {
    if (budget.exceeded !== null) return { errors: [budget.exceeded], data: null };
    if ('initialResult' in result) return result;
    const { errors } = result;
    if (errors === undefined || errors.length <= maxErrors) return result;
    return { ...result, errors: boundErrors(errors.slice(0, maxErrors), errors.length - maxErrors) };
  };
  const fail = (error: unknown) =>
    answer({ errors: [error instanceof GraphQLError ? error : new GraphQLError(String(error))], data: null });
  try {
    const schema = countedSchema(args.schema, budget, (limit) => stop.abort(limit));
    const result = experimentalExecuteIncrementally({ ...args, schema, abortSignal: stop.signal });
    return result instanceof Promise ? result.then(answer, fail) : answer(result);
  } catch (error) {
    return fail(error);
  }
}

/** The schema with fields whose values are counted; the executor gets each field through `getField`. */
function countedSchema(
  schema: GraphQLSchema,
  budget: AnswerBudget,
  onExceeded: (limit: AnswerLimitError) => void,
): GraphQLSchema {
  const counted = new Map<Field, Field>();
  const getField = (type: GraphQLCompositeType, name: string) => {
    const field = schema.getField(type, name);
    if (field === undefined) return undefined;
    const known = counted.get(field) ?? countedField(field, budget, onExceeded);
    counted.set(field, known);
    return known;
  };
  return Object.create(schema, { getField: { value: getField } });
}

function countedField(
  field: Field,
  budget: AnswerBudget,
  onExceeded: (limit: AnswerLimitError) => void,
): Field {
  const { resolve = defaultFieldResolver } = field;
  const spendOn = (value: unknown): unknown => {
    if (typeof value === 'string') budget.spendBytes(value.length);
    if (typeof value !== 'object' || value === null || !(Symbol.iterator in value)) return value;
    try {
      budget.spendValues(lengthOf(value) ?? 0);
    } catch (error) {
      ignoreRejections(value);
      throw error;
    }
    if (Array.isArray(value)) for (const entry of value) spendOn(entry);
    return value;
  };
  const fail = (error: unknown, { fieldNodes, path }: GraphQLResolveInfo): never => {
    try {
      if (error instanceof AnswerLimitError) throw error;
      budget.countFailure();
    } catch (limit) {
      if (limit instanceof AnswerLimitError) onExceeded(limit);
      throw limit;
    }
    throw locateError(error, fieldNodes, responsePathAsArray(path));
  };
  const countedResolve: typeof resolve = (source, given, context, info) => {
    try {
      budget.spendValues(1);
      budget.spendBytes(String(info.path.key).length + nameBytes);
      const value = resolve(source, given, context, info);
      return isPromise(value)
        ? Promise.resolve(value)
            .then(spendOn)
            .catch((error) => fail(error, info))
        : spendOn(value);
    } catch (error) {
      return fail(error, info);
    }
  };
  return Object.create(field, { resolve: { value: countedResolve } });
}
