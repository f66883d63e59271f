import { type ExecutionResult, GraphQLError, type GraphQLResolveInfo, responsePathAsArray } from 'graphql';
import { nobody } from '../load/callers.ts';
import { AnswerLimitError } from './answer-limits.ts';
import type { DeferredPlan, PreparedOperation } from './compile.ts';
import { locateError } from './errors.ts';
import { executeFields, executePlan } from './execute.ts';
import { type ExecuteOptions, Execution } from './execution.ts';
import { lateObjectOf } from './known-resolvers.ts';
import { type Data, PendingField, PendingRoot, type PendingValue } from './pending.ts';

/**
 * Fragments with @defer. A fragment is executed separately from the answer, as an object of its own, and delivered after the
 * object to which it belongs. A field that the answer or an earlier fragment has is not executed again.
 */

/** The maximum number of pending fragments. The fields of further ones are delivered with their object, as the specification allows. */
const maxPending = 100;

/**
 * The format of the results: that of graphql 17, or the incremental format of 2022, in which each result
 * contains its path.
 */
export type IncrementalForm = 'v0.2' | '20220824';

/** One of several results, or a part of a result. */
export interface IncrementalResult extends Pick<ExecutionResult, 'data' | 'errors'> {
  readonly id?: string;
  readonly path?: readonly (string | number)[];
  readonly pending?: readonly IncrementalResult[];
  readonly incremental?: readonly IncrementalResult[];
  readonly completed?: readonly IncrementalResult[];
  readonly hasNext?: boolean;
}

/** Executes an operation, and delivers its fragments later. Never rejects. Shape: a single result if no fragment is deferred. */
export async function executeIncrementally(
  prepared: PreparedOperation,
  form: IncrementalForm,
  context: unknown,
  variables: GraphQLResolveInfo['variableValues'],
  options: ExecuteOptions = { caller: nobody },
): Promise<ExecutionResult | Fragments> {
  const plan = prepared.planFor(variables, true);
  if (plan instanceof GraphQLError) return { errors: [plan], data: null };
  const execution = new Execution(plan, context, variables, options);
  const fragments = new Fragments(execution, form);
  execution.fragments = fragments;
  const result = await executePlan(execution);
  return fragments.announceFirst(result) ? fragments : result;
}

/** A deferred fragment of one object. Its data is null if the fragment has failed as a whole. */
export class DeferredFragment extends PendingRoot {
  readonly plan: DeferredPlan;
  readonly source: unknown;
  /** The object to which the fragment belongs. */
  readonly container: PendingValue;
  /**
   * The object's data in the answer and in outer fragments. Some fields of this fragment are delivered there.
   */
  readonly known: readonly Data[];
  id = '';
  /** The fragment's fields, once it is complete. */
  data: Data | null = null;

  constructor(plan: DeferredPlan, source: unknown, container: PendingValue, data: Data) {
    super(container.execution, [], []);
    this.plan = plan;
    this.source = source;
    this.container = container;
    this.known = container instanceof DeferredFragment ? [data, ...container.known] : [data];
  }

  override get path() {
    return this.container.path;
  }

  get pathAndLabel() {
    const { path, plan } = this;
    return {
      path: responsePathAsArray(path),
      ...(plan.label !== undefined && { label: plan.label }),
    };
  }

  /** Whether the fragment's object turned out to be null. */
  get isDiscarded(): boolean {
    for (let at: PendingValue | null = this.container; at !== null; at = at.parent)
      if (at.isNulled) return true;
    return false;
  }

  /** The data of all fields of the fragment, including those that are delivered elsewhere; null if it has failed. */
  get wholeData(): Data | null {
    if (this.data === null) return null;
    const whole: Data = Object.create(null);
    for (const name of this.plan.names) {
      const holder = [this.data, ...this.known].find((data) => Object.hasOwn(data, name));
      if (holder) whole[name] = holder[name];
    }
    return whole;
  }
}

/** Executes the fragments of an execution, and delivers them in results. */
export class Fragments {
  readonly results: AsyncGenerator<IncrementalResult, void, void>;
  readonly #execution: Execution;
  readonly #form: IncrementalForm;
  readonly #announced = new Set<DeferredFragment>();
  /** The fragments for which the client waits; null before the first result. */
  #awaited: readonly DeferredFragment[] | null = null;
  #pending = 0;
  #ids = 0;
  /** Resolves when fragments may begin: those of a mutation wait until all its fields have been written. */
  readonly #written = Promise.withResolvers<void>();
  #first: IncrementalResult = {};
  #limit: GraphQLError | null = null;
  #changed = Promise.withResolvers<void>();

  constructor(execution: Execution, form: IncrementalForm) {
    this.#execution = execution;
    this.#form = form;
    if (execution.plan.details.operation.operation !== 'mutation') this.#written.resolve();
    this.results = this.#deliver();
  }

  /** Counts this many more pending fragments. Returns false, and counts none, if there would be too many. */
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
      void this.#execute(fragment);
    }
  }

  /** Executes a fragment, but not before its object has been started. Never rejects. */
  async #execute(fragment: DeferredFragment): Promise<void> {
    const execution = this.#execution;
    const { plan, source } = fragment;
    try {
      await this.#written.promise;
      const object = await (lateObjectOf(source) ?? source);
      if (execution.mustWait) await new Promise<void>((resolve) => execution.defer(resolve));
      if (execution.isOver) return;
      const data = executeFields(plan.object, object, execution.placeOf(fragment));
      fragment.data = data === fragment ? await fragment.completed : (data as Data);
    } catch (error) {
      this.#fail(fragment, error);
    }
    this.#changed.resolve();
  }

  #fail(fragment: DeferredFragment, error: unknown): void {
    const execution = this.#execution;
    if (execution.isOver) return;
    const { container, path, errors } = fragment;
    const nodes = container instanceof PendingField ? container.details.nodes : [];
    // The error that made the fragment null is its only error.
    fragment.isNulled = true;
    errors.length = 0;
    try {
      if (error instanceof AnswerLimitError) throw error;
      execution.record(locateError(error, nodes, responsePathAsArray(path)), errors);
    } catch (limit) {
      execution.stop(limit as GraphQLError);
    }
  }

  /** The error becomes the last result. */
  stop(error: GraphQLError): void {
    this.#limit = error;
    this.#changed.resolve();
  }

  /** Keeps the first result, and announces the fragments that will follow it. Returns false if no fragment will follow. */
  announceFirst(result: ExecutionResult): boolean {
    const pending = result.data ? this.#announce(this.#execution.deferred) : [];
    this.#first = { ...result, ...this.#announcement(pending), hasNext: true };
    if (pending.length === 0) this.#execution.isOver = true;
    this.#written.resolve();
    return pending.length > 0;
  }

  /** Yields the results. Errors: the limit that ended the execution. */
  async *#deliver(): AsyncGenerator<IncrementalResult, void, void> {
    try {
      for (let next: IncrementalResult | null = this.#first; ; next = this.#nextResult()) {
        if (next !== null) yield next;
        this.#awaited = [...this.#announced];
        if (this.#awaited.length === 0) return;
        await this.#changed.promise;
        this.#changed = Promise.withResolvers();
        if (this.#limit !== null) throw this.#limit;
      }
    } finally {
      this.#execution.isOver = true;
    }
  }

  /** A result with all fragments that are complete and not delivered yet, or null. */
  #nextResult(): IncrementalResult | null {
    const delivered: DeferredFragment[] = [];
    const pending: DeferredFragment[] = [];
    // Delivering a fragment may add the fragments inside it to this set.
    for (const fragment of this.#announced) {
      if (fragment.data === null && !fragment.isNulled) continue;
      this.#announced.delete(fragment);
      this.#pending--;
      delivered.push(fragment);
      pending.push(...this.#announce(fragment.deferred));
    }
    if (delivered.length === 0) return null;
    const hasNext = this.#announced.size > 0;
    if (this.#form === '20220824') {
      const parts = delivered.map(({ pathAndLabel, wholeData, errors }) => ({
        ...pathAndLabel,
        data: wholeData,
        ...errorsOf(errors),
      }));
      return { incremental: parts, hasNext };
    }
    const parts = delivered.flatMap(({ id, data, errors }) =>
      data === null ? [] : { id, data, ...errorsOf(errors) },
    );
    return {
      ...this.#announcement(pending),
      ...(parts.length > 0 && { incremental: parts }),
      completed: delivered.map(({ id, data, errors }) => ({ id, ...(data === null && errorsOf(errors)) })),
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

  #announcement(pending: readonly DeferredFragment[]): Pick<IncrementalResult, 'pending'> {
    if (this.#form !== 'v0.2' || pending.length === 0) return {};
    return { pending: pending.map(({ id, pathAndLabel }) => ({ id, ...pathAndLabel })) };
  }

  /** The last result, which replaces one that cannot be delivered. */
  lastResult(errors: readonly object[]): object {
    if (this.#awaited === null) return { data: null, errors, hasNext: false };
    return this.#form === '20220824'
      ? { incremental: [{ path: [], errors }], hasNext: false }
      : { completed: this.#awaited.map(({ id }) => ({ id, errors })), hasNext: false };
  }
}

const errorsOf = (errors: readonly GraphQLError[]) => (errors.length === 0 ? {} : { errors });
