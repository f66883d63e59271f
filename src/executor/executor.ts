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
import { fragmentsOf } from './selection.ts';

export interface PrepareOptions {
  readonly schema: GraphQLSchema;
  /** It has been validated. */
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  /** Whether errors leave out suggestions that name parts of the schema. */
  readonly hideSuggestions?: boolean;
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
   * alone; one with too many errors ends with an error that says so (answer-budget.ts). It is complete: @defer and
   * @stream are ignored.
   */
  execute(
    context: unknown,
    variables: Variables,
    options?: ExecuteOptions,
  ): ExecutionResult | Promise<ExecutionResult>;
}

/** How many plans an operation keeps: one for each of the latest combinations of @skip and @include conditions. */
export const maxPlans = 2;

/**
 * Prepares a query or a mutation for repeated execution, with a plan for each combination of its @skip and @include
 * conditions.
 */
export function prepareOperation({
  schema,
  document,
  operation,
  hideSuggestions = false,
}: PrepareOptions): PreparedOperation {
  const { conditions, namesPrototype } = analyseDocument(document);
  const fragments = fragmentsOf(document);
  const plans = new Map<string, OperationPlan | GraphQLError>();

  /** The plan for these @skip and @include conditions. */
  const planFor = (coerced: Variables['raw']): OperationPlan | GraphQLError => {
    const key = conditions.map((name) => coerced[name]).join();
    const known = plans.get(key);
    if (known !== undefined) return known;
    const decided = Object.fromEntries(conditions.map((name) => [name, coerced[name]]));
    const variableValues = { coerced: decided, sources: {} };
    const details = { schema, operation, fragments, hideSuggestions, namesPrototype };
    const plan = attempt(() => compileOperation({ ...details, variableValues }));
    const [oldest] = plans.keys();
    if (plans.size === maxPlans && oldest !== undefined) plans.delete(oldest);
    plans.set(key, plan);
    return plan;
  };

  return {
    execute(context, { values }, options = {}) {
      const { budget = new AnswerBudget(unlimited) } = options;
      const plan = planFor(values.coerced);
      if (plan instanceof GraphQLError) return { errors: [plan], data: null };
      return run(new Execution({ plan, context, variableValues: values, budget, options }), plan.fields);
    },
  };
}

/** The variables that @skip and @include use, and whether a response name is `__proto__`. */
function analyseDocument(document: DocumentNode) {
  const conditions = new Set<string>();
  let namesPrototype = false;
  visit(document, {
    Directive({ name, arguments: given }) {
      if (name.value !== 'skip' && name.value !== 'include') return;
      for (const { value } of given ?? []) if (value.kind === Kind.VARIABLE) conditions.add(value.name.value);
    },
    Field({ alias }) {
      if (alias?.value === '__proto__') namesPrototype = true;
    },
  });
  return { conditions: [...conditions], namesPrototype };
}
