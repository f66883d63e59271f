import { badUserInput } from '../bank/error.ts';
import type { Asking, Context } from './context.ts';
import { askAhead, type Planning } from './field-facts.ts';
import { fromIdsAhead } from './link.ts';
import { eachEntry } from './list-entry.ts';

interface PageArguments {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly last?: number | null | undefined;
  readonly before?: string | null | undefined;
}

/** A page that may be cut: counts of zero or more, and positions. */
interface Page {
  readonly first: number | null;
  readonly after: number | null;
  readonly last: number | null;
  readonly before: number | null;
}

/** Errors: BAD_USER_INPUT for a negative count or a cursor that is none; no call is made for it. */
const checkPage = ({ first, after, last, before }: PageArguments): Page => ({
  first: count('first', first),
  after: position('after', after),
  last: count('last', last),
  before: position('before', before),
});

/** An entry of a page. Few ask for its cursor, which costs more than the rest of it: it is made for those. */
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

interface Connection<Node> {
  readonly edges: Edge<Node>[];
  readonly totalCount: number;
  readonly pageInfo: PageInfo;
}

/** Where a page stands in the whole list. Its cursors are made for those who ask for them, too. */
class PageInfo {
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  readonly #edges: readonly Edge<unknown>[];

  constructor(hasNextPage: boolean, hasPreviousPage: boolean, edges: readonly Edge<unknown>[]) {
    this.hasNextPage = hasNextPage;
    this.hasPreviousPage = hasPreviousPage;
    this.#edges = edges;
  }

  get startCursor(): string | null {
    return this.#edges[0]?.cursor ?? null;
  }

  get endCursor(): string | null {
    return this.#edges.at(-1)?.cursor ?? null;
  }
}

/**
 * One page of a whole list, as the Relay specification cuts it; all of it without `first` and `last`. (The bank
 * pages nothing, and Pothos' own cut stops at 20 or 100 without a word.) A cursor is a position in the list.
 * `toNode` makes an entry's object from the record and its position; an entry that broke the contract stays the
 * error that it is.
 */
function connectionOf<Item, Node>(
  list: readonly Item[],
  { first, after, last, before }: Page,
  toNode: (record: Exclude<Item, Error>, index: number) => Node,
): Connection<Node> {
  let start = Math.min((after ?? -1) + 1, list.length);
  let end = Math.max(Math.min(before ?? list.length, list.length), start);
  if (first !== null) end = Math.min(end, start + first);
  if (last !== null) start = Math.max(start, end - last);

  const nodes = eachEntry(list.slice(start, end), (record, offset) => toNode(record, start + offset));
  const edges = nodes.map((node, offset) => new Edge(node, start + offset));
  return {
    edges,
    totalCount: list.length,
    pageInfo: new PageInfo(end < list.length, start > 0, edges),
  };
}

/**
 * A connection field over a list that its parent's ids (and the field's arguments) name.
 * Spread it into `t.connection`: it brings `resolve`, and the facts that links and plans look at.
 */
export function connectionFromIds<Parent, Args extends object, Item, Node>(
  load: (parent: Parent, args: Args, context: Asking) => Promise<readonly Item[]>,
  toNode: (parent: Parent, record: Exclude<Item, Error>, index: number, args: Args, context: Context) => Node,
) {
  const resolve = (parent: Parent, args: Args & PageArguments, context: Context) => {
    const page = checkPage(args);
    return load(parent, args, context).then((list) =>
      connectionOf(list, page, (record, index) => toNode(parent, record, index, args, context)),
    );
  };
  const ahead = (parent: Parent, args: Args & PageArguments, context: Asking) => {
    checkPage(args);
    return load(parent, args, context);
  };
  const plan = (parent: Parent, args: Args & PageArguments, planning: Planning) => {
    askAhead(() => ahead(parent, args, planning));
    // What hangs on entries counts nothing: there may be none.
    return null;
  };
  return { resolve, extensions: fromIdsAhead(ahead, plan) };
}

const cursorAt = (index: number) => Buffer.from(`at:${index}`).toString('base64url');

function position(name: string, cursor: string | null | undefined): number | null {
  if (cursor === null || cursor === undefined) return null;
  const index = /^at:(\d{1,9})$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1];
  if (index === undefined) throw badUserInput(`${name} has to be a cursor as an edge answered it.`);
  return Number(index);
}

function count(name: string, value: number | null | undefined): number | null {
  if (value === null || value === undefined) return null;
  if (value < 0) throw badUserInput(`${name} has to be zero or more.`);
  return value;
}
