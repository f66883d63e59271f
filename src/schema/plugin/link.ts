import {
  type FieldKind,
  type InputFieldMap,
  type InputShapeFromFields,
  RootFieldBuilder,
} from '@pothos/core';
import { unwrap } from '../../bank/answer.ts';
import { isOtherId, validateId } from '../../bank/ids.ts';
import type { Operation } from '../../contract/operation.ts';
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
import { forged } from './global-id.ts';
import { type BankTypes, givenId, type KeyId } from './key.ts';
import { findByContent, itemNotFound, type Listed, mapListItem, shownId } from './list-item.ts';

/**
 * Links between records.
 *
 * An object that a link leads to knows the ids that identify it; its record comes from the bank. The record is read
 * only if the operation selects a field that the ids cannot answer, so that `owners { customerId }` and
 * `account { otherAccounts { … } }` make no call for the customer or the account. While the record is being read, fields
 * that need only the ids are resolved early, so that independent calls are made at the same time.
 */

/** Pothos computes the type of a field's options from the kind of its parent, which its plugins do not know. */
export const fieldOptions = (options: object) => options as never;

/** The names of the ids that neither the parent nor an argument nor a setting gives. */
type Missing<Ids, Parent, Args> = Exclude<keyof Ids, keyof Parent | Named<Args> | keyof Defaults>;

/** The names of arguments; none if the field has none. */
type Named<Args> = string extends keyof Args ? never : keyof Args;

/** The ids that a link's `ids` returns. It has to give those that come from nowhere else, and may replace others. */
export type GivenIds<Ids, Parent, Args> = { readonly [Name in keyof Ids]?: GivenId<Ids[Name]> } & {
  readonly [Name in Missing<Ids, Parent, Args>]: GivenId<Ids[Name]>;
};

/** An id as a record has it: there may be none, or an error in its place. */
type GivenId<Id> = Id | (Id extends string ? Error : never) | null | undefined;

/** `ids` may be left out if all of them come from elsewhere. */
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
   * The ids that no argument, parent or setting gives, and the record if the parent's record contains it. Null, or without the
   * own id, if the link leads nowhere.
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

type Node = Values & Listed;
type IdsOf = (parent: Node, args: Values, context: Context) => Values | null;

fieldsProto.link = function link(this: typeof fieldsProto, ref, { ids, fromRecord, ...options }) {
  const resolverOn = (typename: string) => {
    const isBack = ids === undefined && options.args === undefined && bankRefs.get(typename)?.parent === ref;
    const underFrom = ref.underFrom(typename);
    return (parent: Node, args: Values, { bankql }: ResolverContext, info: Selection) => {
      if (isBack && parent.under?.record !== undefined) return parent.under;
      const given = (ids as IdsOf | undefined)?.(parent, args, bankql);
      if (given === null) return null;
      const { record } = given ?? {};
      if (given !== undefined && ref.own in given && !given[ref.own] && record === undefined) return null;
      const linked = idsFrom(ref, ref.key, { parent, args, given }, bankql, underFrom);
      return record === undefined ? follow(ref, linked, bankql, info) : { ...linked, record };
    };
  };
  return this.field(fieldOptions({ ...options, type: ref, fromIds: !fromRecord, resolverOn }));
};

export interface LinksOptions<Parent, Args extends InputFieldMap> {
  readonly description: string;
  readonly args?: Args;
  /** The own ids, in the parent's record. */
  readonly entries: (
    parent: Parent,
    args: InputShapeFromFields<Args>,
  ) => readonly string[] | Error | null | undefined;
}

fieldsProto.links = function links(this: typeof fieldsProto, ref, { entries, ...options }) {
  const resolverOn = (typename: string) => {
    const underFrom = ref.underFrom(typename);
    return (parent: Node, args: never, { bankql }: ResolverContext, info: Selection) => {
      const own = unwrap(entries(parent, args));
      // An empty code names no bank.
      const named = ref === ref.root ? own?.filter((id) => id !== '') : own;
      const others = idsFrom(ref, ref.listKey, { parent, args, given: undefined }, bankql, underFrom);
      return followEach(ref, named, (id) => ({ ...others, [ref.own]: givenId(ref.ownId, id) }), bankql, info);
    };
  };
  return this.field(
    fieldOptions({ ...options, nullable: { list: true, items: true }, type: [ref], resolverOn }),
  );
};

/**
 * Follows a link for each entry; each can fail separately. If the operation exceeds its limit of calls, one entry has the
 * error, and the other unread entries are null. An error of `idsOf` is the error of its entry.
 */
export function followEach<Entry>(
  ref: AnyBankRef,
  entries: readonly Entry[] | null | undefined,
  idsOf: (entry: Exclude<Entry, Error>) => Node,
  context: Context,
  info: Selection,
) {
  let isReported = false;
  const onError = (error: unknown): null => {
    const isLimit = error instanceof BankqlError && error.code === 'CALL_BUDGET_EXCEEDED';
    if (!isLimit || !isReported) {
      isReported ||= isLimit;
      throw error;
    }
    return null;
  };
  return entries?.map((item, at) =>
    mapListItem(item, at, (entry, index) => follow(ref, idsOf(entry), context, info, { onError, index })),
  );
}

/** The sources of ids: the link's `ids`, the arguments, and the parent's ids. A field of the root has no parent. */
interface IdSources {
  readonly parent: Node | undefined;
  readonly args: Values;
  readonly given: Values | undefined;
}

/** The ids of a key. Errors: BAD_USER_INPUT for an argument; BANK_BAD_RESPONSE for an id of the bank; the error in place of an id. */
export function idsFrom(
  ref: AnyBankRef,
  key: readonly KeyId[],
  { parent = {}, args, given }: IdSources,
  { defaults }: Context,
  underFrom: ReturnType<AnyBankRef['underFrom']>,
): Node {
  const ids: Record<string, unknown> = {};
  for (const part of key) {
    const { name, noun } = part;
    if (given !== undefined && name in given) {
      ids[name] = givenId(part, given[name]);
      continue;
    }
    const argument = args[name];
    // An empty code names no bank.
    if (argument != null && (argument !== '' || name !== 'bankId')) {
      ids[name] = noun === null ? argument : validateId(name, String(argument), name);
      continue;
    }
    const known = parent[name];
    if (known === null) throw ref.withoutId(name);
    ids[name] =
      known === undefined ? defaultId(name, defaults) : typeof known === 'string' ? known : unwrap(known);
  }
  const under = underFrom?.(ids, parent);
  if (under !== undefined) ids.under = under;
  return ids;
}

interface FollowOptions<Other> {
  /** Gives the result if the record cannot be read. */
  readonly onError?: (error: unknown) => Other;
  /** The position of the object, if the selection is that of a list. */
  readonly index?: number;
}

/** The linked object, with its record if a selected field needs it. Errors: those of the read, or of `onError`. */
export function follow<Other = never>(
  ref: AnyBankRef,
  ids: Node,
  context: Context,
  info: Selection,
  { onError, index }: FollowOptions<Other> = {},
): Node | Promise<Node | Other> {
  // The ids of an entry that is identified by its content are only in the record.
  if (ids.contentHash !== undefined) return readByContent(ref, ids, ids.contentHash, context).catch(onError);
  const { record, isLate, resolveEarly } = ref.needs(info);
  if (!record) return ids;
  const reading = read(ref, ids, context);
  const early = resolveEarly(ids, context, info, index);
  const { own, list, read: one } = ref;
  // If the record was found by another text than its own id, the node still gets the own id, as in the list.
  const isFoundOtherwise = ref.isOnlyListed && list?.find !== undefined;
  const toNode = (record: Values): Node => {
    if (one !== undefined) noteOtherId(context, one.operation, ids[own], record);
    const id = isFoundOtherwise ? (ref.idIn(record) ?? ids[own]) : ids[own];
    if (id === ids[own]) return keepEarlyResults({ ...ids, record }, early);
    // With other ids, the early results do not apply, and the fields are resolved again.
    return { ...ids, [own]: id, record };
  };
  // If the ids may come from the record, all fields wait for it, so that they see the same ids.
  return isLate && !isFoundOtherwise
    ? keepLateObject({ ...ids }, reading.then(toNode))
    : reading.then(toNode, onError);
}

/** Reads a record by its ids, alone or in its list. */
function read(ref: AnyBankRef, ids: Values, context: ReadContext): Promise<Values> {
  const { read, list } = ref;
  if (read !== undefined) return read.load(ids, context);
  if (list === undefined) return Promise.resolve({});
  return list.load(ids, context).then((entries: readonly Values[]) => {
    const entry = list.find?.(entries, ids) ?? ref.entriesWith(entries, ids)[0];
    if (entry === undefined) throw itemNotFound(list.operation, String(ids[ref.own]));
    // The list's path contains the own id, so an entry with another id counts as drift.
    if (list.key !== undefined) noteOtherId(context, list.operation, ids[ref.own], unwrap(entry), entries);
    return unwrap(entry);
  });
}

/**
 * Some banks accept other ids in paths (aliases, numbers in another format): a record with another id is the requested one, and
 * counts as drift.
 */
function noteOtherId(
  { session }: ReadContext,
  operation: Operation,
  asked: unknown,
  record: Values,
  answer: object = record,
): void {
  if (isOtherId(record.id, asked)) session.noteDrift({ operation: operation.id, field: 'id' }, answer);
}

async function readByContent(
  ref: AnyBankRef,
  { from, ...ids }: Node,
  contentHash: string,
  context: ReadContext,
): Promise<Node> {
  const { list } = ref;
  if (list === undefined) throw forged();
  const listIds = from?.ids ?? ids;
  const entries = await list.load(listIds, context);
  const record = await findByContent(entries, contentHash, ref.shape, list.operation, context);
  return { ...ref.nodesIn(entries, listIds)(record), contentHash };
}

/**
 * Reads the one record with the ids, to change it. Errors: BANK_BAD_RESPONSE if the list has several with this id: the first
 * of them may be the wrong one.
 */
export async function readForUpdate(ref: AnyBankRef, ids: Values, context: ReadContext): Promise<Values> {
  const { read: one, list } = ref;
  if (one === undefined && list !== undefined) {
    const { operation } = list;
    const entries = ref.entriesWith(await list.load(ids, context), ids);
    if (entries.length > 1)
      throw new BankqlError(
        'BANK_BAD_RESPONSE',
        `The bank's ${operation.id} lists several ${ref.plural} with the id ${shownId(String(ids[ref.own]))}, so that it is not known which one to change. Nothing was written.`,
        { operation: operation.id },
      );
  }
  return read(ref, ids, context);
}
