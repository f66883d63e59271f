import { badUserInput } from '../../errors.ts';
import type { ListWork } from '../list-work.ts';

/** Pages of the bank's lists. (The bank itself has no pagination.) */

/** Relay's arguments of a page. */
export interface PageArguments {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly last?: number | null | undefined;
  readonly before?: string | null | undefined;
}

/**
 * An empty cursor counts as no cursor: Apollo's relayStylePagination shows the missing `endCursor` of an empty page as an empty text.
 * Errors: BAD_USER_INPUT for a negative count or an invalid cursor; no call is made then.
 */
export const checkPage = ({ first, after, last, before }: PageArguments) => ({
  first: first == null ? Infinity : count('first', first),
  after: after ? parseCursor('after', after) : null,
  last: last == null ? Infinity : count('last', last),
  before: before ? parseCursor('before', before) : null,
});

function count(name: string, value: number): number {
  if (value < 0) throw badUserInput(`${name} has to be zero or more.`, name);
  return value;
}

/** The error BAD_USER_INPUT for an argument that is not a cursor. */
export const notACursor = (argument: string) =>
  badUserInput(`${argument} has to be a cursor as an edge answered it.`, argument);

/**
 * The position that the cursor's entry had when the cursor was made, and the entry's name, if it has one.
 * Errors: BAD_USER_INPUT.
 */
function parseCursor(argument: string, cursor: string) {
  const [, index, name = null] =
    /^at:(\d{1,9})(?::(.+))?$/s.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (index === undefined) throw notACursor(argument);
  return { index: Number(index), name };
}

/** The name of an entry in its list, in well-formed Unicode; null if it has no name. */
type NameOf<Item> = (entry: Item) => string | null;

/** Creates an entry's object from its record and its position in the list. It never throws. */
type ToNode<Item, Node> = (record: Item, index: number) => Node;

/** An entry of a page, for its GraphQL type. */
export interface Edge<Node> {
  readonly node: Node;
  readonly cursor: string;
}

/** An edge. Its cursor is created when it is read, because it costs more than the rest of the edge and is seldom selected. */
class ListedEdge<Node> implements Edge<Node> {
  readonly node: Node;
  readonly #page: Pick<Page<unknown, Node>, 'args' | 'cursorAt'>;
  readonly #index: number;

  constructor(node: Node, page: Pick<Page<unknown, Node>, 'args' | 'cursorAt'>, index: number) {
    this.node = node;
    this.#page = page;
    this.#index = index;
  }

  get cursor(): string {
    return this.#page.cursorAt(this.#index);
  }

  /** The arguments of the list. */
  get args(): object {
    return this.#page.args;
  }
}

/**
 * One page of a complete list, as the Relay specification defines it. Without `first` and `last`, the page is
 * the whole list. (The bank has no pagination.) A cursor names its entry, so that a page continues after the
 * page before it, even if the bank's list has changed in between. Entries are created on demand, one by one,
 * so that a page over the operation's budget costs nothing. An entry that broke the contract remains an
 * error.
 */
// Pages and edges are classes: V8 makes a hidden class for each object literal with a getter, which keeps the list until the next
// major collection.
export class Page<Item, Node> {
  readonly totalCount: number;
  readonly args: object;
  readonly #list: readonly Item[];
  readonly #start: number;
  readonly #end: number;
  readonly #toNode: ToNode<Item, Node>;
  readonly #nameOf: NameOf<Item>;

  constructor(
    list: readonly Item[],
    { first, after, last, before }: ReturnType<typeof checkPage>,
    toNode: ToNode<Item, Node>,
    { lists }: { readonly lists: Pick<ListWork, 'charge'> },
    nameOf: NameOf<Item>,
    args: object = {},
  ) {
    const from = after === null ? 0 : positionOf(after, list, nameOf, lists).next;
    const to = before === null ? list.length : positionOf(before, list, nameOf, lists).index;
    this.totalCount = list.length;
    this.args = args;
    this.#list = list;
    this.#end = Math.min(Math.max(to, from), from + first);
    this.#start = Math.max(from, this.#end - last);
    this.#toNode = toNode;
    this.#nameOf = nameOf;
  }

  get nodes(): LazyList<Item, Node> {
    return new LazyList(this.#list, this.#start, this.#end, this.#toNode);
  }

  get edges(): LazyList<Item, Edge<Node>> {
    const toEdge = (entry: Item, index: number) => new ListedEdge(this.#toNode(entry, index), this, index);
    return new LazyList(this.#list, this.#start, this.#end, toEdge);
  }

  cursorAt(index: number): string {
    const name = this.#nameOf(this.#list[index] as Item);
    return Buffer.from(name === null ? `at:${index}` : `at:${index}:${name}`).toString('base64url');
  }

  get pageInfo() {
    const [start, end] = [this.#start, this.#end];
    return {
      hasNextPage: end < this.totalCount,
      hasPreviousPage: start > 0,
      startCursor: start < end ? this.cursorAt(start) : null,
      endCursor: start < end ? this.cursorAt(end - 1) : null,
    };
  }
}

/**
 * The current position of a cursor's entry, and that of the first entry after it. If the bank no longer lists the entry, the
 * one that is now at its position is the first after it. If several entries have its name, the position chooses between them.
 */
function positionOf<Item>(
  { index, name }: { readonly index: number; readonly name: string | null },
  list: readonly Item[],
  nameOf: NameOf<Item>,
  lists: Pick<ListWork, 'charge'>,
) {
  const at = Math.min(index, list.length);
  const found = { index: at, next: Math.min(at + 1, list.length) };
  if (name === null || (at < list.length && nameOf(list[at] as Item) === name)) return found;
  lists.charge(list.length);
  const first = list.findIndex((entry) => nameOf(entry) === name);
  if (first < 0) return { index: at, next: at };
  const isOnly = list.findLastIndex((entry) => nameOf(entry) === name) === first;
  return isOnly ? { index: first, next: first + 1 } : found;
}

/** A list whose entries are created when they are read, after the executor has charged for them. */
class LazyList<Item, Made> implements Iterable<Made> {
  readonly length: number;
  readonly #list: readonly Item[];
  readonly #start: number;
  readonly #make: (entry: Item, index: number) => Made;

  constructor(list: readonly Item[], start: number, end: number, make: (entry: Item, index: number) => Made) {
    this.length = end - start;
    this.#list = list;
    this.#start = start;
    this.#make = make;
  }

  at(position: number): Made {
    const index = this.#start + position;
    return this.#make(this.#list[index] as Item, index);
  }

  /** Used by executors other than bankql's. */
  *[Symbol.iterator](): Generator<Made> {
    for (let position = 0; position < this.length; position++) yield this.at(position);
  }
}
