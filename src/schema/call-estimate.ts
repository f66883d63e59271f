import {
  type FragmentDefinitionNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isObjectType,
  type OperationDefinitionNode,
} from 'graphql';
import type { Caller } from '../bank/credentials.ts';
import type { Operation } from '../contract/operation.ts';
import { argumentsOf, type SelectedField, type Selection, selectedFields } from '../executor/selection.ts';
import { createLoaders, type ReadOperation } from '../loaders/loaders.ts';
import type { Defaults } from './context.ts';
import {
  type EstimateContext,
  fieldExtensionsOf,
  type KnownObject,
  nullOnError,
  startPrefetch,
} from './field-extensions.ts';

/** A REST call that an operation is known to make before it runs. */
export interface EstimatedCall {
  /** The row of the operation table. */
  readonly operation: Operation;
  /** What fills its path, and its body (undefined where it has none): with the operation, what tells calls apart. */
  readonly key: { readonly ids: Readonly<Record<string, string>>; readonly body: unknown };
}

export interface CallEstimate {
  /** In the operation's order; what is read behind a write or a payment stands behind it. */
  readonly calls: readonly EstimatedCall[];
  /** How many calls the operation needs at least, if the bank has what it names: `calls.length`. */
  readonly atLeast: number;
}

interface CallEstimateOptions {
  readonly schema: GraphQLSchema;
  readonly operation: OperationDefinitionNode;
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  /** The variables, coerced. */
  readonly variableValues: Selection['variableValues'];
  readonly defaults: Defaults;
  readonly credentials: Caller;
  /** Beyond so many calls the rest is not looked at: the plan then says less than the operation needs. No end by default. */
  readonly maxCalls?: number;
}

/** What is selected of an object, worked out once for all objects of its type that a list has. */
interface Steps {
  readonly needsRecord: boolean;
  readonly fields: readonly (SelectedField & { readonly args: Record<string, unknown> })[];
  /** Parents that were walked: whatever hangs on them is planned. */
  readonly walked: Set<string>;
}

/**
 * The REST calls that an operation is known to make before anything is read: those that its arguments and the ids in
 * them determine, each distinct one once. What hangs on a record counts nothing, since it may be empty, and so does
 * what the operation asks for with wrong ids or arguments: it fails at its field.
 *
 * Calls nothing: the schema's fields say what they call (field-extensions.ts), to loaders that note it and never answer.
 */
export function estimateCalls({
  schema,
  operation,
  fragments,
  variableValues,
  defaults,
  credentials,
  maxCalls = Infinity,
}: CallEstimateOptions): CallEstimate {
  const calls: EstimatedCall[] = [];
  const dispatches: (() => void)[] = [];
  const flush = () => {
    for (const dispatch of dispatches.splice(0)) dispatch();
  };
  const note: ReadOperation = (called, { ids, body }) => {
    calls.push({ operation: called, key: { ids, body } });
    return new Promise(() => {});
  };
  const fresh = () => createLoaders(note, (dispatch) => void dispatches.push(dispatch));
  let loaders = fresh();
  const context: EstimateContext = {
    defaults,
    credentials,
    session: {
      get loaders() {
        return loaders;
      },
      noteDrift() {},
    },
    send(called, { ids, body }) {
      flush();
      calls.push({ operation: called, key: { ids, body } });
      loaders = fresh();
    },
    invalidate() {
      flush();
      loaders = fresh();
    },
  };

  const stepsOf = memoised((nodes: Selection['fieldNodes'], type: GraphQLObjectType): Steps => {
    const selection = { schema, fragments, variableValues, fieldNodes: nodes };
    const selected = selectedFields(selection, type);
    return {
      needsRecord: selected.some(({ field }) => fieldExtensionsOf(field).answeredByIds !== true),
      fields: selected.flatMap((step) => {
        if (fieldExtensionsOf(step.field).estimate === undefined) return [];
        return nullOnError(() => [{ ...step, args: argumentsOf(step, selection) }]) ?? [];
      }),
      walked: new Set(),
    };
  });

  const walk = ({ parent, read }: KnownObject, type: unknown, nodes: Selection['fieldNodes']): void => {
    flush();
    if (calls.length > maxCalls || !isObjectType(type)) return;
    const { needsRecord, fields, walked } = stepsOf(nodes, type);
    const name = JSON.stringify(parent);
    if (walked.has(name)) return;
    walked.add(name);
    if (needsRecord && read !== undefined) startPrefetch(read);
    for (const { field, args, nodes: below } of fields) {
      const leads =
        nullOnError(() => fieldExtensionsOf(field).estimate?.(parent as never, args as never, context)) ?? [];
      for (const lead of [leads].flat())
        walk(lead, lead.type === undefined ? getNamedType(field.type) : schema.getType(lead.type), below);
    }
  };

  walk({ parent: {} }, schema.getRootType(operation.operation), [operation]);
  flush();
  return { calls, atLeast: calls.length };
}

function memoised<A, B, T extends object>(make: (a: A, b: B) => T): (a: A, b: B) => T {
  const made = new Map<A, Map<B, T>>();
  return (a, b) => {
    const ofA = made.get(a) ?? new Map<B, T>();
    const result = ofA.get(b) ?? make(a, b);
    made.set(a, ofA.set(b, result));
    return result;
  };
}
