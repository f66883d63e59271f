import {
  type FieldNode,
  type GraphQLError,
  type GraphQLResolveInfo,
  getArgumentValues,
  locatedError,
  type ResponsePath,
} from 'graphql';
import type { FieldPlan, OperationPlan } from './compile.ts';
import { FieldPlace } from './field-place.ts';

export type Path = ResponsePath;

const rethrow = (error: unknown): never => {
  throw error;
};

/** What is true of one execution of a plan. */
export class Execution {
  readonly plan: OperationPlan;
  readonly context: unknown;
  readonly variableValues: GraphQLResolveInfo['variableValues'];
  readonly errors: GraphQLError[] = [];
  /** The answer is given: what is still on its way has nobody to be completed for. */
  isOver = false;
  /** Where errors have put null: what fails below it is no longer part of the answer. */
  readonly #nulled = new Set<Path | undefined>();
  readonly #arguments: (Readonly<Record<string, unknown>> | undefined)[] = [];

  constructor(plan: OperationPlan, context: unknown, variableValues: GraphQLResolveInfo['variableValues']) {
    this.plan = plan;
    this.context = context;
    this.variableValues = variableValues;
  }

  /** The arguments of a field, worked out once for all objects that have it. Errors: GraphQLError. */
  argumentsOf(field: FieldPlan): Readonly<Record<string, unknown>> {
    if (field.arguments !== null) return field.arguments;
    const known = this.#arguments[field.index];
    if (known !== undefined) return known;
    const node = field.nodes[0] as FieldNode;
    const { hideSuggestions } = this.plan;
    const given = getArgumentValues(field.field, node, this.variableValues, undefined, hideSuggestions);
    this.#arguments[field.index] = given;
    return given;
  }

  /** Goes on with what a promise gives; `fail`, where it is given, makes something of its error and of those of `then`. */
  after(
    promise: PromiseLike<unknown>,
    then: (value: unknown) => unknown,
    fail: (error: unknown) => unknown = rethrow,
  ): Promise<unknown> {
    return Promise.resolve(promise).then((value) => {
      if (this.isOver) return null;
      try {
        const done = then(value);
        return done instanceof Promise ? done.then(undefined, fail) : done;
      } catch (error) {
        return fail(error);
      }
    }, fail);
  }

  /** Notes an error, and is the null in its place. Errors: the error itself, for what is above, where null may not be. */
  fail(raw: unknown, nodes: readonly FieldNode[], path: Path | undefined, isNonNull: boolean): null {
    const error = locatedError(raw, nodes, keysOf(path));
    if (isNonNull) throw error;
    this.note(error, path);
    return null;
  }

  note(error: GraphQLError, path: Path | undefined): void {
    for (let place = path; ; place = place.prev) {
      if (this.#nulled.has(place)) return;
      if (place === undefined) break;
    }
    this.#nulled.add(path);
    this.errors.push(error);
  }
}

/** The value of one field in the answer, or a promise of it; null where it failed. Errors: where null may not be. */
function executeField(place: FieldPlace, source: unknown): unknown {
  const { execution, plan } = place;
  try {
    const value = plan.resolve(source, execution.argumentsOf(plan), execution.context, place);
    if (isPromise(value)) return completeLater(place, value);
    const completed = plan.complete(value, place, place);
    return completed instanceof Promise ? completed.then(undefined, (error) => place.fail(error)) : completed;
  } catch (error) {
    return place.fail(error);
  }
}

const completeLater = (place: FieldPlace, value: PromiseLike<unknown>): Promise<unknown> =>
  place.execution.after(
    value,
    (resolved) => place.plan.complete(resolved, place, place),
    (error) => place.fail(error),
  );

/** The selected fields of an object, or a promise of them. Errors: where null may not be, and nothing else can stand. */
export function executeFields(
  execution: Execution,
  fields: readonly FieldPlan[],
  source: unknown,
  path: Path | undefined,
): Record<string, unknown> | Promise<Record<string, unknown>> {
  const data: Record<string, unknown> = {};
  let pending = 0;
  try {
    for (const field of fields) {
      const value = field.constant ?? executeField(new FieldPlace(execution, field, path), source);
      // What is on its way has its place already: the answer's order is that of the operation.
      data[field.name] = value;
      if (value instanceof Promise) pending++;
    }
  } catch (error) {
    swallow(Object.values(data));
    throw error;
  }
  return pending === 0 ? data : settled(data, pending);
}

/**
 * Waits for the promises among the members of an object, and puts what they give in their places. It takes one
 * promise for each, where Promise.all takes three. Errors: the first.
 */
function settled(data: Record<string, unknown>, pending: number): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    let left = pending;
    for (const name of Object.keys(data)) {
      const value = data[name];
      if (!(value instanceof Promise)) continue;
      value.then((done) => {
        data[name] = done;
        if (--left === 0) resolve(data);
      }, reject);
    }
  });
}

/** The same, one after the other: each field of a mutation begins when the one before has ended. */
export async function executeFieldsSerially(
  execution: Execution,
  fields: readonly FieldPlan[],
  source: unknown,
): Promise<Record<string, unknown>> {
  const data: Record<string, unknown> = {};
  for (const field of fields)
    data[field.name] =
      field.constant ?? (await executeField(new FieldPlace(execution, field, undefined), source));
  return data;
}

export const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof Reflect.get(value, 'then') === 'function';

/** What fails among these is told by another error already. */
export function swallow(values: readonly unknown[]): void {
  for (const value of values) if (value instanceof Promise) value.catch(() => {});
}

function keysOf(path: Path | undefined): (string | number)[] {
  const keys: (string | number)[] = [];
  for (let place = path; place !== undefined; place = place.prev) keys.push(place.key);
  return keys.reverse();
}
