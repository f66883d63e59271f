import {
  type DocumentNode,
  type ExecutionResult,
  GraphQLError,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  visit,
} from 'graphql';
import { AnswerBudget, unlimited } from './answer-budget.ts';
import { attempt } from './attempt.ts';
import { compileOperation, type OperationPlan } from './compile.ts';
import { run } from './execute-operation.ts';
import { type ExecuteOptions, Execution } from './execution.ts';
import { executeByReference } from './graphql-js-fallback.ts';
import { fragmentsOf } from './selection.ts';
import { isExecutionTraced, isResolveTraced, traceExecution } from './tracing.ts';

export interface PrepareOptions {
  readonly schema: GraphQLSchema;
  /** It has been validated. */
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  /** Whether errors leave out suggestions that name parts of the schema. */
  readonly hideSuggestions?: boolean;
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
}

/** How many plans an operation keeps: one for each of the latest combinations of @skip and @include conditions. */
export const maxPlans = 2;

/**
 * Prepares an operation for repeated execution, with a plan for each combination of its @skip and @include
 * conditions. What plans do not support (subscriptions, @defer, @stream) runs on graphql's own executor, with the
 * same answers.
 */
export function prepareOperation(options: PrepareOptions): PreparedOperation {
  const { schema, document, operation, hideSuggestions = false } = options;
  const { conditions, isPlain, namesPrototype } = analyseDocument(document);
  const isInterpreted = options.isInterpreted === true || operation.operation === 'subscription' || !isPlain;
  const fragments = fragmentsOf(document);
  const plans = new Map<string, OperationPlan | GraphQLError>();

  const interpret = (contextValue: unknown, variableValues: Variables['raw'], budget: AnswerBudget) => {
    const operationName = operation.name?.value ?? null;
    const args = { schema, document, contextValue, variableValues, operationName, hideSuggestions };
    return executeByReference(args, budget);
  };

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
    execute(context, { raw, values }, options = {}) {
      const { budget = new AnswerBudget(unlimited) } = options;
      if (isInterpreted) return interpret(context, raw, budget);
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
  readonly namesPrototype: boolean;
}

/** What plans do not support. */
const unplanned: ReadonlySet<string> = new Set(['defer', 'stream', 'experimental_disableErrorPropagation']);

function analyseDocument(document: DocumentNode): Survey {
  const conditions = new Set<string>();
  let isPlain = true;
  let namesPrototype = false;
  visit(document, {
    Directive({ name, arguments: given }) {
      if (unplanned.has(name.value)) isPlain = false;
      if (name.value !== 'skip' && name.value !== 'include') return;
      for (const { value } of given ?? []) if (value.kind === Kind.VARIABLE) conditions.add(value.name.value);
    },
    Field({ alias }) {
      if (alias?.value === '__proto__') namesPrototype = true;
    },
  });
  return { conditions: [...conditions], isPlain, namesPrototype };
}
