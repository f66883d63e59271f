import {
  defaultFieldResolver,
  type ExecutionArgs,
  type ExecutionResult,
  type ExperimentalIncrementalExecutionResults,
  experimentalExecuteIncrementally,
  type FieldNode,
  GraphQLError,
  type GraphQLField,
  type GraphQLResolveInfo,
  getNamedType,
  isLeafType,
  type LegacyExperimentalIncrementalExecutionResults,
  legacyExecuteIncrementally,
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
import { deferredParts } from './selection.ts';
import { Turns } from './turns.ts';
import { withFields } from './with-fields.ts';

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

/**
 * The form of several results, by the name that clients ask for it with: that of graphql 17, or that of 2022, in which each
 * result names its path.
 */
export type IncrementalForm = 'v0.2' | '20220824';

/** A first result and those that follow it. */
export type IncrementalResults =
  | ExperimentalIncrementalExecutionResults
  | LegacyExperimentalIncrementalExecutionResults;

/** The same, or an ordinary result. */
export type IncrementalExecution = ExecutionResult | IncrementalResults;

const executeIn = {
  'v0.2': experimentalExecuteIncrementally,
  '20220824': legacyExecuteIncrementally,
} as const satisfies Record<IncrementalForm, unknown>;

/** The same for @defer and @stream. The results that follow the first stop with an error once the budget is exceeded. */
export function executeIncrementally(
  args: ExecutionArgs,
  budget: AnswerBudget,
  form: IncrementalForm = 'v0.2',
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
    const options = { budget, turns: new Turns(budget), onExceeded: (limit: unknown) => stop.abort(limit) };
    const schema = withFields(args.schema, (field) => countedField(field, options));
    const result = executeIn[form]({ ...args, schema, abortSignal: stop.signal });
    return result instanceof Promise ? result.then(answer, fail) : answer(result);
  } catch (error) {
    return fail(error);
  }
}

interface CountOptions {
  readonly budget: AnswerBudget;
  readonly turns: Turns;
  readonly onExceeded: (limit: AnswerLimitError) => void;
}

/** A field whose values are counted. */
function countedField(field: Field, { budget, turns, onExceeded }: CountOptions): Field {
  const { resolve = defaultFieldResolver } = field;
  const isLeaf = isLeafType(getNamedType(field.type));
  /** By its first node: in an execution the others are always the same. */
  const partsOf = new WeakMap<FieldNode, number>();
  const partsBelow = (info: GraphQLResolveInfo): number => {
    const [node] = info.fieldNodes;
    if (node === undefined || isLeaf) return 0;
    const parts = partsOf.get(node) ?? deferredParts(info);
    partsOf.set(node, parts);
    return parts;
  };
  /** What the executor completes, when it is its turn. */
  const paced = (value: unknown, info: GraphQLResolveInfo): unknown => {
    spendOn(value, partsBelow(info));
    if (typeof value !== 'object' || value === null) return value;
    // The executor awaits the promises in it only when it is their turn: in a mutation after all its fields, and never where
    // nobody takes the results. The entries of an iterator would be lost.
    if (!(value instanceof Iterator)) ignoreRejections(value);
    if (isLeaf) return value;
    if (!(Symbol.iterator in value)) budget.spendValues(partsBelow(info));
    const entries = Array.isArray(value) ? turns.spread(value) : value;
    if (!turns.isDue) return entries;
    return turns.next().then(() => entries);
  };
  /** Each deferred part of an entry counts as a value, whether or not it has a field of its own. */
  const spendOn = (value: unknown, parts: number): void => {
    if (typeof value === 'string') budget.spendBytes(value.length);
    if (typeof value !== 'object' || value === null || !(Symbol.iterator in value)) return;
    try {
      budget.spendValues((lengthOf(value) ?? 0) * (1 + parts));
    } catch (error) {
      ignoreRejections(value);
      throw error;
    }
    if (Array.isArray(value)) for (const entry of value) spendOn(entry, parts);
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
            .then((settled) => paced(settled, info))
            .catch((error) => fail(error, info))
        : paced(value, info);
    } catch (error) {
      return fail(error, info);
    }
  };
  return Object.create(field, { resolve: { value: countedResolve } });
}
