import {
  type FieldNode,
  type GraphQLError,
  type GraphQLResolveInfo,
  getArgumentValues,
  locatedError,
  type ResponsePath,
} from 'graphql';
import type { FieldPlan, OperationPlan } from './compile.ts';

export type Path = ResponsePath;

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

  /** Goes on with what a promise gives. */
  after(promise: PromiseLike<unknown>, then: (value: unknown) => unknown): Promise<unknown> {
    return Promise.resolve(promise).then((value) => (this.isOver ? null : then(value)));
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

/** What a resolver is told besides its arguments; most of it is only looked at by a few. */
class Info implements GraphQLResolveInfo {
  readonly #execution: Execution;
  readonly #field: FieldPlan;
  readonly #parent: Path | undefined;
  #path: Path | undefined;

  constructor(execution: Execution, field: FieldPlan, parent: Path | undefined) {
    this.#execution = execution;
    this.#field = field;
    this.#parent = parent;
  }

  get path(): Path {
    this.#path ??= {
      prev: this.#parent,
      key: this.#field.name,
      typename: this.#field.parentType.name,
    };
    return this.#path;
  }
  get fieldName() {
    return this.#field.field.name;
  }
  get fieldNodes() {
    return this.#field.nodes;
  }
  get returnType() {
    return this.#field.field.type;
  }
  get parentType() {
    return this.#field.parentType;
  }
  get schema() {
    return this.#execution.plan.schema;
  }
  get fragments() {
    return this.#execution.plan.fragments;
  }
  get operation() {
    return this.#execution.plan.operation;
  }
  get variableValues() {
    return this.#execution.variableValues;
  }
  get known() {
    return this.#execution.plan.known;
  }
  get rootValue() {
    return undefined;
  }
  getAbortSignal() {
    return undefined;
  }
  getAsyncHelpers() {
    return {
      promiseAll: <T>(values: readonly (PromiseLike<T> | T)[]) => Promise.all(values),
      track: () => {},
    };
  }
}

/** The value of one field in the answer, or a promise of it; null where it failed. Errors: where null may not be. */
function executeField(
  execution: Execution,
  field: FieldPlan,
  source: unknown,
  parent: Path | undefined,
): unknown {
  if (field.constant !== undefined) return field.constant;
  const info = new Info(execution, field, parent);
  const fail = (error: unknown) => execution.fail(error, field.nodes, info.path, field.isNonNull);
  try {
    const value = field.resolve(source, execution.argumentsOf(field), execution.context, info);
    const path = field.isLeaf ? undefined : info.path;
    if (isPromise(value))
      return execution
        .after(value, (resolved) => field.complete(resolved, execution, info, path))
        .catch(fail);
    const completed = field.complete(value, execution, info, path);
    return completed instanceof Promise ? completed.catch(fail) : completed;
  } catch (error) {
    return fail(error);
  }
}

/** The selected fields of an object, or a promise of them. Errors: where null may not be, and nothing else can stand. */
export function executeFields(
  execution: Execution,
  fields: readonly FieldPlan[],
  source: unknown,
  path: Path | undefined,
): Record<string, unknown> | Promise<Record<string, unknown>> {
  const data: Record<string, unknown> = {};
  const pending: Promise<unknown>[] = [];
  try {
    for (const field of fields) {
      const value = executeField(execution, field, source, path);
      // What is on its way has its place already: the answer's order is that of the operation.
      data[field.name] = value;
      if (value instanceof Promise) pending.push(value.then((done) => put(data, field, done)));
    }
  } catch (error) {
    swallow(pending);
    throw error;
  }
  return pending.length === 0 ? data : Promise.all(pending).then(() => data);
}

function put(data: Record<string, unknown>, { name }: FieldPlan, value: unknown): void {
  data[name] = value;
}

/** The same, one after the other: each field of a mutation begins when the one before has ended. */
export async function executeFieldsSerially(
  execution: Execution,
  fields: readonly FieldPlan[],
  source: unknown,
): Promise<Record<string, unknown>> {
  const data: Record<string, unknown> = {};
  for (const field of fields) data[field.name] = await executeField(execution, field, source, undefined);
  return data;
}

export const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';

/** What fails among these is told by another error already. */
export function swallow(values: readonly unknown[]): void {
  for (const value of values) if (value instanceof Promise) value.catch(() => {});
}

function keysOf(path: Path | undefined): (string | number)[] {
  const keys: (string | number)[] = [];
  for (let place = path; place !== undefined; place = place.prev) keys.push(place.key);
  return keys.reverse();
}
