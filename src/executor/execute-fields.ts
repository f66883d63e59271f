import type { GraphQLFieldResolver, GraphQLObjectType } from 'graphql';
import { nameBytes } from './answer-budget.ts';
import type { Execution } from './execution.ts';
import { type Complete, PendingField } from './pending-field.ts';
import { type Data, PendingRoot, PendingValue } from './pending-value.ts';
import type { PlannedField } from './plan.ts';
import { isPromise } from './promises.ts';
import { ResolveInfo } from './resolve-info.ts';

/** Completes a leaf, which is never pending and needs no path. Errors: what is wrong with the value. */
export type CompleteLeaf = (value: unknown) => unknown;

/** A field of an object, ready to be executed. */
export interface FieldPlan extends PlannedField {
  readonly fieldsOf: (type: GraphQLObjectType) => readonly FieldPlan[];
  /** The field's value if it is the same for every object, as that of __typename. */
  readonly constant: string | undefined;
  /** Null if the field has no resolver: it reads the property of its object. */
  readonly resolve: GraphQLFieldResolver<unknown, unknown> | null;
  readonly complete: Complete;
  /** The same, if the field's type is a leaf. */
  readonly leaf: CompleteLeaf | null;
}

/** The fields of the root, or a promise of them. Errors: GraphQLError, if a non-null field failed. */
export function executeRoot(execution: Execution, fields: readonly FieldPlan[]): Data | Promise<Data> {
  const root = new PendingRoot(execution);
  execution.root = root;
  const data = executeFields(fields, undefined, root);
  return data instanceof PendingValue ? root.completed() : data;
}

/** The fields of a mutation, one after the other. */
export async function executeFieldsSerially(
  execution: Execution,
  fields: readonly FieldPlan[],
): Promise<Data> {
  const data = execution.newObject();
  for (const field of fields) {
    // Work below a nulled field continues, and may have exceeded the budget: no further field is started then.
    if (execution.budget.exceeded !== null) throw execution.budget.exceeded;
    Object.assign(data, await executeRoot(execution, [field]));
  }
  return data;
}

/** The selected fields of an object; the PendingValue if some are pending. Errors: that of a non-null field. */
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
    // A pending field is assigned now as well, to keep the order of the operation's fields.
    if (value instanceof PendingValue) {
      data[field.name] = value.members;
      outstanding++;
    } else {
      if (typeof value === 'string') bytes += value.length;
      data[field.name] = value;
    }
  }
  budget.spendBytes(bytes);
  return parent.awaitMembers(data, outstanding);
}

/** The value of one field; its PendingField if it is pending; null if it failed. Errors: that of a non-null field. */
function executeField(field: FieldPlan, source: unknown, parent: PendingValue): unknown {
  const { execution } = parent;
  const { leaf } = field;
  // A leaf is completed without a PendingField, which few leaves need.
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

/** The default resolver. */
function propertyOf(field: FieldPlan, source: unknown, parent: PendingValue): unknown {
  const { execution } = parent;
  const given = execution.argumentsOf(field);
  if ((typeof source !== 'object' || source === null) && typeof source !== 'function') return undefined;
  const property: unknown = (source as Data)[field.field.name];
  if (typeof property !== 'function') return property;
  return property.call(source, given, execution.context, new ResolveInfo(parent, field));
}
