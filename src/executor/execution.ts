import { type FieldNode, GraphQLError, type GraphQLResolveInfo, getArgumentValues } from 'graphql';
import type { AnswerBudget } from './answer-budget.ts';
import { attempt } from './attempt.ts';
import type { OperationDetails, PlannedField } from './plan.ts';
import { WorkQueue } from './scheduler.ts';

/** How many values an execution completes as they arrive; later ones wait for its turn (scheduler.ts). */
const valuesAtOnce = 1000;

/** How far an execution may go. */
export interface ExecuteOptions {
  /** No limits if left out. Afterwards it tells how large the answer is. */
  readonly budget?: AnswerBudget;
  /** Whether the client has left; a long query checks this from time to time. */
  isAbandoned?(): boolean;
}

export interface ExecutionOptions {
  readonly plan: OperationDetails;
  readonly context: unknown;
  readonly variableValues: GraphQLResolveInfo['variableValues'];
  readonly budget: AnswerBudget;
  readonly options: ExecuteOptions;
}

/** The state of one execution of a plan. */
export class Execution {
  readonly plan: OperationDetails;
  readonly context: unknown;
  readonly variableValues: GraphQLResolveInfo['variableValues'];
  readonly budget: AnswerBudget;
  readonly errors: GraphQLError[] = [];
  /** The root fields that are being executed. */
  root: { propagateError(error: unknown): void } | null = null;
  readonly #options: ExecuteOptions;
  #isOver = false;
  #queue: WorkQueue | null = null;
  readonly #arguments: (Readonly<Record<string, unknown>> | GraphQLError | undefined)[] = [];

  constructor({ plan, context, variableValues, budget, options }: ExecutionOptions) {
    this.plan = plan;
    this.context = context;
    this.variableValues = variableValues;
    this.budget = budget;
    this.#options = options;
  }

  /** Whether the answer is finished: values that arrive later are not completed. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether the next value has to wait for this execution's turn. */
  get mustWait(): boolean {
    return this.budget.values > valuesAtOnce && this.#queue?.isRunning !== true;
  }

  /** Runs work in this execution's turn. The work itself checks first whether the execution is over. */
  defer(work: () => void): void {
    this.#queue ??= new WorkQueue();
    this.#queue.push(() => {
      this.stopIfAbandoned();
      work();
    });
  }

  /** A new object of the answer, safe for every member name. */
  newObject(): Record<string, unknown> {
    return this.plan.namesPrototype ? Object.create(null) : {};
  }

  /** Records the error of a nulled field or entry. Errors: AnswerLimitError. */
  record(error: unknown): void {
    if (this.budget.countFailure())
      this.errors.push(error instanceof GraphQLError ? error : new GraphQLError(String(error)));
  }

  /** Marks the answer as finished. */
  end(): void {
    this.#isOver = true;
  }

  /** Ends an execution whose root is pending: nothing more is resolved or waited for. */
  stop(error: GraphQLError): void {
    if (this.#isOver) return;
    this.end();
    this.root?.propagateError(error);
  }

  /** Ends a query whose client has left. What a mutation has begun runs to its end. */
  stopIfAbandoned(): void {
    if (this.plan.operation.operation === 'query' && this.#options.isAbandoned?.())
      this.stop(new GraphQLError('The client has left.'));
  }

  /** The arguments of a field, computed once for all objects that have it. Errors: GraphQLError. */
  argumentsOf(field: PlannedField): Readonly<Record<string, unknown>> {
    if (field.arguments !== null) return field.arguments;
    const known = this.#arguments[field.index];
    if (known instanceof GraphQLError) throw known;
    if (known !== undefined) return known;
    const node = field.nodes[0] as FieldNode;
    const { hideSuggestions } = this.plan;
    const given = attempt(() =>
      getArgumentValues(field.field, node, this.variableValues, undefined, hideSuggestions),
    );
    this.#arguments[field.index] = given;
    if (given instanceof GraphQLError) throw given;
    return given;
  }
}
