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
import type { BankTypes } from './key.ts';
import { fieldOptions, follow, followEach, type GivenIds, idsOn, type Node } from './link.ts';
import { checkPage, type Edge, Page, type PageArguments } from './page.ts';

/** Lists of records as connections. */

/** Fields of an edge, which depend on the arguments of the list. */
type EdgeFields<Node, Args extends InputFieldMap> = (
  t: ObjectFields<Edge<Node | Error> & { readonly args: InputShapeFromFields<Args> }>,
) => FieldMap;

export interface BankListOptions<Parent, T extends BankTypes, Args extends InputFieldMap> {
  readonly description: string;
  /** The arguments besides those of the page. */
  readonly args?: Args;
  readonly extensions?: object;
  /** The ids of the list that come from no argument, parent or setting. */
  readonly ids?: (
    parent: Parent,
    args: InputShapeFromFields<Args>,
    context: ReadContext,
  ) => GivenIds<T['ListIds'], Parent, Args>;
  /**
   * Loads the entries; by default, the whole list is read. For records that are read one by one, the entries
   * are the records' own ids.
   */
  readonly load?: (
    ids: T['ListIds'],
    args: InputShapeFromFields<Args>,
    context: Context,
  ) => Promise<readonly (T['Item'] | OwnId<T>)[]>;
  /** Whether the field is a plain list without pages, for lists that are always short. */
  readonly isPlain?: true;
  /**
   * Further fields of the edges' type. If several lists have the same type of records, the fields of the first list
   * apply.
   */
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
  const entriesOf: Load = load ?? ((listIds, _args, context) => ref.list?.load(listIds, context) as never);
  const nameOf = (entry: object) => ref.nameOf(entry);
  const resolverOn = (typename: string) => {
    const idsFor = idsOn(typename, ref, ref.listKey);
    return (parent: Node, given: Given, { bankql }: ResolverContext) => {
      const page = checkPage(given);
      const { under, ...listIds } = idsFor(parent, given, ids?.(parent, given, bankql), bankql);
      return entriesOf(listIds, given, bankql).then((entries: readonly Values[]) => {
        const listed = new Page(entries, page, ref.nodesIn(entries, listIds, under), bankql, nameOf, given);
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
