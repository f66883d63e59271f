import type { GraphQLObjectType, GraphQLResolveInfo, ResponsePath } from 'graphql';
import type { PendingValue } from './pending-value.ts';
import type { FieldDetails, PlannedField } from './plan.ts';
import { ignoreRejections } from './promises.ts';
import type { PreparedSelection, Selection } from './selection.ts';

/** A resolver's `info`. One is created for each call; its members are computed when they are read. */
export class ResolveInfo implements GraphQLResolveInfo, PreparedSelection {
  readonly details: FieldDetails;
  /** The object that the field belongs to. */
  readonly #parent: PendingValue;

  constructor(parent: PendingValue, details: FieldDetails) {
    this.#parent = parent;
    this.details = details;
  }

  get path(): ResponsePath {
    const { name, typename } = this.details;
    return { prev: this.#parent.path, key: name, typename };
  }
  get fieldName() {
    return this.details.field.name;
  }
  get fieldNodes() {
    return this.details.nodes;
  }
  get returnType() {
    return this.details.field.type;
  }
  get parentType() {
    return this.details.parentType;
  }
  get schema() {
    return this.#parent.execution.plan.schema;
  }
  get fragments() {
    return this.#parent.execution.plan.fragments;
  }
  get operation() {
    return this.#parent.execution.plan.operation;
  }
  get variableValues() {
    return this.#parent.execution.variableValues;
  }
  get rootValue() {
    return undefined;
  }
  getAbortSignal() {
    return undefined;
  }
  getAsyncHelpers() {
    return asyncHelpers;
  }

  get prepared(): this {
    return this;
  }
  fieldsOf(type: GraphQLObjectType): readonly PlannedField[] {
    return this.details.fieldsOf(type);
  }
  argumentsOf(field: PlannedField): Readonly<Record<string, unknown>> {
    return this.#parent.execution.argumentsOf(field);
  }
  subselection(field: PlannedField): Selection {
    return new ResolveInfo(this.#parent, field);
  }
}

const asyncHelpers: ReturnType<GraphQLResolveInfo['getAsyncHelpers']> = {
  promiseAll: (values) => Promise.all(values),
  /** Promises that a resolver started and does not await: their rejections are ignored. */
  track: ignoreRejections,
};
