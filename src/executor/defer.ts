import {
  type ExecutionResult,
  GraphQLError,
  type GraphQLResolveInfo,
  type ResponsePath,
  responsePathAsArray,
} from 'graphql';
import { nobody } from '../load/callers.ts';
import { AnswerLimitError, boundErrors } from './answer-budget.ts';
import type { DeferredPlan, PreparedOperation } from './compile.ts';
import { locateError } from './errors.ts';
import { executeFields, executePlan } from './execute.ts';
import { type ExecuteOptions, Execution } from './execution.ts';
import { lateObjectOf } from './known-resolvers.ts';
import { type Data, PendingField, PendingRoot, type PendingValue } from './pending.ts';

/**
 * Fragments with @defer. Each is an object of its own, which is executed beside the answer that it is left out of, and delivered
 * after it. A field that the answer or an earlier fragment has is not executed again.
 */

/** The most fragments that are pending at a time: the fields of others are delivered with their object, which the specification allows. */
const maxPending = 100;

/** The format of the results: that of graphql 17, or that of 2022, in which each result names its path. */
export type IncrementalForm = 'v0.2' | '20220824';

/** A first result, and those that follow. */
export interface IncrementalResults {
  readonly initialResult: object;
  readonly subsequentResults: AsyncGenerator<object, void, void>;
}

/** Executes an operation, and delivers its fragments later. Shape: a single result if none is deferred. It never rejects. */
export async function executeIncrementally(
  prepared: PreparedOperation,
  form: IncrementalForm,
  context: unknown,
  variables: GraphQLResolveInfo['variableValues'],
  options: ExecuteOptions = { caller: nobody },
): Promise<ExecutionResult | IncrementalResults> {
  const plan = prepared.planFor(variables, true);
  if (plan instanceof GraphQLError) return { errors: [plan], data: null };
  const execution = new Execution(plan, context, variables, options);
  const fragments = new Fragments(execution, form);
  execution.fragments = fragments;
  const result = await executePlan(execution);
  return fragments.announceFirst(result) ?? result;
}

/** A fragment of one object. */
export class DeferredFragment {
  readonly plan: DeferredPlan;
  readonly source: unknown;
  /** The object that the fragment is left out of. */
  readonly container: PendingValue;
  /** The objects of the answer that have the other fields of the fragment. */
  readonly known: readonly Data[];
  readonly root: PendingRoot;
  id = '';
  data: Data | null = null;
  /** The errors of a fragment that failed as a whole. */
  failure: readonly GraphQLError[] | null = null;

  constructor(plan: DeferredPlan, source: unknown, container: PendingValue, data: Data) {
    this.plan = plan;
    this.source = source;
    this.container = container;
    const outer = container instanceof PendingRoot ? container.fragment : null;
    this.known = outer === null ? [data] : [data, ...outer.known];
    this.root = new PendingRoot(container.execution, this);
  }

  get path(): ResponsePath | undefined {
    return this.container.path;
  }

  get isComplete(): boolean {
    return this.data !== null || this.failure !== null;
  }

  /** Whether its object turned out to be null. */
  get isDiscarded(): boolean {
    for (let at: PendingValue | null = this.container; at !== null; at = at.parent)
      if (at.isNulled) return true;
    return false;
  }

  /** The data of all its fields, also of those that are delivered elsewhere. */
  get wholeData(): Data {
    const whole: Data = Object.create(null);
    for (const name of this.plan.names) {
      const holder = [this.data, ...this.known].find((data) => data !== null && Object.hasOwn(data, name));
      if (holder) whole[name] = holder[name];
    }
    return whole;
  }
}

/** The fragments of an execution. */
export class Fragments {
  readonly #execution: Execution;
  readonly #form: IncrementalForm;
  readonly #announced = new Set<DeferredFragment>();
  #pending = 0;
  #ids = 0;
  /** Fragments of a mutation wait until all its fields have been written. */
  #held: DeferredFragment[] | null;
  #limit: GraphQLError | null = null;
  #changed = Promise.withResolvers<void>();

  constructor(execution: Execution, form: IncrementalForm) {
    this.#execution = execution;
    this.#form = form;
    this.#held = execution.plan.details.operation.operation === 'mutation' ? [] : null;
  }

  /** Whether this many more fragments may be pending. */
  admits(count: number): boolean {
    if (this.#pending + count > maxPending) return false;
    this.#pending += count;
    return true;
  }

  /** Defers the fragments of an object that has been started. */
  add(plans: readonly DeferredPlan[], source: unknown, container: PendingValue, data: Data): void {
    let root = container;
    while (root.parent !== null) root = root.parent;
    for (const plan of plans) {
      const fragment = new DeferredFragment(plan, source, container, data);
      if (root instanceof PendingRoot) root.deferred.push(fragment);
      if (this.#held === null) void Promise.resolve().then(() => this.#start(fragment));
      else this.#held.push(fragment);
    }
  }

  #start(fragment: DeferredFragment): void {
    const late = lateObjectOf(fragment.source);
    const { mustWait } = this.#execution;
    if (late === null && mustWait) this.#execution.defer(() => this.#execute(fragment, fragment.source));
    else if (late === null) this.#execute(fragment, fragment.source);
    else
      late.then(
        (object) => this.#execute(fragment, object),
        (error) => this.#fail(fragment, error),
      );
  }

  #execute(fragment: DeferredFragment, source: unknown): void {
    const execution = this.#execution;
    if (execution.isOver) return;
    const { root, plan } = fragment;
    try {
      const data = executeFields(plan.object, source, execution.placeOf(root));
      if (data !== root) this.#complete(fragment, data as Data);
      else
        root.completed.then(
          (members) => this.#complete(fragment, members),
          (error) => this.#fail(fragment, error),
        );
    } catch (error) {
      this.#fail(fragment, error);
    }
  }

  #complete(fragment: DeferredFragment, data: Data): void {
    fragment.data = data;
    this.#changed.resolve();
  }

  #fail(fragment: DeferredFragment, error: unknown): void {
    const execution = this.#execution;
    if (execution.isOver) return;
    const { container, path, root } = fragment;
    const nodes = container instanceof PendingField ? container.details.nodes : [];
    // The error that made it null is its only one.
    root.isNulled = true;
    root.errors.length = 0;
    try {
      if (error instanceof AnswerLimitError) throw error;
      execution.record(locateError(error, nodes, responsePathAsArray(path)), root.errors);
      fragment.failure = root.errors;
      this.#changed.resolve();
    } catch (limit) {
      execution.stop(limit as GraphQLError);
    }
  }

  /** Ends the results with an error. */
  stop(error: GraphQLError): void {
    this.#limit = error;
    this.#changed.resolve();
  }

  /** The first result with the announced fragments; null if there are none. */
  announceFirst(result: ExecutionResult): IncrementalResults | null {
    const pending = result.data ? this.#announce(this.#execution.deferred) : [];
    if (pending.length === 0) {
      this.#execution.isOver = true;
      return null;
    }
    for (const fragment of this.#held ?? []) this.#start(fragment);
    this.#held = null;
    const initialResult = { ...result, ...this.#announcement(pending), hasNext: true };
    return { initialResult, subsequentResults: this.#results() };
  }

  async *#results(): AsyncGenerator<object, void, void> {
    try {
      while (this.#announced.size > 0) {
        if (this.#limit !== null) throw this.#limit;
        const result = this.#nextResult();
        if (result !== null) yield result;
        else {
          await this.#changed.promise;
          this.#changed = Promise.withResolvers();
        }
      }
    } finally {
      this.#execution.isOver = true;
    }
  }

  /** Delivers all fragments that are complete; null if there are none. */
  #nextResult(): object | null {
    const delivered: DeferredFragment[] = [];
    const pending: DeferredFragment[] = [];
    // The set grows by what the delivered fragments contain.
    for (let before = -1; before < delivered.length; ) {
      before = delivered.length;
      for (const fragment of this.#announced) {
        if (!fragment.isComplete) continue;
        this.#announced.delete(fragment);
        this.#pending--;
        delivered.push(fragment);
        if (fragment.failure === null) pending.push(...this.#announce(fragment.root.deferred));
      }
    }
    if (delivered.length === 0) return null;
    const hasNext = this.#announced.size > 0;
    if (this.#form === '20220824') return { incremental: delivered.map(withPath), hasNext };
    const incremental = delivered.flatMap(({ id, data, root, failure }) =>
      failure === null ? { id, data, ...errorsOf(root.errors) } : [],
    );
    return {
      ...this.#announcement(pending),
      ...(incremental.length > 0 && { incremental }),
      completed: delivered.map(({ id, failure }) => ({ id, ...errorsOf(failure ?? []) })),
      hasNext,
    };
  }

  #announce(fragments: readonly DeferredFragment[]): DeferredFragment[] {
    const announced = fragments.filter(({ isDiscarded }) => !isDiscarded);
    this.#pending -= fragments.length - announced.length;
    for (const fragment of announced) {
      fragment.id = String(this.#ids++);
      this.#announced.add(fragment);
    }
    return announced;
  }

  #announcement(pending: readonly DeferredFragment[]): object {
    if (this.#form !== 'v0.2' || pending.length === 0) return {};
    const announced = pending.map(({ id, path, plan }) => ({
      id,
      path: responsePathAsArray(path),
      ...(plan.label !== undefined && { label: plan.label }),
    }));
    return { pending: announced };
  }
}

const errorsOf = (errors: readonly GraphQLError[]) =>
  errors.length === 0 ? {} : { errors: boundErrors(errors, 0) };

/** A fragment in the form of 2022. */
const withPath = (fragment: DeferredFragment) => ({
  path: responsePathAsArray(fragment.path),
  data: fragment.failure === null ? fragment.wholeData : null,
  ...(fragment.plan.label !== undefined && { label: fragment.plan.label }),
  ...errorsOf(fragment.failure ?? fragment.root.errors),
});
