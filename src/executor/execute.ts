import {
  defaultTypeResolver,
  type ExecutionResult,
  type GraphQLAbstractType,
  GraphQLError,
  type GraphQLLeafType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  isObjectType,
} from 'graphql';
import { nobody } from '../load/callers.ts';
import { AnswerLimitError, boundErrors } from './answer-limits.ts';
import type { ObjectPlan, PreparedOperation, ValuePlan } from './compile.ts';
import { type ExecuteOptions, Execution } from './execution.ts';
import { earlyResultsOf, lateObjectOf } from './known-resolvers.ts';
import {
  awaited,
  countDown,
  type Data,
  PendingField,
  PendingRoot,
  type PendingValue,
  type Place,
} from './pending.ts';
import { ignoreRejections, isPromise } from './promises.ts';

/**
 * Executes an operation. Never throws and never rejects. If the answer would be too large, the result has
 * only an AnswerLimitError. If it has too many errors, the last error says so (answer-limits.ts). @defer is
 * ignored.
 */
export function execute(
  prepared: PreparedOperation,
  context: unknown,
  variables: GraphQLResolveInfo['variableValues'],
  options: ExecuteOptions = { caller: nobody },
): ExecutionResult | Promise<ExecutionResult> {
  const plan = prepared.planFor(variables, false);
  if (plan instanceof GraphQLError) return { errors: [plan], data: null };
  return executePlan(new Execution(plan, context, variables, options));
}

/** Executes a plan. Never throws and never rejects. */
export function executePlan(execution: Execution): ExecutionResult | Promise<ExecutionResult> {
  const answer = (data: Data | null): ExecutionResult => {
    // With deferred fragments, the execution continues after the first result.
    execution.isOver = execution.fragments === null;
    const { errors, budget } = execution;
    return errors.length === 0 ? { data } : { errors: boundErrors(errors, budget.omittedErrors), data };
  };
  const fail = (error: unknown): ExecutionResult => {
    execution.isOver = true;
    try {
      if (error instanceof AnswerLimitError) throw error;
      execution.record(error);
      return answer(null);
    } catch (limit) {
      return {
        errors: [limit instanceof GraphQLError ? limit : new GraphQLError(String(limit))],
        data: null,
      };
    }
  };
  try {
    const { steps } = execution.plan;
    const [only] = steps;
    const data =
      only !== undefined && steps.length === 1
        ? executeRoot(execution, only)
        : executeSteps(execution, steps);
    return data instanceof Promise ? data.then(answer, fail) : answer(data);
  } catch (error) {
    return fail(error);
  }
}

/** The fields of the root, or a promise of them. Errors: GraphQLError, if a non-null field failed. */
function executeRoot(execution: Execution, plan: ObjectPlan): Data | Promise<Data> {
  const root = new PendingRoot(execution);
  execution.root = root;
  const data = executeFields(plan, undefined, execution.placeOf(root));
  return data === root ? root.completed : (data as Data);
}

/** The fields of a mutation, one after the other. */
async function executeSteps(execution: Execution, steps: readonly ObjectPlan[]): Promise<Data> {
  const data: Data = steps.some(({ namesPrototype }) => namesPrototype) ? Object.create(null) : {};
  for (const step of steps) {
    // Work below a nulled field continues, and may have exceeded the budget. In that case, no further field is started.
    if (execution.budget.exceeded !== null) throw execution.budget.exceeded;
    Object.assign(data, await executeRoot(execution, step));
  }
  return data;
}

/**
 * Executes the selected fields of an object; returns the placeholder if some are pending. The fields are charged to the budget
 * after they have started. Errors: the error of a non-null field.
 */
export function executeFields(
  plan: ObjectPlan,
  source: unknown,
  place: Place,
): Data | PendingValue | typeof awaited {
  const { fields, deferred } = plan;
  const { execution } = place;
  if (deferred.length > 0 && execution.fragments?.admits(deferred.length) !== true)
    return executeWhole(plan.whole, source, place);
  const { budget } = execution;
  const record = (typeof source === 'object' && source !== null ? source : Object(source)) as Data;
  const early = plan.hasEarly ? earlyResultsOf(record) : null;
  const data: Data = plan.namesPrototype ? Object.create(null) : {};
  let bytes = plan.nameBytes;
  let outstanding = 0;
  for (const field of fields) {
    let value: unknown = field.constant;
    if (value === undefined) {
      // The place of this field. It is created only if the resolver takes `info`, the field fails, or its value is not a
      // text.
      let own: Place | null = null;
      try {
        const { property, holder } = field;
        if (property !== null)
          value = holder === null ? record[property] : (record[holder] as Data)[property];
        // If the property is a method of the object, graphql's default resolver calls it.
        if (property === null || typeof value === 'function') {
          if (early?.has(field)) {
            value = early.get(field);
          } else {
            const given = field.arguments ?? execution.argumentsOf(field);
            if (field.takesInfo) own = place.memberAt(field, field.name);
            value = field.resolve(source, given, execution.context, own?.field as PendingField);
          }
        }
        if ((value === null || value === undefined) && !field.isNonNull) {
          value = null;
        } else if (typeof value !== 'string' || !field.isText) {
          own ??= place.memberAt(field, field.name);
          value = complete(field, value, own);
        }
      } catch (error) {
        own ??= place.memberAt(field, field.name);
        value = own.field.handleFieldError(error);
      }
    }
    if (typeof value === 'string') {
      bytes += value.length;
    } else if (value === awaited || value instanceof PendingField) {
      // The member is assigned now, and again when it has arrived, so that members have the order of the
      // operation's fields.
      value = value === awaited ? null : value.members;
      outstanding++;
    }
    data[field.name] = value;
  }
  budget.values += fields.length;
  budget.bytes += bytes;
  if (budget.values > budget.valuesMark || budget.bytes > budget.bytesMark) budget.check();
  if (deferred.length > 0) execution.fragments?.add(deferred, source, place.pending ?? place.field, data);
  return outstanding === 0 ? data : place.waitFor(data, outstanding);
}

/** Executes the fields of an object and of its deferred fragments together, so that nothing is delivered later. */
function executeWhole(plan: ObjectPlan, source: unknown, place: Place) {
  const late = lateObjectOf(source);
  return late === null
    ? executeFields(plan, source, place)
    : place.awaitValue(late, (_plan, object, later) => executeFields(plan, object, later));
}

/** The specification's CompleteValue. Shape: a PendingValue or `awaited` if the value is not complete yet. */
function complete(plan: ValuePlan, value: unknown, place: Place): unknown {
  if (value === null || value === undefined) return nullOf(plan);
  if (typeof value === 'object') {
    if (typeof (value as Partial<PromiseLike<unknown>>).then === 'function')
      return place.awaitValue(value as PromiseLike<unknown>, complete);
    if (value instanceof Error) throw value;
  }
  if (plan.object !== null) {
    plan.objectPlan ??= plan.objectPlanOf(plan.object);
    return executeFields(plan.objectPlan, value, place);
  }
  if (plan.leaf !== null) return completeLeaf(plan, plan.leaf, value);
  if (plan.abstract !== null) return completeAbstract(plan, plan.abstract, value, place);
  return completeList(plan, value, place);
}

/** The completed value of null. Errors: an Error if the type is non-null. */
function nullOf({ isNonNull, parentType, field }: ValuePlan): null {
  if (!isNonNull) return null;
  throw new Error(`Cannot return null for non-nullable field ${parentType.name}.${field.name}.`);
}

function completeLeaf(plan: ValuePlan, type: GraphQLLeafType, value: unknown): unknown {
  if (plan.isText && typeof value === 'string') return value;
  const coerced = type.coerceOutputValue(value);
  if (coerced === null || coerced === undefined)
    throw new Error(`Expected \`${type.name}.coerceOutputValue\` to return a value that is not null.`);
  return coerced;
}

function completeAbstract(plan: ValuePlan, type: GraphQLAbstractType, value: unknown, place: Place): unknown {
  const { context, plan: operation } = place.execution;
  const { schema } = operation.details;
  const resolveType = type.resolveType ?? defaultTypeResolver;
  const name = resolveType(value, context, place.field, type);
  return isPromise(name)
    ? place.awaitValue(name, (_plan, resolved, later) =>
        executeFields(objectPlanNamed(resolved, plan, type, schema), value, later),
      )
    : executeFields(objectPlanNamed(name, plan, type, schema), value, place);
}

/** Errors: GraphQLError if there is no such object type, or it is not a possible type of the abstract one. */
function objectPlanNamed(
  name: unknown,
  { parentType, field, objectPlanOf }: ValuePlan,
  type: GraphQLAbstractType,
  schema: GraphQLSchema,
): ObjectPlan {
  const named = typeof name === 'string' ? schema.getType(name) : undefined;
  if (isObjectType(named) && schema.isSubType(type, named)) return objectPlanOf(named);
  throw new GraphQLError(
    `Abstract type "${type.name}" must resolve to one of its object types at runtime for field "${parentType.name}.${field.name}".`,
  );
}

/** A list whose entries are read by their positions: an array, or a list that makes each entry when it is read. */
interface IndexedList {
  readonly length: number;
  at(index: number): unknown;
}

const isIndexed = (list: object): list is IndexedList =>
  Array.isArray(list) ||
  ('at' in list && typeof list.at === 'function' && 'length' in list && Number.isSafeInteger(list.length));

const isIterable = (value: unknown): value is Iterable<unknown> & object =>
  typeof value === 'object' && value !== null && Symbol.iterator in value;

/** Completes a list. Its entries are charged before they are created or, if its length is unknown, as they are read. */
function completeList(plan: ValuePlan, value: unknown, place: Place): unknown {
  if (!isIterable(value))
    throw new GraphQLError(
      `Expected Iterable, but did not find one for field "${plan.parentType.name}.${plan.field.name}".`,
    );
  const { execution } = place;
  const { budget } = execution;
  const read: unknown[] = [];
  const list = isIndexed(value) ? value : read;
  try {
    if (list !== read) budget.spend(list.length, 0);
    else
      for (const entry of value) {
        budget.spend(1, 0);
        read.push(entry);
      }
  } catch (error) {
    ignoreRejections(list);
    throw error;
  }
  return execution.mustWait ? place.defer(list, startList) : startList(plan, list, place);
}

/**
 * Completes the entries of a list until this slice of time ends, and the others in later slices (slices.ts). Returns the
 * entries, or a placeholder. Errors: the error of a non-null entry.
 */
function startList(plan: ValuePlan, value: unknown, place: Place): unknown {
  const list = value as IndexedList;
  const { length } = list;
  const entries: unknown[] = [];
  const outstanding = completeEntries(plan, list, length, entries, place);
  if (entries.length === length) return outstanding === 0 ? entries : place.waitFor(entries, outstanding);
  // The remaining entries count as one more outstanding member.
  place.waitFor(entries, outstanding + 1);
  continueLater(plan, list, length, entries, place.field);
  return place.field;
}

function continueLater(
  plan: ValuePlan,
  list: IndexedList,
  length: number,
  entries: unknown[],
  pending: PendingField,
): void {
  const { execution } = pending;
  execution.defer(() => {
    // If an entry has failed in the meantime, the list is not continued.
    if (execution.isOver || pending.outstanding === 0) return ignoreRejections(list);
    try {
      pending.outstanding += completeEntries(plan, list, length, entries, execution.placeOf(pending));
      if (entries.length === length) countDown(pending);
      else continueLater(plan, list, length, entries, pending);
    } catch (error) {
      pending.propagateError(error);
    }
  });
}

/** The number of entries after which a list checks whether the slice of time has ended. */
const entriesAtOnce = 64;

/**
 * Completes the next entries until this slice of time ends. Returns how many of them are outstanding. Errors: the error of a
 * non-null entry.
 */
function completeEntries(
  { entry }: ValuePlan,
  list: IndexedList,
  length: number,
  entries: unknown[],
  place: Place,
): number {
  const plan = entry as ValuePlan;
  const { execution } = place;
  const { budget } = execution;
  const first = entries.length;
  // One Place object, which all entries use in turn.
  const own = place.memberAt(plan, first);
  let outstanding = 0;
  try {
    for (let index = first; index < length; index++) {
      if (index % entriesAtOnce === 0 && index > first && execution.mustWait) break;
      let value = list.at(index);
      if ((value === null || value === undefined) && !plan.isNonNull) {
        value = null;
      } else if (typeof value !== 'string' || !plan.isText) {
        own.pending = null;
        own.key = index;
        try {
          value = complete(plan, value, own);
        } catch (error) {
          value = own.field.handleFieldError(error);
        }
      }
      if (typeof value === 'string') {
        budget.bytes += value.length;
      } else if (value === awaited || value instanceof PendingField) {
        value = value === awaited ? null : value.members;
        outstanding++;
      }
      entries.push(value);
    }
    if (budget.bytes > budget.bytesMark) budget.check();
  } catch (error) {
    // Rejections of the list's other entries are ignored.
    ignoreRejections(list);
    throw error;
  }
  return outstanding;
}
