import type { GraphQLFieldResolver, GraphQLObjectType } from 'graphql';
import { nameBytes, textBytes } from './answer-budget.ts';
import type { Execution } from './execution.ts';
import { type Complete, PendingField } from './pending-field.ts';
import { type Data, PendingRoot, PendingValue } from './pending-value.ts';
import type { PlannedField } from './plan.ts';
import { isPromise } from './promises.ts';
import { ResolveInfo } from './resolve-info.ts';

/** The value of a leaf, which is never on its way and needs to know no place. Errors: what is wrong with it. */
export type CompleteLeaf = (value: unknown) => unknown;

/** A field of an object, ready to be executed. */
export interface FieldPlan extends PlannedField {
  readonly fieldsOf: (type: GraphQLObjectType) => readonly FieldPlan[];
  /** The field's value where it is the same for every object: that of __typename. */
  readonly constant: string | undefined;
  /** Null: the field is a property of its object. */
  readonly resolve: GraphQLFieldResolver<unknown, unknown> | null;
  readonly complete: Complete;
  /** The same, where the field's type is a leaf. */
  readonly leaf: CompleteLeaf | null;
}

/** Fields of the root, or a promise of them. Errors: GraphQLError, where null may not be. */
export function executeRoot(execution: Execution, fields: readonly FieldPlan[]): Data | Promise<Data> {
  const root = new PendingRoot(execution);
  execution.root = root;
  const data = executeFields(fields, undefined, root);
  return data instanceof PendingValue ? root.completed() : data;
}

/** The fields of a mutation: each begins when the one before has ended. */
export async function executeFieldsSerially(
  execution: Execution,
  fields: readonly FieldPlan[],
): Promise<Data> {
  const data = execution.newObject();
  for (const field of fields) {
    // What is below a null goes on, and may have ended the execution: nothing more is begun then.
    if (execution.budget.exceeded !== null) throw execution.budget.exceeded;
    Object.assign(data, await executeRoot(execution, [field]));
  }
  return data;
}

/** The selected fields of an object; what holds it, where some are on their way. Errors: where null may not be. */
export function executeFields(
  fields: readonly FieldPlan[],
  source: unknown,
  parent: PendingValue,
): Data | PendingValue {
  const { execution } = parent;
  const { budget } = execution;
  budget.spendValues(fields.length);
  const data = execution.newObject();
  let outstanding = 0;
  let bytes = 0;
  for (const field of fields) {
    const value = field.constant ?? executeField(field, source, parent);
    bytes += field.name.length + nameBytes;
    // What is on its way has its name already: the answer's order is that of the operation.
    if (value instanceof PendingValue) {
      data[field.name] = value.members;
      outstanding++;
    } else {
      if (typeof value === 'string') bytes += textBytes(value);
      data[field.name] = value;
    }
  }
  budget.spendBytes(bytes);
  return parent.awaitMembers(data, outstanding);
}

/** The value of one field, or its place where it is on its way; null where it failed. Errors: where null may not be. */
function executeField(field: FieldPlan, source: unknown, parent: PendingValue): unknown {
  const { execution } = parent;
  const { leaf } = field;
  // A leaf is completed without its place, which few of them need.
  let pending: PendingField | undefined;
  try {
    const value =
      field.resolve === null
        ? propertyOf(field, source, parent)
        : field.resolve(
            source,
            execution.argumentsOf(field),
            execution.context,
            new ResolveInfo(parent, field),
          );
    if (leaf !== null && !isPromise(value)) return leaf(value);
    pending = new PendingField(execution, parent, field, field.name);
    return isPromise(value) ? pending.awaitValue(value, field.complete) : field.complete(value, pending);
  } catch (error) {
    pending ??= new PendingField(execution, parent, field, field.name);
    return pending.handleFieldError(error);
  }
}

/** What stands for a resolver, where a field has none. */
function propertyOf(field: FieldPlan, source: unknown, parent: PendingValue): unknown {
  const { execution } = parent;
  const given = execution.argumentsOf(field);
  if ((typeof source !== 'object' || source === null) && typeof source !== 'function') return undefined;
  const property: unknown = (source as Data)[field.field.name];
  if (typeof property !== 'function') return property;
  return property.call(source, given, execution.context, new ResolveInfo(parent, field));
}
