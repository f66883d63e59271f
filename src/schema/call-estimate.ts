import {
  type FragmentDefinitionNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isListType,
  isObjectType,
  type OperationDefinitionNode,
} from 'graphql';
import type { Caller } from '../bank/credentials.ts';
import type { Operation } from '../contract/operation.ts';
import { argumentsOf, type SelectedField, type Selection, selectedFields } from '../executor/selection.ts';
import { createLoaders, type ReadOperation } from '../loaders/loaders.ts';
import { pageEntry } from './connection.ts';
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
  readonly place: CallPlace;
}

/** Where in the answer a call is asked for. */
export interface CallPlace {
  /** Response names from the root; those of a list's entries without their positions. */
  readonly path: readonly string[];
  /** Whether the arguments alone determine it; else it hangs on a record or on a list's entries, of which there may be none. */
  readonly isCertain: boolean;
  /** In how many lists, one within the other, it is asked for, each entry by itself. */
  readonly lists: number;
  /** How many calls have to be answered before it is made, and itself: 1 for what is asked for at once. */
  readonly round: number;
}

export interface CallEstimate {
  /** In the operation's order; what is read behind a write or a payment stands behind it. */
  readonly calls: readonly EstimatedCall[];
  /** How many calls the operation needs at least, if the bank has what it names: `calls.length`. */
  readonly atLeast: number;
}

export interface CallEstimateOptions {
  readonly schema: GraphQLSchema;
  readonly operation: OperationDefinitionNode;
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  /** The variables, coerced. */
  readonly variableValues: Selection['variableValues'];
  readonly defaults: Defaults;
  readonly credentials: Caller;
  /** Beyond so many calls the rest is not looked at: the plan then says less than the operation needs. No end by default. */
  readonly maxCalls?: number;
  /** Whether what only records tell is followed too: see call-plan.ts. */
  readonly followsRecords?: boolean;
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
  followsRecords = false,
}: CallEstimateOptions): CallEstimate {
  const calls: EstimatedCall[] = [];
  const dispatches: (() => void)[] = [];
  const flush = () => {
    for (const dispatch of dispatches.splice(0)) dispatch();
  };
  let place: CallPlace = atRoot;
  const note: ReadOperation = (called, { ids, body }) => {
    calls.push({ operation: called, key: { ids, body }, place });
    return new Promise(() => {});
  };
  let unknownIds = 0;
  const unknownId = () => `unknown-${++unknownIds}`;
  const fresh = () => createLoaders(note, { schedule: (dispatch) => void dispatches.push(dispatch) });
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
      calls.push({ operation: called, key: { ids, body }, place });
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
        if (fieldExtensionsOf(step.field).estimate === undefined && !followsRecords) return [];
        return nullOnError(() => [{ ...step, args: argumentsOf(step, selection) }]) ?? [];
      }),
      walked: new Set(),
    };
  });

  /** Where a field leads that the arguments alone do not determine. */
  const unknownLead = ({ field, args }: Steps['fields'][number], parent: object): Lead | null => {
    const { estimateUnknown } = fieldExtensionsOf(field);
    if (estimateUnknown !== undefined) {
      const ask = () => estimateUnknown(parent as never, args as never, context, unknownId);
      const lead = nullOnError(ask);
      return lead && { ...lead, from: 'record' };
    }
    if (!isObjectType(getNamedType(field.type))) return null;
    // A page's entries, or what is part of the parent's own record.
    const entry: unknown = Reflect.get(parent, pageEntry);
    const isEntry = isObject(entry) && (field.name === 'nodes' || field.name === 'node');
    return { parent: isEntry ? entry : entry === undefined ? {} : parent, from: 'parent' };
  };

  const leadsOf = (step: Steps['fields'][number], parent: object): readonly Lead[] => {
    const { estimate } = fieldExtensionsOf(step.field);
    const known = nullOnError(() => estimate?.(parent as never, step.args as never, context)) ?? [];
    const leads = [known].flat();
    if (leads.length > 0 || !followsRecords) return leads;
    const unknown = unknownLead(step, parent);
    return unknown === null ? [] : [unknown];
  };

  const walk = (
    { parent, read }: KnownObject,
    type: unknown,
    nodes: Selection['fieldNodes'],
    at: WalkedPlace,
  ): void => {
    flush();
    if (calls.length > maxCalls || !isObjectType(type)) return;
    const { needsRecord, fields, walked } = stepsOf(nodes, type);
    const name = JSON.stringify([parent, Reflect.get(parent, pageEntry)]);
    if (walked.has(name)) return;
    walked.add(name);
    place = at;
    if (needsRecord && read !== undefined) startPrefetch(read);
    for (const step of fields) {
      if (followsRecords) flush();
      const path = followsRecords ? [...at.path, step.name] : at.path;
      place = { ...at, path };
      for (const lead of leadsOf(step, parent)) {
        const next = lead.type === undefined ? getNamedType(step.field.type) : schema.getType(lead.type);
        walk(lead, next, step.nodes, placeOf(lead, step, { ...at, path }));
      }
    }
  };

  walk({ parent: {} }, schema.getRootType(operation.operation), [operation], atRoot);
  flush();
  return { calls, atLeast: calls.filter(({ place: { isCertain } }) => isCertain).length };
}

/** An object that a field leads to; what told of it, where that was no argument. */
type Lead = KnownObject & { readonly from?: 'record' | 'parent' };

interface WalkedPlace extends CallPlace {
  /** The object's record came with the list that told of it: what it tells is known as early as the object. */
  readonly hasRecord: boolean;
}

const atRoot: WalkedPlace = { path: [], isCertain: true, lists: 0, round: 1, hasRecord: false };

/** The place of an object that a field leads to. */
function placeOf(lead: Lead, { field }: SelectedField, at: WalkedPlace): WalkedPlace {
  if (lead.from === undefined) return { ...at, hasRecord: false };
  const isPage = Reflect.has(lead.parent, pageEntry);
  const lists = at.lists + Number(isListType(getNullableType(field.type)));
  if (lead.from === 'parent') return { ...at, isCertain: false, lists };
  const round = at.hasRecord && !isPage ? at.round : at.round + 1;
  return { ...at, isCertain: false, lists, round, hasRecord: isPage };
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

function memoised<A, B, T extends object>(make: (a: A, b: B) => T): (a: A, b: B) => T {
  const made = new Map<A, Map<B, T>>();
  return (a, b) => {
    const ofA = made.get(a) ?? new Map<B, T>();
    const result = ofA.get(b) ?? make(a, b);
    made.set(a, ofA.set(b, result));
    return result;
  };
}
