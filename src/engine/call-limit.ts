import {
  type FragmentDefinitionNode,
  type GraphQLSchema,
  type GraphQLType,
  getNamedType,
  getNullableType,
  isCompositeType,
  isListType,
  type OperationDefinitionNode,
  type SelectionSetNode,
  typeFromAST,
} from 'graphql';
import type { Caller } from '../bank/credentials.ts';
import type { Selection } from '../executor/selection.ts';
import type { OperationLimits } from '../schema/bank-session.ts';
import { estimateCalls } from '../schema/call-estimate.ts';
import type { Defaults } from '../schema/context.ts';
import { fieldExtensionsOf } from '../schema/field-extensions.ts';
import { RequestError } from './request-error.ts';

interface CallLimitOptions {
  readonly schema: GraphQLSchema;
  readonly operation: OperationDefinitionNode;
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  readonly defaults: Defaults;
  readonly limits: Pick<OperationLimits, 'restCalls'>;
}

/**
 * Refuses, before it runs, an operation that needs more REST calls than allowed: nothing is read, written or paid.
 * Planning stops at ten times the limit. As at run time, a payment itself is not counted, but other calls beside it
 * are. An operation that cannot reach the limit, whatever its variables, is never planned.
 * Errors: the answered function throws LIMIT_EXCEEDED.
 */
export function createCallLimit(
  options: CallLimitOptions,
): (variables: Selection['variableValues'], credentials: Caller) => void {
  const { restCalls } = options.limits;
  if (maxCalls(options) <= restCalls) return () => {};
  return (variableValues, credentials) => {
    const { calls } = estimateCalls({ ...options, variableValues, credentials, maxCalls: 10 * restCalls });
    const counted = calls.filter(({ operation: { kind } }) => kind !== 'payment').length;
    if (counted > restCalls)
      throw new RequestError(
        'LIMIT_EXCEEDED',
        `The operation needs at least ${counted} REST calls, and may make ${restCalls}; ask for less at a time.`,
      );
  };
}

/**
 * An upper bound of the calls that a plan can contain: two for a field that plans calls (its own, and one for the
 * record that it leads to), and infinitely many for a list.
 */
function maxCalls({ schema, operation, fragments }: CallLimitOptions): number {
  // Each fragment is counted once, however often it is nested.
  const ofFragments = new Map<string, number>();

  const ofFragment = (name: string): number => {
    const known = ofFragments.get(name);
    if (known !== undefined) return known;
    const fragment = fragments[name];
    const calls =
      fragment === undefined ? 0 : ofSelections(fragment, typeFromAST(schema, fragment.typeCondition));
    ofFragments.set(name, calls);
    return calls;
  };

  const ofSelections = (
    { selectionSet }: { readonly selectionSet?: SelectionSetNode | undefined },
    type: GraphQLType | null | undefined,
  ): number => {
    if (selectionSet === undefined || !isCompositeType(type)) return 0;
    let calls = 0;
    for (const node of selectionSet.selections) {
      if (node.kind === 'Field') {
        const field = schema.getField(type, node.name.value);
        if (field === undefined) continue;
        if (fieldExtensionsOf(field).estimate !== undefined)
          calls += isListType(getNullableType(field.type)) ? Infinity : 2;
        calls += ofSelections(node, getNamedType(field.type));
      } else if (node.kind === 'FragmentSpread') {
        calls += ofFragment(node.name.value);
      } else {
        const { typeCondition } = node;
        calls += ofSelections(node, typeCondition === undefined ? type : typeFromAST(schema, typeCondition));
      }
    }
    return calls;
  };

  return ofSelections(operation, schema.getRootType(operation.operation));
}
