import {
  type FieldKind,
  type InputFieldMap,
  type InputShapeFromFields,
  RootFieldBuilder,
} from '@pothos/core';
import { unwrap } from '../../bank/answer.ts';
import { validateId } from '../../bank/ids.ts';
import { BankqlError } from '../../errors.ts';
import { keepEarlyResults, keepLateObject } from '../../executor/known-resolvers.ts';
import type { Selection } from '../../executor/selection.ts';
import type { Types } from '../builder.ts';
import {
  type Context,
  type Defaults,
  defaultId,
  type ReadContext,
  type ResolverContext,
} from '../context.ts';
import { type AnyBankRef, bankRefs } from './bank-ref.ts';
import type { Values } from './fields.ts';
import { type BankTypes, givenId, type KeyId } from './key.ts';
import { findByContent, type Listed } from './list-item.ts';

/**
 * Links between records.
 *
 * The target of a link has the ids that identify it. Its record is read from the bank only if the operation selects a
 * field that the ids cannot answer, so that `owners { customerId }` and `account { otherAccounts { … } }` make no call
 * for the customer or the account. While the record is being read, fields that need only the ids are resolved early, so
 * that independent calls are made at the same time.
 */

/**
 * The type is `never`, which fits any options: Pothos computes their type from the kind of the field's parent, which a
 * plugin does not know.
 */
export const fieldOptions = (options: object) => options as never;

/** The names of the ids that come neither from the parent nor from an argument nor from a setting. */
type Missing<Ids, Parent, Args> = Exclude<keyof Ids, keyof Parent | Named<Args> | keyof Defaults>;

/** The names of arguments; none if the field has none. */
type Named<Args> = string extends keyof Args ? never : keyof Args;

/**
 * The ids that a link's `ids` returns. It has to return the ids that come from nowhere else, and may replace others.
 */
export type GivenIds<Ids, Parent, Args> = { readonly [Name in keyof Ids]?: GivenId<Ids[Name]> } & {
  readonly [Name in Missing<Ids, Parent, Args>]: GivenId<Ids[Name]>;
};

/** An id as a record contains it: it may be absent, or an error may be in its place. */
type GivenId<Id> = Id | (Id extends string ? Error : never) | null | undefined;

/** `ids` may be left out if all ids come from elsewhere. */
export type IdsNeeded<Ids, Parent, Args> = [Missing<Ids, Parent, Args>] extends [never]
  ? unknown
  : { readonly ids: unknown };

export interface LinkOptions<Parent, T extends BankTypes, Args extends InputFieldMap> {
  readonly description: string;
  readonly args?: Args;
  readonly extensions?: object;
  readonly nullable?: false;
  /** The ids are in the parent's record, which must be read before the link is followed. */
  readonly fromRecord?: true;
  /**
   * The ids that come from no argument, parent or setting, and the record if the parent's record contains it. Returns null, or
   * no own id, if the link leads nowhere.
   */
  readonly ids?: (
    parent: Parent,
    args: InputShapeFromFields<Args>,
    context: ReadContext,
  ) => (GivenIds<T['Path'], Parent, Args> & { readonly record?: T['Item'] | undefined }) | null;
}

const fieldsProto = RootFieldBuilder.prototype as PothosSchemaTypes.RootFieldBuilder<
  Types,
  unknown,
  FieldKind
>;

export type Node = Values & Listed;
type IdsOf = (parent: Node, args: Values, context: Context) => Values | null;

fieldsProto.link = function link(this: typeof fieldsProto, ref, { ids, fromRecord, ...options }) {
  const resolverOn = (typename: string) => {
    const isBack = ids === undefined && options.args === undefined && bankRefs.get(typename)?.parent === ref;
    const idsFor = idsOn(typename, ref, ref.key);
    return (parent: Node, args: Values, { bankql }: ResolverContext, info: Selection) => {
      if (isBack && parent.under?.record !== undefined) return parent.under;
      const given = (ids as IdsOf | undefined)?.(parent, args, bankql);
      if (given === null) return null;
      const record = given?.record;
      if (given !== undefined && ref.own in given && !given[ref.own] && record === undefined) return null;
      const linked = idsFor(parent, args, given, bankql);
      return record === undefined ? follow(ref, linked, bankql, info) : { ...linked, record };
    };
  };
  return this.field(fieldOptions({ ...options, type: ref, fromIds: !fromRecord, resolverOn }));
};

export interface LinksOptions<Parent, Args extends InputFieldMap> {
  readonly description: string;
  readonly args?: Args;
  /** The own ids of the linked records, from the parent's record. */
  readonly entries: (
    parent: Parent,
    args: InputShapeFromFields<Args>,
  ) => readonly string[] | Error | null | undefined;
}

fieldsProto.links = function links(this: typeof fieldsProto, ref, { entries, ...options }) {
  const { own, ownId } = ref;
  const resolverOn = (typename: string) => {
    const idsFor = idsOn(typename, ref, ref.listKey);
    return (parent: Node, args: never, { bankql }: ResolverContext, info: Selection) => {
      const others = idsFor(parent, args, undefined, bankql);
      const idsOf = (id: string) => ({ ...others, [own]: givenId(ownId, id) });
      return followEach(ref, unwrap(entries(parent, args)), idsOf, bankql, info);
    };
  };
  return this.field(
    fieldOptions({ ...options, nullable: { list: true, items: true }, type: [ref], resolverOn }),
  );
};

/**
 * Follows a link for each entry. Each entry can fail separately, and has its error in its place. If the operation exceeds its
 * limit of calls, only one entry has this error, and the other unread entries are null. An error of `idsOf` is the entry's
 * error.
 */
export function followEach<Entry>(
  ref: AnyBankRef,
  entries: readonly Entry[] | null | undefined,
  idsOf: (entry: Entry) => Node,
  context: Context,
  info: Selection,
) {
  let isReported = false;
  const onError = (error: unknown): null => {
    const isLimit = error instanceof BankqlError && error.code === 'CALL_BUDGET_EXCEEDED';
    if (isLimit && isReported) return null;
    isReported ||= isLimit;
    throw error;
  };
  return entries?.map((entry, index) => {
    if (entry instanceof Error) return entry;
    try {
      return follow(ref, idsOf(entry), context, info, index, onError);
    } catch (error) {
      return error;
    }
  });
}

/**
 * Makes the function that finds the ids of a key for a field of a type: in the result of the field's `ids`, in its arguments,
 * in the parent's ids, and in the settings. The root has no parent. Errors: BAD_USER_INPUT for an argument; BANK_BAD_RESPONSE
 * for an id of the bank; errors in place of ids.
 */
export function idsOn(typename: string, ref: AnyBankRef, key: readonly KeyId[]) {
  const underFrom = ref.underFrom(typename);
  return (parent: Node | undefined, args: Values, given: Values | undefined, { defaults }: Context): Node => {
    const ids: Record<string, unknown> = {};
    for (const part of key) {
      const { name, noun } = part;
      if (given !== undefined && name in given) {
        ids[name] = givenId(part, given[name]);
        continue;
      }
      const argument = args[name];
      // An empty code counts as absent.
      if (argument != null && (argument !== '' || name !== 'bankId')) {
        ids[name] = noun === null ? argument : validateId(name, String(argument), name);
        continue;
      }
      const known = parent?.[name];
      if (known === null) throw ref.withoutId(name);
      ids[name] =
        known === undefined ? defaultId(name, defaults) : typeof known === 'string' ? known : unwrap(known);
    }
    if (underFrom !== null && parent !== undefined) ids.under = underFrom(ids, parent);
    return ids;
  };
}

/**
 * The linked object, with its record if a selected field needs the record. `index`: the position of the object, if the
 * selection is that of a list. Errors: those of the read, or the result of `onError`, if the record cannot be read.
 */
export function follow<Other = never>(
  ref: AnyBankRef,
  ids: Node,
  context: Context,
  info: Selection,
  index?: number,
  onError?: (error: unknown) => Other,
): Node | Promise<Node | Other> {
  // The entry is identified by its content, so its ids are only in the record.
  if (ids.contentHash !== undefined) return readByContent(ref, ids, ids.contentHash, context).catch(onError);
  const { record, isLate, resolveEarly } = ref.needs(info);
  if (!record) return ids;
  const reading = ref.load(ids, context);
  const early = resolveEarly(ids, context, info, index);
  const { own, findsOthers } = ref;
  const toNode = (answer: object): Node => {
    const record = ref.recordIn(answer, ids, context);
    const id = findsOthers ? (ref.idIn(record) ?? ids[own]) : ids[own];
    if (id === ids[own]) return keepEarlyResults({ ...ids, record }, early);
    // If the record has other ids, the early results do not apply, and the fields are resolved again.
    return { ...ids, [own]: id, record };
  };
  // If the record may have other ids, all fields wait for the record, so that they see the same ids.
  return isLate && !findsOthers
    ? keepLateObject({ ...ids }, reading.then(toNode))
    : reading.then(toNode, onError);
}

async function readByContent(
  ref: AnyBankRef,
  { from, ...ids }: Node,
  contentHash: string,
  context: ReadContext,
): Promise<Node> {
  // Only an entry of a list is identified by its content.
  const { load, operation } = ref.list as NonNullable<typeof ref.list>;
  const listIds = from?.ids ?? ids;
  const entries = await load(listIds, context);
  const record = await findByContent(entries, contentHash, ref.shape, operation, context);
  return { ...ref.nodesIn(entries, listIds)(record), contentHash };
}
