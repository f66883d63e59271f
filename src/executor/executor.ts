import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  visit,
} from 'graphql';
import { compileOperation, type OperationPlan } from './compile.ts';
import { Execution, executeInTurn, executeRoot } from './execution.ts';
import { fragmentsOf } from './selection.ts';
import type { Data } from './whole.ts';

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
  /** Runs the operation. */
  execute(context: unknown, variables: Variables): ExecutionResult | Promise<ExecutionResult>;
  /** Whether graphql's own executor runs it. */
  readonly isInterpreted: boolean;
}

/** How many plans an operation keeps: those of the combinations of what @skip and @include decide that came last. */
export const mostPlans = 2;

/**
 * Prepares an operation to be run again and again; each combination of what @skip and @include decide has a plan of its
 * own. What a plan does not do, graphql's own executor does: subscriptions, @defer and @stream, or a name that would set
 * an object's prototype. The answers are the same.
 */
export function prepareOperation(options: PrepareOptions): PreparedOperation {
  const { schema, document, operation, hideSuggestions = false } = options;
  const { conditions, isPlain } = surveyOf(document);
  const isInterpreted = options.isInterpreted === true || operation.operation === 'subscription' || !isPlain;
  const fragments = fragmentsOf(document);
  const plans = new Map<string, OperationPlan>();

  const interpret = (contextValue: unknown, { raw }: Variables) =>
    execute({
      schema,
      document,
      contextValue,
      variableValues: raw,
      operationName: operation.name?.value ?? null,
      hideSuggestions,
    });

  return {
    isInterpreted,
    execute(context, variables) {
      if (isInterpreted) return interpret(context, variables);
      const { coerced } = variables.values;
      const decided = conditions.map((name) => coerced[name]);
      // A null where a condition is needed: graphql's own executor says what is wrong.
      if (!decided.every((value) => typeof value === 'boolean')) return interpret(context, variables);
      const key = decided.join();
      let plan = plans.get(key);
      if (plan === undefined) {
        const entries = conditions.map((name) => [name, coerced[name]] as const);
        const variableValues = { coerced: Object.fromEntries(entries), sources: {} };
        plan = compileOperation({ schema, operation, fragments, variableValues, hideSuggestions });
        const [oldest] = plans.keys();
        if (plans.size === mostPlans && oldest !== undefined) plans.delete(oldest);
        plans.set(key, plan);
      }
      return run(new Execution(plan, context, variables.values));
    },
  };
}

function run(execution: Execution): ExecutionResult | Promise<ExecutionResult> {
  const { fields, operation } = execution.plan;
  const answer = (data: Data | null): ExecutionResult => {
    execution.isOver = true;
    return execution.errors.length === 0 ? { data } : { errors: execution.errors, data };
  };
  const fail = (error: unknown) => {
    execution.errors.push(error instanceof GraphQLError ? error : new GraphQLError(String(error)));
    return answer(null);
  };
  try {
    const data = (operation.operation === 'mutation' ? executeInTurn : executeRoot)(execution, fields);
    return data instanceof Promise ? data.then(answer, fail) : answer(data);
  } catch (error) {
    return fail(error);
  }
}

/** The variables that decide what is left out, and whether a plan can do all that the document holds. */
function surveyOf(document: DocumentNode): { readonly conditions: string[]; readonly isPlain: boolean } {
  const conditions = new Set<string>();
  let isPlain = true;
  visit(document, {
    Directive({ name, arguments: given }) {
      if (name.value === 'defer' || name.value === 'stream') isPlain = false;
      if (name.value !== 'skip' && name.value !== 'include') return;
      for (const { value } of given ?? []) if (value.kind === Kind.VARIABLE) conditions.add(value.name.value);
    },
    Field({ alias }) {
      if (alias?.value === '__proto__') isPlain = false;
    },
  });
  return { conditions: [...conditions], isPlain };
}
