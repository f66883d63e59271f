import {
  type FieldKind,
  type FieldMap,
  type InputFieldMap,
  type InputShapeFromFields,
  type ObjectRef,
  RootFieldBuilder,
} from '@pothos/core';
import { unwrap } from '../../bank/answer.ts';
import { propertyResolver } from '../../executor/known-resolvers.ts';
import type { Selection } from '../../executor/selection.ts';
import { getOrMake } from '../../get-or-make.ts';
import type { ObjectFields, Types } from '../builder.ts';
import type { Context, ReadContext, ResolverContext } from '../context.ts';
import type { AnyBankRef } from './bank-ref.ts';
import type { Values } from './fields.ts';
import { type BankTypes, givenId } from './key.ts';
import { fieldOptions, follow, followEach, type GivenIds, idsFrom } from './link.ts';
import type { Listed } from './list-item.ts';
import { checkPage, type Edge, Page, type PageArguments } from './page.ts';

/** Lists of records as connections. */

/** The fields of an entry that depend on the arguments of its list. */
type EdgeFields<Node, Args extends InputFieldMap> = (
  t: ObjectFields<Edge<Node | Error> & { readonly args: InputShapeFromFields<Args> }>,
) => FieldMap;

export interface BankListOptions<Parent, T extends BankTypes, Args extends InputFieldMap> {
  readonly description: string;
  /** The arguments besides those of the page. */
  readonly args?: Args;
  readonly extensions?: object;
  /** The ids of the list that no argument, parent or setting gives. */
  readonly ids?: (
    parent: Parent,
    args: InputShapeFromFields<Args>,
    context: ReadContext,
  ) => GivenIds<T['ListIds'], Parent, Args>;
  /** The entries; by default the whole list. Records that are read one by one are listed by their own ids. */
  readonly load?: (
    ids: T['ListIds'],
    args: InputShapeFromFields<Args>,
    context: Context,
  ) => Promise<readonly (T['Item'] | OwnId<T>)[]>;
  /** Whether the field is a plain list without pages, for lists that are always short. */
  readonly isPlain?: true;
  /** Further fields of the type of edges. If several lists have the same records, those of the first list apply. */
  readonly edge?: EdgeFields<T['Ids'] & { readonly record: T['Item'] }, Args>;
}

type OwnId<T extends BankTypes> = { readonly [Name in Exclude<keyof T['Path'], keyof T['ListIds']>]: string };

const fieldsProto = RootFieldBuilder.prototype as PothosSchemaTypes.RootFieldBuilder<
  Types,
  unknown,
  FieldKind
>;

type Given = PageArguments & Values;
type Load = (ids: Values, args: object, context: Context) => Promise<readonly Values[]>;

interface AnyListOptions {
  readonly description: string;
  readonly args?: InputFieldMap;
  readonly ids?: (parent: object, args: object, context: Context) => Values;
  readonly load?: Load;
  readonly isPlain?: true;
  readonly edge?: AnyEdgeFields;
}

fieldsProto.bankList = function bankList(
  this: typeof fieldsProto,
  ref: AnyBankRef,
  { ids, load, args, isPlain, edge, ...options }: AnyListOptions,
) {
  const { list } = ref;
  const entriesOf: Load =
    load ?? ((listIds, _args, context) => list?.load(listIds, context) ?? Promise.resolve([]));
  const { own } = ref;
  const nameOf = (entry: object) => ref.nameOf(entry)?.toWellFormed() ?? null;
  const resolverOn = (typename: string) => {
    const underFrom = ref.underFrom(typename);
    return (parent: Values & Listed, given: Given, { bankql }: ResolverContext) => {
      const page = checkPage(given);
      const sources = { parent, args: given, given: ids?.(parent, given, bankql) };
      const { under, ...listIds } = idsFrom(ref, ref.listKey, sources, bankql, underFrom);
      return entriesOf(listIds, given, bankql).then((entries) => {
        const toNode =
          list === undefined
            ? (entry: Values) => ({ ...listIds, [own]: givenId(ref.ownId, entry[own]), under })
            : ref.nodesIn(entries, listIds, under);
        const listed = new Page(entries, page, toNode, bankql, nameOf, given);
        return isPlain === true ? listed.nodes : listed;
      });
    };
  };
  const field =
    isPlain === true
      ? { type: [ref], nullable: { list: true, items: true }, args }
      : {
          type: connectionTo(this.builder, ref, edge),
          args: { ...args, ...this.arg.connectionArgs() },
        };
  return this.field(fieldOptions({ ...options, ...field, fromIds: true, resolverOn }));
} as typeof fieldsProto.bankList;

const totalCountDescription = 'The number of entries in the whole list, not only in this page.';

type AnyEdgeFields = (t: ObjectFields<{ cursor: string; node: unknown }>) => FieldMap;

const connections = new WeakMap<object, ObjectRef<Types, unknown>>();

/** The GraphQL types of a list's pages and of their edges. The first list of these records makes them. */
const connectionTo = (
  builder: PothosSchemaTypes.SchemaBuilder<Types>,
  ref: AnyBankRef,
  edge: AnyEdgeFields | undefined,
) =>
  getOrMake(connections, ref, () =>
    builder.connectionObject(
      {
        type: ref,
        name: `${ref.name}Connection`,
        description: `All ${ref.plural}, or a page.`,
        fields: (t) => ({
          nodes: t.field({
            type: [ref],
            nullable: { list: false, items: true },
            resolve: (ref.list === undefined
              ? (
                  { nodes }: Page<object, Values>,
                  _args: object,
                  { bankql }: ResolverContext,
                  info: Selection,
                ) => followEach(ref, [...nodes], (node) => node, bankql, info)
              : // The page creates its nodes without edges, and knows their number.
                propertyResolver('nodes')) as () => Iterable<unknown>,
          }),
          totalCount: t.int({
            nullable: false,
            description: totalCountDescription,
            resolve: propertyResolver('totalCount') as () => number,
          }),
        }),
      },
      {
        fields: (t) => ({
          ...(ref.list === undefined && {
            node: t.field({
              type: ref,
              resolve: ((
                { node }: Edge<Values | Error>,
                _args: object,
                { bankql }: ResolverContext,
                info: Selection,
              ) => follow(ref, unwrap(node), bankql, info)) as () => never,
            }),
          }),
          ...edge?.(t),
        }),
      },
    ),
  );
