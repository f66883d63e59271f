import {
  type DocumentNode,
  type ExecutionResult,
  GraphQLDeferDirective,
  GraphQLError,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  GraphQLStreamDirective,
  Kind,
  type OperationDefinitionNode,
  visit,
} from 'graphql';
import { AnswerBudget, unlimited } from './answer-budget.ts';
import { attempt } from './attempt.ts';
import { compileOperation, type OperationPlan } from './compile.ts';
import { run } from './execute-operation.ts';
import { type ExecuteOptions, Execution } from './execution.ts';
import {
  executeByReference,
  executeIncrementally,
  type IncrementalExecution,
  type IncrementalForm,
} from './graphql-js-fallback.ts';
import { fragmentsOf } from './selection.ts';
import { isExecutionTraced, isResolveTraced, traceExecution } from './tracing.ts';

export interface PrepareOptions {
  readonly schema: GraphQLSchema;
  /** It has been validated. */
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  /** Whether errors leave out suggestions that name parts of the schema. */
  readonly hideSuggestions?: boolean;
  /** The schema for incremental execution, whose resolvers may be called for deferred fields alone; `schema` if left out. */
  readonly incrementalSchema?: GraphQLSchema;
  /** True: graphql's own executor runs every operation. The tests compare the two. */
  readonly isInterpreted?: boolean;
}

export interface Variables {
  /** As the request has them. */
  readonly raw: Readonly<Record<string, unknown>>;
  /** As graphql's getVariableValues coerces them. */
  readonly values: GraphQLResolveInfo['variableValues'];
}

export interface PreparedOperation {
  /**
   * Runs the operation. Never throws and never rejects. An answer that would be too large is an AnswerLimitError
   * alone; one with too many errors ends with an error that says so (answer-budget.ts).
   */
  execute(
    context: unknown,
    variables: Variables,
    options?: ExecuteOptions,
  ): ExecutionResult | Promise<ExecutionResult>;
  /** Whether graphql's own executor runs it. */
  readonly isInterpreted: boolean;
  /** Whether it uses @defer or @stream. `execute` ignores them: its answer is complete. */
  readonly isIncremental: boolean;
  /**
   * Runs an operation that uses @defer or @stream with graphql's own executor, by default for graphql 17's form of its
   * results; the result is an ordinary one if none of them is in force. Never throws and never rejects.
   */
  executeIncrementally(
    context: unknown,
    variables: Variables,
    budget: AnswerBudget,
    form?: IncrementalForm,
  ): IncrementalExecution | Promise<IncrementalExecution>;
}

/** How many plans an operation keeps: one for each of the latest combinations of @skip and @include conditions. */
export const maxPlans = 2;

/**
 * Prepares an operation for repeated execution, with a plan for each combination of its @skip and @include
 * conditions. What plans do not support (subscriptions) runs on graphql's own executor, with the same answers, and so
 * does @defer and @stream where the client takes several results.
 */
export function prepareOperation(options: PrepareOptions): PreparedOperation {
  const { schema, document, operation, hideSuggestions = false } = options;
  const { conditions, isPlain, isIncremental, namesPrototype } = analyseDocument(document);
  const isInterpreted = options.isInterpreted === true || operation.operation === 'subscription' || !isPlain;
  const fragments = fragmentsOf(document);
  const plans = new Map<string, OperationPlan | GraphQLError>();

  const argsOf = (contextValue: unknown, variableValues: Variables['raw']) => {
    const operationName = operation.name?.value ?? null;
    return { schema, document, contextValue, variableValues, operationName, hideSuggestions };
  };
  let documentForOneResult: DocumentNode | null = null;

  /** The plan for these @skip and @include conditions, with or without traced resolvers. */
  const planFor = (coerced: Variables['raw']): OperationPlan | GraphQLError => {
    const isTraced = isResolveTraced();
    const key = `${isTraced ? 'traced ' : ''}${conditions.map((name) => coerced[name]).join()}`;
    const known = plans.get(key);
    if (known !== undefined) return known;
    const decided = Object.fromEntries(conditions.map((name) => [name, coerced[name]]));
    const variableValues = { coerced: decided, sources: {} };
    const details = { schema, operation, fragments, hideSuggestions, namesPrototype };
    const plan = attempt(() => compileOperation({ ...details, variableValues, isTraced }));
    const [oldest] = plans.keys();
    if (plans.size === maxPlans && oldest !== undefined) plans.delete(oldest);
    plans.set(key, plan);
    return plan;
  };

  return {
    isInterpreted,
    isIncremental,
    executeIncrementally(context, { raw }, budget, form) {
      const args = { ...argsOf(context, raw), schema: options.incrementalSchema ?? schema };
      // What a mutation's payload defers is read once all its fields have been written.
      const enableEarlyExecution = operation.operation === 'query';
      return executeIncrementally({ ...args, enableEarlyExecution }, budget, form);
    },
    execute(context, { raw, values }, options = {}) {
      const { budget = new AnswerBudget(unlimited) } = options;
      if (isInterpreted) {
        documentForOneResult ??= isIncremental ? withoutIncremental(document) : document;
        return executeByReference({ ...argsOf(context, raw), document: documentForOneResult }, budget);
      }
      const runPlan = () => {
        const plan = planFor(values.coerced);
        if (plan instanceof GraphQLError) return { errors: [plan], data: null };
        return run(new Execution({ plan, context, variableValues: values, budget, options }), plan.fields);
      };
      if (!isExecutionTraced()) return runPlan();
      return traceExecution({ schema, document, operation, rawVariableValues: raw }, runPlan);
    },
  };
}

interface Survey {
  /** The variables that @skip and @include use. */
  readonly conditions: string[];
  /** Whether a plan supports everything in the document. */
  readonly isPlain: boolean;
  readonly isIncremental: boolean;
  readonly namesPrototype: boolean;
}

/** What plans do not support. */
const unplanned = 'experimental_disableErrorPropagation';
const incremental: ReadonlySet<string> = new Set([GraphQLDeferDirective.name, GraphQLStreamDirective.name]);

/** The document without @defer and @stream, for an executor that refuses them. */
const withoutIncremental = (document: DocumentNode): DocumentNode =>
  visit(document, { Directive: ({ name }) => (incremental.has(name.value) ? null : undefined) });

function analyseDocument(document: DocumentNode): Survey {
  const conditions = new Set<string>();
  let isPlain = true;
  let isIncremental = false;
  let namesPrototype = false;
  visit(document, {
    Directive({ name, arguments: given }) {
      if (name.value === unplanned) isPlain = false;
      if (incremental.has(name.value)) isIncremental = true;
      if (name.value !== 'skip' && name.value !== 'include') return;
      for (const { value } of given ?? []) if (value.kind === Kind.VARIABLE) conditions.add(value.name.value);
    },
    Field({ alias }) {
      if (alias?.value === '__proto__') namesPrototype = true;
    },
  });
  return { conditions: [...conditions], isPlain, isIncremental, namesPrototype };
}
