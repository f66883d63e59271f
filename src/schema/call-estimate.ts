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
import { pathIds } from '../bank/request.ts';
import type { Operation } from '../contract/operation.ts';
import { argumentsOf, type SelectedField, type Selection, selectedFields } from '../executor/selection.ts';
import { getOrMake } from '../get-or-make.ts';
import { bodyIn, createLoaders, type Read } from '../loaders/loaders.ts';
import type { Defaults } from './context.ts';
import {
  type EstimateContext,
  fieldExtensionsOf,
  hasPlaceholderId,
  isPlanned,
  type KnownObject,
  nullOnError,
  placeholderId,
  startPrefetch,
} from './field-extensions.ts';
import { ListWork } from './list-work.ts';
import { pageEntry } from './relay-connection.ts';

/** A REST call that an operation is known to make, before it runs. */
export interface EstimatedCall {
  /** The row of the operation table. */
  readonly operation: Operation;
  /** The path's ids, by bankql's names, and the body (undefined if it has none): with the operation, they identify a call. */
  readonly key: { readonly ids: Readonly<Record<string, string>>; readonly body: unknown };
  readonly place: CallPlace;
}

/** Where in the answer a call is needed. */
interface CallPlace {
  /** Response names from the root, without list positions. */
  readonly path: readonly string[];
  /**
   * Whether the arguments are enough to determine it; otherwise it depends on a record, or on the entries of a list,
   * which may be empty.
   */
  readonly isCertain: boolean;
  /** The number of nested lists around it: it is made again for each of their entries. */
  readonly lists: number;
  /** The length of the chain of dependent calls that ends with it: 1 for a call that waits for no other. */
  readonly round: number;
}

/** The loaders of an estimate never answer: there is no list to work on. */
const noLists = new ListWork({ budget: { spendSearch() {} }, caller: '' });

export interface CallEstimateOptions {
  readonly schema: GraphQLSchema;
  readonly operation: OperationDefinitionNode;
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  /** The coerced variables. */
  readonly variableValues: Selection['variableValues'];
  readonly defaults: Defaults;
  readonly credentials: Caller;
  /**
   * The estimate stops at this many calls, and may then be lower than what
   * the operation needs. No limit by default.
   */
  readonly maxCalls?: number;
  /** Whether fields that depend on records are followed too: see options/explain/plan.ts. */
  readonly followsRecords?: boolean;
}

/** What is selected on an object, computed once for all objects of its type in a list. */
interface Steps {
  readonly needsRecord: boolean;
  readonly fields: readonly (SelectedField & { readonly args: Record<string, unknown> })[];
  /** Parents that were visited: the calls below them are planned already. */
  readonly walked: Set<string>;
}

/**
 * The REST calls that an operation is known to make before anything is read: those that its arguments, and the ids
 * in them, determine; each distinct call once. Whatever depends on a record does not count, since the record may
 * leave it out; nor does a field with invalid ids or arguments, which fails by itself.
 *
 * Shape:  in the operation's order; reads that follow a write or a payment come after it.
 *
 * Makes no calls: the schema's fields request what they need (field-extensions.ts) from loaders that record it and
 * never answer.
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
}: CallEstimateOptions): readonly EstimatedCall[] {
  const calls: EstimatedCall[] = [];
  const dispatches: (() => void)[] = [];
  const flush = () => {
    for (const dispatch of dispatches.splice(0)) dispatch();
  };
  let place: CallPlace = atRoot;
  const note: Read = (called, wanted) => {
    const ids = pathIds(called, wanted);
    const body = bodyIn(called, wanted);
    // A read whose ids are known is made once, however many entries of a list lead to it.
    const isOne = place.lists > 0 && !hasPlaceholderId(JSON.stringify([ids, body]));
    calls.push({ operation: called, key: { ids, body }, place: isOne ? { ...place, lists: 0 } : place });
    return new Promise(() => {});
  };
  let unknownIds = 0;
  const unknownId = () => placeholderId(++unknownIds);
  const fresh = () => createLoaders(note, { schedule: (dispatch) => void dispatches.push(dispatch) });
  let loaders = fresh();
  const context: EstimateContext = {
    defaults,
    credentials,
    lists: noLists,
    session: {
      get loaders() {
        return loaders;
      },
      noteDrift() {},
    },
    send(called, { ids, body }) {
      flush();
      calls.push({ operation: called, key: { ids: pathIds(called, ids), body }, place });
      loaders = fresh();
    },
    invalidate() {
      flush();
      loaders = fresh();
    },
  };

  const makeSteps = (nodes: Selection['fieldNodes'], type: GraphQLObjectType): Steps => {
    const selection = { schema, fragments, variableValues, fieldNodes: nodes };
    const selected = selectedFields(selection, type);
    return {
      needsRecord: selected.some(({ field }) => fieldExtensionsOf(field).answeredByIds !== true),
      fields: selected.flatMap((step) => {
        if (!isPlanned(step.field) && !followsRecords) return [];
        return nullOnError(() => [{ ...step, args: argumentsOf(step, selection) }]) ?? [];
      }),
      walked: new Set(),
    };
  };
  const knownSteps = new Map<Selection['fieldNodes'], Map<GraphQLObjectType, Steps>>();

  /** The target of a field that the arguments are not enough to determine. */
  const unknownLead = ({ field, args }: Steps['fields'][number], parent: object): Lead | null => {
    const { estimateUnknown } = fieldExtensionsOf(field);
    if (estimateUnknown !== undefined) {
      const ask = () => estimateUnknown(parent as never, args as never, context, unknownId);
      const lead = nullOnError(ask);
      return lead && { ...lead, from: 'record' };
    }
    if (!isObjectType(getNamedType(field.type))) return null;
    // The entries of a page, or a part of the parent's own record.
    const entry: unknown = Reflect.get(parent, pageEntry);
    const isEntry =
      typeof entry === 'object' && entry !== null && (field.name === 'nodes' || field.name === 'node');
    return { parent: isEntry ? entry : entry === undefined ? {} : parent, from: 'parent' };
  };

  const leadsOf = (step: Steps['fields'][number], parent: object): readonly Lead[] => {
    const { estimate, prefetch } = fieldExtensionsOf(step.field);
    if (estimate === undefined && prefetch !== undefined) {
      const info = { schema, fragments, variableValues, fieldNodes: step.nodes };
      startPrefetch(() => prefetch(parent as never, step.args as never, context as never, info));
    }
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
    const ofNodes = getOrMake(knownSteps, nodes, () => new Map());
    const { needsRecord, fields, walked } = getOrMake(ofNodes, type, () => makeSteps(nodes, type));
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
  return calls;
}

/** An object that a field leads to, and what it was learned from, if not from an argument. */
type Lead = KnownObject & { readonly from?: 'record' | 'parent' };

interface WalkedPlace extends CallPlace {
  /** The object's record is part of the list that names it: what the record tells is known as early as the object. */
  readonly hasRecord: boolean;
}

const atRoot: WalkedPlace = { path: [], isCertain: true, lists: 0, round: 1, hasRecord: false };

/** The place of an object that a field leads to. */
function placeOf(lead: Lead, { field }: SelectedField, at: WalkedPlace): WalkedPlace {
  const isKnown = lead.hasRecord === true;
  if (lead.from === undefined) return { ...at, hasRecord: isKnown };
  const isPage = Reflect.has(lead.parent, pageEntry);
  const lists = at.lists + Number(isListType(getNullableType(field.type)));
  if (lead.from === 'parent') return { ...at, isCertain: false, lists };
  const round = isKnown || (at.hasRecord && !isPage) ? at.round : at.round + 1;
  return { ...at, isCertain: false, lists, round, hasRecord: isPage || isKnown };
}
