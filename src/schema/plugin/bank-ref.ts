import { ImplementableObjectRef, type SchemaTypes } from '@pothos/core';
import type { z } from 'zod';
import { unwrap } from '../../bank/answer.ts';
import { isOtherId } from '../../bank/ids.ts';
import type { Operation } from '../../contract/operation.ts';
import { metaOf, recordFields } from '../../contract/record.ts';
import { BankqlError } from '../../errors.ts';
import type { Selection } from '../../executor/selection.ts';
import { loaderName } from '../../loaders/loaders.ts';
import type { ReadContext } from '../context.ts';
import { sourceOf } from '../list-work.ts';
import { versionOf } from '../record-version.ts';
import { ownIdIn, type Values } from './fields.ts';
import { encodeGlobalId, forged } from './global-id.ts';
import { type BankTypes, givenId, idsInKey, type KeyId, type KeyPart, keyIds, type LinkedOf } from './key.ts';
import { contentHashOf, entriesByName, isContentHash, itemNotFound, type Listed } from './list-item.ts';
import { type Needs, needsOf } from './look-ahead.ts';

/** Types of records that have an identity. Clients can read them again by their global ids. */

/** Reads the whole list that contains a record. */
interface ListOptions<T extends BankTypes> {
  readonly operation: Operation;
  /** Reads the list; by default, the operation's loader reads it. */
  readonly load?: Load<T['ListIds'], readonly T['Item'][]>;
  /** The key of the list; by default the record's key without its own id. */
  readonly key?: readonly KeyPart[];
  /**
   * The ids of an entry, if the entry may differ from its list in other ids than its own. They are checked.
   */
  readonly idsIn?: (
    list: readonly T['Item'][],
    ids: T['ListIds'],
  ) => (record: T['Item']) => { readonly [Name in keyof T['Path']]?: unknown };
  /** Finds an entry by something other than its own id. Returns null if no entry matches. Errors: NOT_FOUND. */
  readonly find?: (list: readonly T['Item'][], ids: T['Path']) => T['Item'] | null;
}

export interface RefOptions<T extends BankTypes> {
  readonly key: readonly KeyPart[];
  /** The operation that reads one record; without it, a record is found in its list. An answer with another id counts as drift. */
  readonly read?: Operation;
  readonly list?: ListOptions<T>;
  /** What descriptions call the record; by default the name of the type. */
  readonly noun?: string;
  readonly plural?: string;
  /** Set to null if no argument takes the id of such a record. */
  readonly bankIdField?: null;
}

/** Errors: those of the operation. */
type Load<Ids, Answer> = (ids: Ids, context: ReadContext) => Promise<Answer>;

/** Reads by the loader of an operation, which takes the ids in its path. */
function byLoader(operation: Operation): Load<object, never> {
  const name = loaderName(operation);
  return (ids, { session }) => {
    const loader: { load(ids: object): Promise<never> } = Reflect.get(session.loaders, name);
    return loader.load(ids);
  };
}

/** Gives an empty record, for a type without an operation. */
const readNothing = async () => ({});

// biome-ignore lint/suspicious/noExplicitAny: any types.
export type AnyBankRef = BankRef<any, any>;

/** All types of records with an identity, by name. */
export const bankRefs = new Map<string, AnyBankRef>();

/** A type of records that have an identity. Records of the type are known by their ids, and read when they are needed (link.ts). */
export class BankRef<S extends SchemaTypes, T extends BankTypes> extends ImplementableObjectRef<
  S,
  LinkedOf<T>,
  T['Ids'] & { readonly record: T['Item'] }
> {
  declare readonly $types: T;
  readonly shape: z.ZodObject;
  readonly noun: string;
  readonly plural: string;
  /**
   * The operation that reads a record, alone or in its list. The type `Bank` has none, because no record of a
   * bank is read.
   */
  readonly operation: Operation;
  /** Reads the answer that contains a record (`recordIn`). */
  readonly load: Load<T['Path'], object>;
  readonly list: (ListOptions<T> & { readonly load: Load<T['ListIds'], readonly T['Item'][]> }) | undefined;
  /** Whether a record is found in its list. */
  readonly isInList: boolean;
  /** The type that has no parent: the bank. */
  readonly root: AnyBankRef;
  /** The type of the parent record. */
  readonly parent: AnyBankRef | null;
  readonly key: readonly KeyId[];
  readonly listKey: readonly KeyId[];
  /** The names of the ids in the key, in its order. */
  readonly names: readonly string[];
  /** The record's own id, with its name. */
  readonly ownId: KeyId;
  readonly own: string;
  /** Finds out what a selection of the type's fields needs (look-ahead.ts). */
  readonly needs: (info: Selection) => Needs;
  /** Whether no path contains the record's own id. The record is then found in a list, and its id may be any text. */
  readonly isOnlyListed: boolean;
  /**
   * Whether a record may be found by another text than its own id. A record found in this way is the same node
   * as in its list.
   */
  readonly findsOthers: boolean;
  /** The member of a record with the record's own id. */
  readonly #member: string | undefined;

  constructor(builder: PothosSchemaTypes.SchemaBuilder<S>, shape: z.ZodObject, options: RefOptions<T>) {
    const { name = '' } = metaOf(shape);
    super(builder, name);
    const { key, list, read, noun = name.toLowerCase(), plural = `${noun}s` } = options;
    this.shape = shape;
    this.noun = noun;
    this.plural = plural;
    this.list = list && { load: byLoader(list.operation), ...list };
    this.isInList = read === undefined && list !== undefined;
    this.operation = (read ?? list?.operation) as Operation;
    this.load =
      read === undefined ? ((this.list?.load ?? readNothing) as Load<object, object>) : byLoader(read);
    this.parent = key.find((part) => part instanceof BankRef) ?? null;
    this.root = this.parent?.root ?? this;
    const own = ownIdIn(shape)?.name ?? key.findLast((part) => typeof part === 'string') ?? '';
    this.own = own;
    this.isOnlyListed = list !== undefined && list.key === undefined && read === undefined;
    this.findsOthers = this.isOnlyListed && list?.find !== undefined;
    this.key = keyIds(key, this.isOnlyListed ? own : null);
    this.names = this.key.map((id) => id.name);
    this.ownId = this.key.find((id) => id.name === own) as KeyId;
    this.listKey = list?.key ? keyIds(list.key, null) : this.key.filter((id) => id.name !== own);
    this.#member = recordFields(shape).find((field) => field.name === own)?.rest;
    this.needs = needsOf(name);
    bankRefs.set(name, this);
  }

  /** The version of a record. Errors: BANK_BAD_RESPONSE if a part of it is broken. */
  version(record: object): string {
    return versionOf(this.shape, record);
  }

  /**
   * Creates the function that finds the parent node of a record that was reached from `typename`, so that a link back to the
   * parent reads nothing. The parent is the object from which the record was reached, or that object's own parent.
   */
  underFrom(typename: string): ((ids: Values, parent: Values & Listed) => object | undefined) | null {
    const { parent: above } = this;
    const isParent = above?.name === typename;
    if (above === null || above === this.root) return null;
    if (!isParent && bankRefs.get(typename)?.parent !== above) return null;
    return (ids, parent) => {
      for (const name of above.names) if (ids[name] !== parent[name]) return undefined;
      return isParent ? parent : parent.under;
    };
  }

  /** The error for a required id that the bank left out. */
  withoutId(name: string): BankqlError {
    if (name !== this.own && this.parent !== null) return this.parent.withoutId(name);
    return new BankqlError(
      'BANK_BAD_RESPONSE',
      `The bank lists this ${this.noun} among others and gives it no id: what needs its id cannot be read. Select only what the list shows of it, or have the bank give it an id.`,
      { operation: this.operation.id },
    );
  }

  /**
   * The record that the ids identify, in the answer of its read. Some banks accept other ids in paths (aliases, numbers in another
   * format): a record with another id is the requested one, and counts as drift.
   * Errors: NOT_FOUND; the error in place of the record.
   */
  recordIn(answer: object, ids: Values, { session }: ReadContext): Values {
    const { operation, own } = this;
    const record = (this.isInList ? this.#entryIn(answer as readonly T['Item'][], ids) : answer) as Values;
    if (!this.isOnlyListed && isOtherId(record.id, ids[own]))
      session.noteDrift({ operation: operation.id, field: 'id' }, answer);
    return record;
  }

  #entryIn(list: readonly T['Item'][], ids: Values): T['Item'] {
    const entry = this.list?.find?.(list, ids) ?? this.entriesWith(list, ids)[0];
    if (entry === undefined) throw itemNotFound(this.operation, String(ids[this.own]));
    return unwrap(entry);
  }

  globalIdOf(linked: LinkedOf<T>): string {
    return encodeGlobalId(this.name, JSON.stringify(this.#keyOf(linked)));
  }

  /**
   * The key: the record's ids, or, if these do not identify an entry of a list, the list's key and the hash
   * of the entry's content.
   */
  #keyOf(linked: Values & Listed): readonly unknown[] {
    const { from, contentHash, record } = linked;
    const id = linked[this.own];
    const isNamed =
      id !== null && (from?.list === undefined || this.entriesWith(from.list, linked, from.ids).length <= 1);
    if (this.list === undefined || (contentHash === undefined && isNamed))
      return this.names.map((name) => linked[name]);
    if (contentHash === undefined && record === undefined)
      throw new Error('An entry without an id of its own has to be read before it is identified');
    const list = from?.ids ?? linked;
    const hash = contentHash ?? contentHashOf(this.shape, record as object);
    return [...this.listKey.map(({ name }) => list[name]), null, hash];
  }

  /** The ids in a global id's key. Errors: BAD_USER_INPUT. */
  idsOf(key: readonly unknown[]): Values & Listed {
    const contentHash = key.at(-1);
    const isByContent = this.list !== undefined && key.at(-2) === null && isContentHash(contentHash);
    const named = idsInKey(isByContent ? this.listKey : this.key, key);
    const ids = isByContent ? { ...named, [this.own]: null, contentHash, from: { ids: named } } : named;
    // Another form of the same key is refused, because it would be a second id of the same node.
    if (JSON.stringify(this.#keyOf(ids)) !== JSON.stringify(key)) throw forged();
    return ids;
  }

  /** The own id of an entry; null if the entry has no valid id. */
  idIn(entry: unknown): string | null {
    const id = this.#member === undefined ? null : (entry as Values)[this.#member];
    return typeof id === 'string' && id !== '' ? id : null;
  }

  /** An entry's name in cursors, in well-formed Unicode: its id, or the hash of its content if the type has no ids. */
  nameOf(entry: object): string | null {
    if (this.#member === undefined && this.list !== undefined && !(entry instanceof Error))
      return contentHashOf(this.shape, entry);
    const name = this.list === undefined ? String((entry as Values)[this.own]) : this.idIn(entry);
    return name?.toWellFormed() ?? null;
  }

  /**
   * Those entries of a list that have these ids; several if the bank repeats an id. `listIds`: the list's own ids, if entries
   * may have others.
   */
  entriesWith(list: readonly T['Item'][], ids: object, listIds = ids): readonly T['Item'][] {
    const { idsIn } = this.list ?? {};
    const own = (ids as Values)[this.own] as string | null;
    if (idsIn === undefined) return entriesByName(list, () => (entry) => this.idIn(entry)).get(own) ?? [];
    const nameOf = (named: Values) => JSON.stringify(this.names.map((name) => named[name]));
    const byIds = entriesByName(list, () => {
      const idsOf = idsIn(list, listIds);
      return (entry) => nameOf({ ...listIds, ...idsOf(entry) });
    });
    return byIds.get(nameOf(ids as Values)) ?? [];
  }

  /**
   * Creates the nodes of a list's entries. An entry is a record, or only its own id if there is no list to read. It may have no
   * id, or the id of another entry. If an entry broke the contract, the error is its node. `under`: the node whose field lists
   * them.
   */
  nodesIn(list: readonly T['Item'][], ids: T['ListIds'], under?: object): (entry: T['Item']) => LinkedOf<T> {
    const { own, ownId } = this;
    const from = { ids, list: sourceOf(list) };
    const idsOf = this.list?.idsIn?.(from.list, ids);
    return (entry) => {
      if (entry instanceof Error) return entry as never;
      try {
        if (this.list === undefined) return { ...ids, [own]: givenId(ownId, (entry as Values)[own]), under };
        const others = idsOf && this.#checked(idsOf(entry));
        return { ...ids, [own]: this.idIn(entry), ...others, from, under, record: entry };
      } catch (error) {
        return error as never;
      }
    };
  }

  /** Checks the ids of an entry. Errors: BANK_BAD_RESPONSE for an id that no path can contain, unless it is the entry's own. */
  #checked(given: Values): Values {
    const ids: Record<string, unknown> = {};
    for (const id of this.key)
      if (id.name in given)
        ids[id.name] = id.name === this.own ? unwrap(given[id.name]) : givenId(id, given[id.name]);
    return ids;
  }
}
