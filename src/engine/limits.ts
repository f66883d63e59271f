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
import { allowed, type Caller } from '../bank/credentials.ts';
import { argumentsOf, collectFields, rootFieldsOf, type Selection } from '../executor/selection.ts';
import type { OperationLimits } from '../schema/bank-session.ts';
import { estimateCalls } from '../schema/call-estimate.ts';
import type { Defaults } from '../schema/context.ts';
import { fieldExtensionsOf, isPlanned, nullOnError } from '../schema/field-extensions.ts';
import { maxNodeIds } from '../schema/node.ts';
import { RequestError } from './errors.ts';

interface CallLimitOptions {
  readonly schema: GraphQLSchema;
  readonly operation: OperationDefinitionNode;
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  readonly defaults: Defaults;
  readonly limits: Pick<OperationLimits, 'restCalls'>;
}

/**
 * Refuses, before it runs, an operation that needs more REST calls than allowed: nothing is read, written or paid.
 * Planning stops at ten times the limit. As at run time, a payment itself is not counted, but other calls are. Null for
 * an operation that cannot reach the limit, whatever its variables and its caller.
 * Errors: the returned function throws LIMIT_EXCEEDED.
 */
export function createCallLimit(
  options: CallLimitOptions,
): ((variables: Selection['variableValues'], credentials: Caller) => void) | null {
  const atMost = maxCalls(options);
  if (atMost <= Math.ceil(options.limits.restCalls / 10)) return null;
  return (variableValues, credentials) => {
    const restCalls = allowed(credentials, options.limits.restCalls);
    if (atMost <= restCalls) return;
    const calls = estimateCalls({ ...options, variableValues, credentials, maxCalls: 10 * restCalls });
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
        if (isPlanned(field)) calls += isListType(getNullableType(field.type)) ? Infinity : 2;
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

interface NodeIdCheckOptions extends Pick<Selection, 'schema' | 'fragments'> {
  readonly operation: OperationDefinitionNode;
}

/**
 * Refuses, before it runs, an operation whose `nodes` fields take more ids together than allowed. `nodes` is a
 * field of the root; ids in literals and in variables both count, each as often as it is given. A single such field
 * checks its own number. Null for an operation without `nodes`.
 * Errors: the returned function throws LIMIT_EXCEEDED.
 */
export function createNodeIdCheck({
  schema,
  fragments,
  operation,
}: NodeIdCheckOptions): ((variables: Selection['variableValues'], caller: Caller) => void) | null {
  const type = schema.getRootType(operation.operation);
  if (!type) return null;
  const fields = type.getFields();
  const takeIds = rootFieldsOf(operation, fragments).some(({ name: { value: name } }) => {
    const field = fields[name];
    return field !== undefined && fieldExtensionsOf(field).idCount !== undefined;
  });
  if (!takeIds) return null;
  return (variableValues, caller) => {
    const most = allowed(caller, maxNodeIds);
    const selection = { schema, fragments, variableValues, fieldNodes: [operation] };
    let ids = 0;
    let lists = 0;
    for (const selected of collectFields(selection, type)) {
      const { idCount } = fieldExtensionsOf(selected.field);
      if (idCount === undefined) continue;
      lists++;
      // If the arguments are invalid, the field itself reports it.
      ids += nullOnError(() => idCount(argumentsOf(selected, selection) as never)) ?? 0;
    }
    if ((lists > 1 || most < maxNodeIds) && ids > most)
      throw new RequestError(
        'LIMIT_EXCEEDED',
        `The operation asks for ${ids} nodes by their ids, and may ask for ${most}; ask for less at a time.`,
      );
  };
}
