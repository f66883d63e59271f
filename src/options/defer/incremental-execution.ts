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
import type { IncrementalForm } from '../../engine/engine.ts';
import {
  type AnswerBudget,
  AnswerLimitError,
  boundErrors,
  lengthOf,
  maxErrors,
  nameBytes,
} from '../../executor/answer-budget.ts';
import { locateError } from '../../executor/errors.ts';
import type { ExecuteOptions } from '../../executor/execution.ts';
import { ignoreRejections, isPromise } from '../../executor/promises.ts';
import { eachSelection, isDeferred, type Selection } from '../../executor/selection.ts';
import { type SlicedOperation, slices } from '../../slices.ts';
import { withFields } from '../map-fields.ts';

type Field = GraphQLField<unknown, unknown>;

/** A first result and those that follow it. */
export type IncrementalResults =
  | ExperimentalIncrementalExecutionResults
  | LegacyExperimentalIncrementalExecutionResults;

type IncrementalExecution = ExecutionResult | IncrementalResults;

const executeIn = {
  'v0.2': experimentalExecuteIncrementally,
  '20220824': legacyExecuteIncrementally,
} as const satisfies Record<IncrementalForm, unknown>;

/**
 * Executes an operation with @defer or @stream with graphql's own executor, within the budget of its answer. Never throws
 * and never rejects. The results that follow the first stop with an error once the budget is exceeded.
 *
 * Errors of completion (not of a resolver) count towards the 100 that are shown, but never end the operation, and
 * entries of a list that reports no length are not counted.
 */
export function executeIncrementally(
  args: ExecutionArgs,
  { budget, operation }: Pick<ExecuteOptions, 'operation'> & { readonly budget: AnswerBudget },
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
    const options = {
      budget,
      turns: new Turns(budget, operation),
      onExceeded: (limit: unknown) => stop.abort(limit),
    };
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
  /** The value that the executor completes when it is the operation's turn. */
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

/** How many parts with @defer the operation makes of each object there, whatever its type, without those of fields below it. */
function deferredParts(selection: Selection): number {
  let parts = 0;
  eachSelection(selection.fieldNodes, selection.fragments, (node) => {
    if (isDeferred(node, selection)) parts++;
    return true;
  });
  return parts;
}

/** How many values an execution completes before it waits for its turn. */
const valuesInTurn = 1000;
/** How many entries of a longer list are completed at a time. */
const entriesInTurn = 100;

/**
 * Splits an execution by graphql's own executor, which cannot be interrupted, into turns: it completes a field or an entry
 * when its value is there, and these promise their values for one turn after the other, so that others are served in between.
 */
export class Turns {
  readonly #budget: Pick<AnswerBudget, 'values'>;
  readonly #operation: SlicedOperation;
  /** What waits for a turn, in order. */
  readonly #waiting: (() => void)[] = [];
  #next = 0;
  /** How many are resumed in a turn: about as many as complete `valuesInTurn` together. */
  #perTurn = 1;
  /** The values that had been completed when the last turn began. */
  #before = 0;

  constructor(budget: Pick<AnswerBudget, 'values'>, operation: SlicedOperation = { caller: '' }) {
    this.#budget = budget;
    this.#operation = operation;
  }

  /** Whether so much was completed since the last turn that others are served first. */
  get isDue(): boolean {
    return this.#budget.values - this.#before > valuesInTurn;
  }

  /** Resolves in a later turn, behind whatever waits already. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) - this.#next === 1) this.#schedule();
    });
  }

  #schedule(): void {
    void slices.wait(this.#operation).then(() => this.#run());
  }

  #run(): void {
    const completed = this.#budget.values - this.#before;
    this.#before = this.#budget.values;
    if (completed < valuesInTurn / 2) this.#perTurn *= 2;
    else if (completed > valuesInTurn * 2) this.#perTurn = Math.max(1, Math.floor(this.#perTurn / 2));
    const end = Math.min(this.#next + this.#perTurn, this.#waiting.length);
    while (this.#next < end) this.#waiting[this.#next++]?.();
    if (this.#next < this.#waiting.length) {
      this.#schedule();
    } else {
      this.#waiting.length = 0;
      this.#next = 0;
    }
  }

  /** The same entries; those of a long list are promised, for one turn after the other. */
  spread(list: readonly unknown[]): readonly unknown[] {
    if (list.length <= entriesInTurn) return list;
    let turn: Promise<void>;
    return list.map((entry, index) => {
      if (index < entriesInTurn || isPromise(entry)) return entry;
      if (index % entriesInTurn === 0) turn = this.next();
      return turn.then(() => entry);
    });
  }
}
