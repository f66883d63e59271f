import {
  type FieldKind,
  type FieldMap,
  type InputFieldMap,
  type InputShapeFromFields,
  type ObjectRef,
  RootFieldBuilder,
} from '@pothos/core';
import { badUserInput } from '../../errors.ts';
import { propertyResolver } from '../../executor/known-resolvers.ts';
import { getOrMake } from '../../get-or-make.ts';
import { isObject } from '../../is-object.ts';
import type { ObjectFields, Types } from '../builder.ts';
import type { ReadContext, ResolverContext } from '../context.ts';
import type { ListWork } from '../list-work.ts';
import { fieldOptions } from './link.ts';
import { mapListItem } from './list-item.ts';
import { BankRef, type BankTypes } from './node.ts';

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

/** The position of a cursor's entry when it was made, and its name if it has one. Errors: BAD_USER_INPUT. */
function parseCursor(argument: string, cursor: string) {
  const [, index, name = null] =
    /^at:(\d{1,9})(?::(.+))?$/s.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (index === undefined) throw notACursor(argument);
  return { index: Number(index), name };
}

/** The name of an entry in its list; null if it has no name. */
type NameOf = (entry: unknown) => string | null;

function nameById(entry: unknown): string | null {
  const name = isObject(entry) ? (entry.id ?? entry.resource_url) : null;
  return typeof name === 'string' && name !== '' ? name.toWellFormed() : null;
}

/** Creates an entry's object from its record and its position in the list. */
export type ToNode<Item, Node> = (record: Exclude<Item, Error>, index: number) => Node;

/** An entry of a page, for its GraphQL type. */
export interface Edge<Node> {
  readonly node: Node;
  readonly cursor: string;
}

/** The functions of a page that its edges call. */
interface PageOfEdge {
  readonly args: object;
  cursorAt(index: number): string;
}

/** The cursor is created when it is read, because it costs more than the rest of the edge and is seldom selected. */
class ListedEdge<Node> implements Edge<Node> {
  readonly node: Node;
  readonly #page: PageOfEdge;
  readonly #index: number;

  constructor(node: Node, page: PageOfEdge, index: number) {
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
 * One page of a complete list, as the Relay specification defines it; the whole list without `first` and `last`.
 * (The bank has no pagination.) A cursor names its entry, so that a page follows the one before it although the bank's
 * list has changed in between. Entries are created on demand, one by one, so that a page over the operation's budget
 * costs nothing. An entry that broke the contract remains an error.
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
  readonly #nameOf: NameOf;

  constructor(
    list: readonly Item[],
    { first, after, last, before }: ReturnType<typeof checkPage>,
    toNode: ToNode<Item, Node>,
    { lists }: { readonly lists: Pick<ListWork, 'charge'> },
    nameOf: NameOf = nameById,
    args: object = {},
  ) {
    const from = after === null ? 0 : placeOf(after, list, nameOf, lists).next;
    const to = before === null ? list.length : placeOf(before, list, nameOf, lists).index;
    this.totalCount = list.length;
    this.args = args;
    this.#list = list;
    this.#end = Math.min(Math.max(to, from), from + first);
    this.#start = Math.max(from, this.#end - last);
    this.#toNode = toNode;
    this.#nameOf = nameOf;
  }

  get nodes(): LazyList<Node> {
    return new LazyList(this.#start, this.#end, this.#nodeAt);
  }

  get edges(): LazyList<Edge<Node>> {
    return new LazyList(this.#start, this.#end, (index) => new ListedEdge(this.#nodeAt(index), this, index));
  }

  readonly #nodeAt = (index: number): Node => mapListItem(this.#list[index] as Item, index, this.#toNode);

  cursorAt(index: number): string {
    const name = this.#nameOf(this.#list[index]);
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
 * The current position of a cursor's entry, and of the first entry after it. If the bank no longer lists the entry, the entry
 * at its position is next. If several entries have its name, the position decides.
 */
function placeOf(
  { index, name }: { readonly index: number; readonly name: string | null },
  list: readonly unknown[],
  nameOf: NameOf,
  lists: Pick<ListWork, 'charge'>,
) {
  const at = Math.min(index, list.length);
  const found = { index: at, next: Math.min(at + 1, list.length) };
  if (name === null || nameOf(list[index]) === name) return found;
  lists.charge(list.length);
  const first = list.findIndex((entry) => nameOf(entry) === name);
  if (first < 0) return { index: at, next: at };
  const isOnly = list.findLastIndex((entry) => nameOf(entry) === name) === first;
  return isOnly ? { index: first, next: first + 1 } : found;
}

/** A list whose entries are created when they are read, after the executor has charged for them. */
class LazyList<Made> implements Iterable<Made> {
  readonly length: number;
  readonly #start: number;
  readonly #make: (index: number) => Made;

  constructor(start: number, end: number, make: (index: number) => Made) {
    this.length = end - start;
    this.#start = start;
    this.#make = make;
  }

  at(index: number): Made {
    return this.#make(this.#start + index);
  }

  /** For other executors. */
  *[Symbol.iterator](): Generator<Made> {
    for (let index = 0; index < this.length; index++) yield this.at(index);
  }
}

export const totalCountDescription = 'The number of entries in the whole list, not only in this page.';

const connections = new WeakMap<object, ObjectRef<Types, unknown>>();

/** The GraphQL types of a list's pages and of their edges. The first list of these entries makes them. */
const connectionTo = (
  builder: PothosSchemaTypes.SchemaBuilder<Types>,
  type: ObjectRef<Types, unknown>,
  plural: string,
  edge: AnyEdgeFields | undefined,
) =>
  getOrMake(connections, type, () =>
    builder.connectionObject(
      {
        type,
        name: `${type.name}Connection`,
        description: `All ${plural}, or a page.`,
        fields: (t) => ({
          nodes: t.field({
            type: [type],
            nullable: { list: false, items: true },
            // A page creates its nodes without edges, and knows their number.
            resolve: propertyResolver('nodes') as () => Iterable<unknown>,
          }),
          totalCount: t.int({
            nullable: false,
            description: totalCountDescription,
            resolve: propertyResolver('totalCount') as () => number,
          }),
        }),
      },
      edge && { fields: edge },
    ),
  );

/** The fields of an entry that depend on the arguments of its list. */
type EdgeFields<Node, Args extends InputFieldMap> = (
  t: ObjectFields<Edge<Node | Error> & { readonly args: InputShapeFromFields<Args> }>,
) => FieldMap;
type AnyEdgeFields = (t: ObjectFields<{ cursor: string; node: unknown }>) => FieldMap;

interface ListOptions<Parent, ListIds, Item, Args extends InputFieldMap> {
  readonly description: string;
  /** The arguments in addition to those of the page. */
  readonly args?: Args;
  /** The ids of the list; by default those of the parent. */
  readonly ids?: (parent: Parent, args: InputShapeFromFields<Args>, context: ReadContext) => ListIds;
  /** The entries; by default the whole list. */
  readonly load?: (
    ids: ListIds,
    args: InputShapeFromFields<Args>,
    context: ReadContext,
  ) => Promise<readonly Item[]>;
}

export interface BankListOptions<Parent, T extends BankTypes, Args extends InputFieldMap>
  extends ListOptions<Parent, T['ListIds'], T['Item'], Args> {
  /** Further fields of the edges. Only those of the first list of these records are used. */
  readonly edge?: EdgeFields<T['Ids'] & { readonly record: T['Item'] }, Args>;
}

export interface PartListOptions<Parent, Item, Args extends InputFieldMap> {
  readonly description: string;
  readonly args?: Args;
  readonly load: (
    parent: Parent,
    args: InputShapeFromFields<Args>,
    context: ReadContext,
  ) => Promise<readonly Item[]>;
  /** The plural noun for the entries in descriptions. */
  readonly plural: string;
  /** The name of an entry in cursors. */
  readonly nameOf: NameOf;
}

const fieldsProto = RootFieldBuilder.prototype as PothosSchemaTypes.RootFieldBuilder<
  Types,
  unknown,
  FieldKind
>;

fieldsProto.bankList = function bankList(
  this: typeof fieldsProto,
  ref: ObjectRef<Types, unknown>,
  {
    description,
    args,
    edge,
    ...list
  }: { readonly description: string; readonly args?: InputFieldMap; readonly edge?: AnyEdgeFields },
) {
  const isOfRecords = ref instanceof BankRef;
  const { plural } = isOfRecords ? ref : (list as AnyPartList);
  const type = connectionTo(this.builder, ref, plural, edge);
  const resolverOn = isOfRecords ? pagesOfRecords(ref, args, list) : () => pageOfParts(list as AnyPartList);
  const allArgs = { ...args, ...this.arg.connectionArgs() };
  return this.field(fieldOptions({ type, description, args: allArgs, fromIds: true, resolverOn }));
} as typeof fieldsProto.bankList;

type Given = PageArguments & Record<string, never>;
type AnyPartList = PartListOptions<object, unknown, Record<string, never>>;

/** Resolves a list of records with ids. */
function pagesOfRecords<T extends BankTypes>(
  ref: BankRef<Types, T>,
  args: InputFieldMap | undefined,
  { ids, load }: Pick<ListOptions<object, T['ListIds'], T['Item'], Record<string, never>>, 'ids' | 'load'>,
) {
  const { list } = ref.options;
  if (list === undefined) throw new Error(`${ref.name} has no list`);
  const check = ref.argumentCheck(args);
  const idsOf = ids ?? ((node: object) => ref.parent?.pathOf(node) as T['ListIds']);
  const entriesOf = load ?? ((listIds, _args, context) => list.load(listIds, context));
  return (typename: string) => {
    const isUnder = ids === undefined && ref.isChildOf(typename);
    return (node: object, given: Given, { bankql }: ResolverContext) => {
      const page = checkPage(given);
      check?.(given);
      const listIds = idsOf(node, given, bankql);
      return entriesOf(listIds, given, bankql).then((entries) => {
        const toNode = ref.nodesIn(entries, listIds, isUnder ? node : undefined);
        return new Page(entries, page, toNode, bankql, undefined, given);
      });
    };
  };
}

/** Resolves a list of records without ids. */
const pageOfParts =
  ({ load, nameOf }: AnyPartList) =>
  (parent: object, given: Given, { bankql }: ResolverContext) => {
    const page = checkPage(given);
    return load(parent, given, bankql).then(
      (entries) => new Page(entries, page, (entry: unknown) => entry, bankql, nameOf),
    );
  };
