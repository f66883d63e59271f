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
  /** Whether errors suggest no names of the schema. */
  readonly hideSuggestions?: boolean;
  /** True: graphql's own executor runs it, whatever it is. The tests hold the two against each other. */
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
   * Runs the operation. Never throws and never rejects; an answer that would be too large is an AnswerLimitError alone,
   * and one with too many errors ends with one that says so (answer-budget.ts).
   */
  execute(
    context: unknown,
    variables: Variables,
    options?: ExecuteOptions,
  ): ExecutionResult | Promise<ExecutionResult>;
  /** Whether graphql's own executor runs it. */
  readonly isInterpreted: boolean;
}

/** How many plans an operation keeps: those of the combinations of what @skip and @include decide that came last. */
export const maxPlans = 2;

/**
 * Prepares an operation to be run again and again; each combination of what @skip and @include decide has a plan of its
 * own. What a plan does not do, graphql's own executor does: subscriptions, @defer and @stream. The answers are the same.
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

  /** The plan for what @skip and @include decide, and for whether resolvers are traced. */
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
  /** The variables that decide what is left out. */
  readonly conditions: string[];
  /** Whether a plan can do all that the document holds. */
  readonly isPlain: boolean;
  readonly namesPrototype: boolean;
}

/** What a plan leaves to graphql's own executor. */
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
