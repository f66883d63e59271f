import type { ObjectRef } from '@pothos/core';
import { badUserInput } from '../errors.ts';
import { builder } from './builder.ts';
import type { Context, ReadContext } from './context.ts';
import { type EstimateContext, type KnownObject, startPrefetch, unknownRecord } from './field-extensions.ts';
import { mapListItem } from './list-item.ts';
import { answeredByIdsWithPrefetch } from './node.ts';

type SchemaTypes = (typeof builder)['$inferSchemaTypes'];

interface PageArguments {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly last?: number | null | undefined;
  readonly before?: string | null | undefined;
}

/** Checked page arguments: counts of zero or more, and positions. */
export interface Page {
  readonly first: number | null;
  readonly after: number | null;
  readonly last: number | null;
  readonly before: number | null;
}

/** Errors: BAD_USER_INPUT for a negative count or an invalid cursor; no call is made then. */
export const checkPage = ({ first, after, last, before }: PageArguments): Page => ({
  first: first === null || first === undefined ? null : count('first', first),
  after: after === null || after === undefined ? null : position('after', after),
  last: last === null || last === undefined ? null : count('last', last),
  before: before === null || before === undefined ? null : position('before', before),
});

/** Creates an entry's object from its record and its position in the list. */
type ToNode<Item, Node> = (record: Exclude<Item, Error>, index: number) => Node;

/** An entry of a page. Its cursor costs more than the rest of it and is seldom selected: it is created on demand. */
class Edge<Node> {
  readonly node: Node;
  readonly #index: number;

  constructor(node: Node, index: number) {
    this.node = node;
    this.#index = index;
  }

  get cursor(): string {
    return cursorAt(this.#index);
  }
}

/** A list whose entries are created one by one during iteration, after the executor has charged for them. */
class LazyList<Made> implements Iterable<Made> {
  readonly length: number;
  readonly #make: (offset: number) => Made;

  constructor(length: number, make: (offset: number) => Made) {
    this.length = length;
    this.#make = make;
  }

  *[Symbol.iterator](): Generator<Made> {
    for (let offset = 0; offset < this.length; offset++) yield this.#make(offset);
  }
}

/**
 * A page of a list: the entries from `start` up to, not including, `end`. Its parts are created on demand, entry by
 * entry, so that a page over the operation's budget costs nothing.
 */
class Connection<Item, Node> {
  readonly totalCount: number;
  readonly #list: readonly Item[];
  readonly #start: number;
  readonly #end: number;
  readonly #toNode: ToNode<Item, Node>;

  constructor(list: readonly Item[], start: number, end: number, toNode: ToNode<Item, Node>) {
    this.totalCount = list.length;
    this.#list = list;
    this.#start = start;
    this.#end = end;
    this.#toNode = toNode;
  }

  get nodes(): LazyList<Node> {
    return new LazyList(this.#end - this.#start, (offset) => this.#nodeAt(this.#start + offset));
  }

  get edges(): LazyList<Edge<Node>> {
    return new LazyList(this.#end - this.#start, (offset) => {
      const index = this.#start + offset;
      return new Edge(this.#nodeAt(index), index);
    });
  }

  #nodeAt(index: number): Node {
    return mapListItem(this.#list[index] as Item, index, this.#toNode);
  }

  get pageInfo() {
    const { totalCount } = this;
    const start = this.#start;
    const end = this.#end;
    return {
      hasNextPage: end < totalCount,
      hasPreviousPage: start > 0,
      startCursor: start < end ? cursorAt(start) : null,
      endCursor: start < end ? cursorAt(end - 1) : null,
    };
  }
}

/**
 * One page of a complete list, as the Relay specification defines it; the whole list without `first` and `last`.
 * (The bank has no pagination, and Pothos' own would silently stop at 20 or 100 entries.) A cursor is a position in
 * the list. `toNode` creates an entry's object from the record and its position; an entry that broke the contract
 * remains an error.
 */
export function connectionOf<Item, Node>(
  list: readonly Item[],
  { first, after, last, before }: Page,
  toNode: ToNode<Item, Node>,
): Connection<Item, Node> {
  let start = Math.min((after ?? -1) + 1, list.length);
  let end = Math.max(Math.min(before ?? list.length, list.length), start);
  if (first !== null) end = Math.min(end, start + first);
  if (last !== null) start = Math.max(start, end - last);

  return new Connection(list, start, end, toNode);
}

/** The key under which a page of a plan, which is not read, has one entry that represents all: see options/explain/plan.ts. */
export const pageEntry = Symbol('an entry of the page');

/**
 * The connection type for this class. Pothos' own would compute the nodes
 * from the edges, which are seldom selected.
 */
export const connectionTo = <Node>(
  type: ObjectRef<SchemaTypes, Node>,
  descriptions: { readonly list: string; readonly entry: string },
) =>
  builder.connectionObject(
    {
      type,
      name: `${type.name}Connection`,
      description: descriptions.list,
      fields: (t) => ({
        nodes: t.field({
          type: [type],
          nullable: { list: true, items: true },
          description: 'The entries of the page.',
          // Pothos' types expect edges; the resolved value is the Connection that connectionFromIds creates.
          resolve: (page: object) => (page as Connection<unknown, Node>).nodes,
        }),
      }),
    },
    { name: `${type.name}Edge`, description: descriptions.entry },
  );

/**
 * A connection field over a list that is determined by its parent's ids (and the field's arguments). Spread it into
 * `t.connection`: it provides `resolve`, and the extensions that links and plans use.
 */
export function connectionFromIds<Parent, Args extends object, Item, Node>(
  load: (parent: Parent, args: Args, context: ReadContext) => Promise<readonly Item[]>,
  toNode: (
    parent: Parent,
    record: Exclude<Item, Error>,
    index: number,
    args: Args,
    context: Context,
    list: readonly Item[],
  ) => Node,
  /** The parent to plan with if only a record tells the parent's ids; by default that parent. */
  plannedParent: (parent: Parent, context: ReadContext) => Parent = (parent) => parent,
) {
  const resolve = (parent: Parent, args: Args & PageArguments, context: Context) => {
    const page = checkPage(args);
    return load(parent, args, context).then((list) =>
      connectionOf(list, page, (record, index) => toNode(parent, record, index, args, context, list)),
    );
  };
  const prefetch = (parent: Parent, args: Args & PageArguments, context: ReadContext) => {
    checkPage(args);
    return load(parent, args, context);
  };
  const estimate = (parent: Parent, args: Args & PageArguments, context: EstimateContext) => {
    startPrefetch(() => prefetch(parent, args, context));
    // Fields of the entries do not count: the list may be empty.
    return null;
  };
  const estimateUnknown = (
    parent: Parent,
    args: Args,
    context: EstimateContext,
    unknownId: () => string,
  ): KnownObject => {
    const planned = plannedParent(parent, context);
    if (planned !== parent) startPrefetch(() => load(planned, args, context));
    const record = unknownRecord<Exclude<Item, Error>>(unknownId);
    const entry = toNode(planned, record, 0, args, context as unknown as Context, []);
    return { parent: { [pageEntry]: { ...entry, record: undefined } } };
  };
  return { resolve, extensions: answeredByIdsWithPrefetch(prefetch, estimate, estimateUnknown) };
}

const cursorAt = (index: number) => Buffer.from(`at:${index}`).toString('base64url');

function position(name: string, cursor: string): number {
  const index = /^at:(\d{1,9})$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1];
  if (index === undefined) throw badUserInput(`${name} has to be a cursor as an edge answered it.`, name);
  return Number(index);
}

function count(name: string, value: number): number {
  if (value < 0) throw badUserInput(`${name} has to be zero or more.`, name);
  return value;
}
