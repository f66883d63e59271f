import { type FieldNode, GraphQLError, type GraphQLResolveInfo, getArgumentValues } from 'graphql';
import { type SlicedOperation, slices } from '../load/slices.ts';
import { AnswerBudget, clientHasLeft, unlimited, valuesAtOnce } from './answer-limits.ts';
import type { FieldPlan, OperationPlan } from './compile.ts';
import type { DeferredFragment, Fragments } from './defer.ts';
import { attempt } from './errors.ts';
import { type PendingRoot, type PendingValue, Place } from './pending.ts';

/** The limits of an execution, and its caller. Values that arrive later are completed in the caller's slices of time (slices.ts). */
export interface ExecuteOptions extends SlicedOperation {
  /**
   * Counts and limits the answer's values and bytes. The counts can be read after the execution (default: no
   * limits).
   */
  readonly budget?: AnswerBudget;
  /** Whether nobody needs the answer any more. A long execution checks this at intervals. */
  isAbandoned?(): boolean;
}

type Arguments = Readonly<Record<string, unknown>>;

/** The state of one execution of a plan. */
export class Execution {
  readonly plan: OperationPlan;
  readonly context: unknown;
  readonly variableValues: GraphQLResolveInfo['variableValues'];
  readonly budget: AnswerBudget;
  readonly errors: GraphQLError[] = [];
  /** The fragments of the answer that are delivered later. */
  readonly deferred: DeferredFragment[] = [];
  /** All fragments that are delivered later; null if the answer is one result. */
  fragments: Fragments | null = null;
  /** Whether the answer is finished. If it is, values that arrive later are not completed. */
  isOver = false;
  /** The root fields that are being executed. */
  root: PendingRoot | null = null;
  readonly #options: ExecuteOptions;
  #arguments: Map<FieldPlan, Arguments | GraphQLError> | null = null;
  readonly #place: Place;

  constructor(
    plan: OperationPlan,
    context: unknown,
    variableValues: GraphQLResolveInfo['variableValues'],
    options: ExecuteOptions,
  ) {
    this.plan = plan;
    this.context = context;
    this.variableValues = variableValues;
    this.budget = options.budget ?? new AnswerBudget(unlimited);
    this.#options = options;
    this.#place = new Place(this);
  }

  /**
   * The place for the members of an object or list that are completed now. It is valid until the current call
   * returns.
   */
  placeOf(value: PendingValue): Place {
    this.#place.pending = value;
    return this.#place;
  }

  /** Whether the next value has to wait for another slice of time. The first `valuesAtOnce` values never wait. */
  get mustWait(): boolean {
    return this.budget.values > valuesAtOnce && !slices.hasTime;
  }

  /**
   * Runs work in the caller's next slice of time (slices.ts). The work itself has to check whether the
   * execution is over.
   */
  defer(work: () => void): void {
    void slices.wait(this.#options).then(() => {
      if (this.#options.isAbandoned?.()) this.stop(clientHasLeft);
      work();
    });
  }

  /** Records the error of a nulled field or entry. Errors: AnswerLimitError. */
  record(error: unknown, errors: GraphQLError[] = this.errors): void {
    if (this.budget.countFailure())
      errors.push(error instanceof GraphQLError ? error : new GraphQLError(String(error)));
  }

  /** Ends an execution whose root is pending. No further value is resolved or awaited. */
  stop(error: GraphQLError): void {
    if (this.isOver) return;
    this.isOver = true;
    this.root?.propagateError(error);
    this.fragments?.stop(error);
  }

  /** The arguments of a field, computed once for all objects that have it. Errors: GraphQLError. */
  argumentsOf(field: FieldPlan): Arguments {
    if (field.arguments !== null) return field.arguments;
    this.#arguments ??= new Map();
    let given = this.#arguments.get(field);
    if (given === undefined) {
      const { hideSuggestions } = this.plan.details;
      const [node] = field.nodes;
      given = attempt(() =>
        getArgumentValues(field.field, node as FieldNode, this.variableValues, undefined, hideSuggestions),
      );
      this.#arguments.set(field, given);
    }
    if (given instanceof GraphQLError) throw given;
    return given;
  }
}
