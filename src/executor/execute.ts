import {
  defaultTypeResolver,
  type ExecutionResult,
  type GraphQLAbstractType,
  GraphQLError,
  type GraphQLLeafType,
  isObjectType,
} from 'graphql';
import { AnswerLimitError, boundErrors, lengthOf } from './answer-budget.ts';
import type { ObjectPlan, ValuePlan } from './compile.ts';
import { type Data, type Execution, PendingField, PendingRoot, type PendingValue } from './execution.ts';
import { ignoreRejections, isPromise } from './promises.ts';

/** Executes a plan. Never throws and never rejects. */
export function run(execution: Execution): ExecutionResult | Promise<ExecutionResult> {
  const answer = (data: Data | null): ExecutionResult => {
    execution.isOver = true;
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
function executeRoot(execution: Execution, root: ObjectPlan): Data | Promise<Data> {
  const pending = new PendingRoot(execution);
  execution.root = pending;
  const data = executeFields(root, undefined, pending);
  return data instanceof PendingRoot || data instanceof PendingField ? pending.completed : data;
}

/** The fields of a mutation, one after the other. */
async function executeSteps(execution: Execution, steps: readonly ObjectPlan[]): Promise<Data> {
  const data: Data = steps.some(({ namesPrototype }) => namesPrototype) ? Object.create(null) : {};
  for (const step of steps) {
    // Work below a nulled field continues, and may have exceeded the budget: no further field is started then.
    if (execution.budget.exceeded !== null) throw execution.budget.exceeded;
    Object.assign(data, await executeRoot(execution, step));
  }
  return data;
}

/**
 * Executes the selected fields of an object; returns the placeholder if some are pending. The fields are charged to the budget
 * after they have started. Errors: the error of a non-null field.
 */
function executeFields(plan: ObjectPlan, source: unknown, parent: PendingValue): Data | PendingValue {
  const { fields } = plan;
  const { execution } = parent;
  const { context } = execution;
  const data: Data = plan.namesPrototype ? Object.create(null) : {};
  let bytes = plan.nameBytes;
  let outstanding = 0;
  for (const field of fields) {
    let value: unknown = field.constant;
    if (value === undefined) {
      // Needed only for a resolver that takes `info`, for an error, and for an object or list.
      let pending: PendingField | null = null;
      try {
        const given = field.arguments ?? execution.argumentsOf(field);
        if (field.resolve !== null) {
          if (field.takesInfo) pending = new PendingField(execution, parent, field, field.name);
          value = field.resolve(source, given, context, pending as PendingField);
        } else if (hasProperties(source)) {
          // The default resolver.
          value = source[field.field.name];
          if (typeof value === 'function') {
            pending = new PendingField(execution, parent, field, field.name);
            value = value.call(source, given, context, pending);
          }
        }
        if (typeof value !== 'string' || !field.isText) {
          if (typeof value === 'object' && value !== null && 'then' in value && isPromise(value)) {
            pending ??= new PendingField(execution, parent, field, field.name);
            value = pending.awaitValue(value, complete);
          } else if (field.leaf !== null) {
            value = completeLeaf(field, field.leaf, value);
          } else {
            pending ??= new PendingField(execution, parent, field, field.name);
            value = complete(field, value, pending);
          }
        }
      } catch (error) {
        pending ??= new PendingField(execution, parent, field, field.name);
        value = pending.handleFieldError(error);
      }
    }
    if (typeof value === 'string') {
      bytes += value.length;
    } else if (value instanceof PendingField) {
      // Assigned now as well, to keep the order of the operation's fields.
      value = value.members;
      outstanding++;
    }
    data[field.name] = value;
  }
  execution.budget.spend(fields.length, bytes);
  if (outstanding === 0) return data;
  parent.members = data;
  parent.outstanding = outstanding;
  return parent;
}

const hasProperties = (source: unknown): source is Data =>
  (typeof source === 'object' && source !== null) || typeof source === 'function';

/** The specification's CompleteValue. Shape: `pending` if the value is not complete yet. */
function complete(plan: ValuePlan, value: unknown, pending: PendingField): unknown {
  if (value === null || value === undefined) return nullOf(plan);
  if (value instanceof Error) throw value;
  if (plan.object !== null) {
    plan.objectPlan ??= plan.objectPlanOf(plan.object);
    return executeFields(plan.objectPlan, value, pending);
  }
  if (plan.leaf !== null) return completeLeaf(plan, plan.leaf, value);
  if (plan.abstract !== null) return completeAbstract(plan, plan.abstract, value, pending);
  return completeList(plan, value, pending);
}

/** Errors: an Error if the type is non-null. */
function nullOf({ isNonNull, parentType, field }: ValuePlan): null {
  if (!isNonNull) return null;
  throw new Error(`Cannot return null for non-nullable field ${parentType.name}.${field.name}.`);
}

function completeLeaf(plan: ValuePlan, type: GraphQLLeafType, value: unknown): unknown {
  if (value === null || value === undefined) return nullOf(plan);
  if (plan.isText && typeof value === 'string') return value;
  if (value instanceof Error) throw value;
  const coerced = type.coerceOutputValue(value);
  if (coerced === null || coerced === undefined)
    throw new Error(`Expected \`${type.name}.coerceOutputValue\` to return a value that is not null.`);
  return coerced;
}

function completeAbstract(
  plan: ValuePlan,
  type: GraphQLAbstractType,
  value: unknown,
  pending: PendingField,
): unknown {
  const { context } = pending.execution;
  const resolveType = type.resolveType ?? defaultTypeResolver;
  const name = resolveType(value, context, pending, type);
  return isPromise(name)
    ? pending.awaitValue(name, (_plan, resolved) =>
        executeFields(objectPlanNamed(resolved, plan, type, pending), value, pending),
      )
    : executeFields(objectPlanNamed(name, plan, type, pending), value, pending);
}

/** Errors: GraphQLError if there is no such object type, or it is not a possible type of the abstract one. */
function objectPlanNamed(
  name: unknown,
  { parentType, field, objectPlanOf }: ValuePlan,
  type: GraphQLAbstractType,
  { schema }: PendingField,
): ObjectPlan {
  const named = typeof name === 'string' ? schema.getType(name) : undefined;
  if (isObjectType(named) && schema.isSubType(type, named)) return objectPlanOf(named);
  throw new GraphQLError(
    `Abstract type "${type.name}" must resolve to one of its object types at runtime for field "${parentType.name}.${field.name}".`,
  );
}

function completeList(plan: ValuePlan, list: unknown, pending: PendingField): unknown {
  if (!isIterable(list))
    throw new GraphQLError(
      `Expected Iterable, but did not find one for field "${plan.parentType.name}.${plan.field.name}".`,
    );
  const { execution } = pending;
  const length = lengthOf(list);
  try {
    execution.budget.spend(length, 0);
  } catch (error) {
    ignoreRejections(list);
    throw error;
  }
  if (!execution.mustWait) return completeEntries(plan, list, length, pending);
  return pending.defer(list, () => completeEntries(plan, list, length, pending));
}

const isIterable = (value: unknown): value is Iterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.iterator in value;

/** Completes the entries of a list; `length` of them are already charged to the budget. */
function completeEntries(
  { entry }: ValuePlan,
  list: Iterable<unknown>,
  length: number,
  parent: PendingField,
): unknown {
  if (entry === null) throw new Error('a list has entries');
  const { execution } = parent;
  const { leaf, isText } = entry;
  const entries: unknown[] = [];
  let outstanding = 0;
  let bytes = 0;
  try {
    for (const item of list) {
      if (entries.length >= length) execution.budget.spend(1, 0);
      let value = item;
      if (typeof value !== 'string' || !isText) {
        let pending: PendingField | null = null;
        try {
          if (typeof value === 'object' && value !== null && 'then' in value && isPromise(value)) {
            pending = new PendingField(execution, parent, entry, entries.length);
            value = pending.awaitValue(value, complete);
          } else if (leaf !== null) {
            value = completeLeaf(entry, leaf, value);
          } else {
            pending = new PendingField(execution, parent, entry, entries.length);
            value = complete(entry, value, pending);
          }
        } catch (error) {
          pending ??= new PendingField(execution, parent, entry, entries.length);
          value = pending.handleFieldError(error);
        }
      }
      if (typeof value === 'string') {
        bytes += value.length;
      } else if (value instanceof PendingField) {
        value = value.members;
        outstanding++;
      }
      entries.push(value);
    }
    execution.budget.spend(0, bytes);
  } catch (error) {
    // The list failed: rejections of its entries are of no interest.
    ignoreRejections(list);
    throw error;
  }
  if (outstanding === 0) return entries;
  parent.members = entries;
  parent.outstanding = outstanding;
  return parent;
}
