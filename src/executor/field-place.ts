import type { GraphQLResolveInfo } from 'graphql';
import type { FieldPlan } from './compile.ts';
import type { Execution, Path } from './execution.ts';

/**
 * One field of one object: its place in the answer, and what its resolver is told besides its arguments. An object for
 * each field of each record is all that an execution makes of its own.
 */
export class FieldPlace implements GraphQLResolveInfo, Path {
  readonly execution: Execution;
  readonly plan: FieldPlan;
  readonly prev: Path | undefined;

  constructor(execution: Execution, plan: FieldPlan, prev: Path | undefined) {
    this.execution = execution;
    this.plan = plan;
    this.prev = prev;
  }

  /** An error of the field. Errors: the error itself, where null may not be. */
  fail(error: unknown): null {
    const { nodes, isNonNull } = this.plan;
    return this.execution.fail(error, nodes, this, isNonNull);
  }

  get path(): Path {
    return this;
  }
  get key() {
    return this.plan.name;
  }
  get typename() {
    return this.plan.parentType.name;
  }
  get fieldName() {
    return this.plan.field.name;
  }
  get fieldNodes() {
    return this.plan.nodes;
  }
  get returnType() {
    return this.plan.field.type;
  }
  get parentType() {
    return this.plan.parentType;
  }
  get schema() {
    return this.execution.plan.schema;
  }
  get fragments() {
    return this.execution.plan.fragments;
  }
  get operation() {
    return this.execution.plan.operation;
  }
  get variableValues() {
    return this.execution.variableValues;
  }
  get known() {
    return this.execution.plan.known;
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
