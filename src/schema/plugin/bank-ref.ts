import { ImplementableObjectRef, type SchemaTypes } from '@pothos/core';
import type { z } from 'zod';
import { unwrap } from '../../bank/answer.ts';
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
import { contentHashOf, entriesByName, isContentHash, type Listed } from './list-item.ts';
import { type Needs, needsOf } from './look-ahead.ts';

/** Types of records that have an identity. Clients can read them again by their global ids. */

/** Reads the whole list that contains a record. */
interface ListOptions<T extends BankTypes> {
  readonly operation: Operation;
  /** By default the operation's loader. */
  readonly load?: Load<T['ListIds'], readonly T['Item'][]>;
  /** The key of the list; by default the record's key without its own id. */
  readonly key?: readonly KeyPart[];
  /** The ids of an entry, if other ids than its own may differ from those of the list. They are checked. */
  readonly idsIn?: (
    list: readonly T['Item'][],
    ids: T['ListIds'],
  ) => (record: T['Item']) => { readonly [Name in keyof T['Path']]?: unknown };
  /** Finds an entry in another way than by its own id; null if there is none. Errors: NOT_FOUND. */
  readonly find?: (list: readonly T['Item'][], ids: T['Path']) => T['Item'] | null;
}

export interface RefOptions<T extends BankTypes> {
  readonly key: readonly KeyPart[];
  /** The operation that reads one record; without it, a record is found in its list. An answer with another id counts as drift. */
  readonly read?: Operation;
  readonly list?: ListOptions<T>;
  /** The noun for the record in descriptions; by default the name of the type. */
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
  readonly read: { readonly operation: Operation; readonly load: Load<T['Path'], T['Item']> } | undefined;
  readonly list: (ListOptions<T> & { readonly load: Load<T['ListIds'], readonly T['Item'][]> }) | undefined;
  /** The type of the parent record. */
  readonly parent: AnyBankRef | null;
  readonly key: readonly KeyId[];
  readonly listKey: readonly KeyId[];
  /** The names of the ids in the key, in its order. */
  readonly names: readonly string[];
  /** The record's own id, with its name. */
  readonly ownId: KeyId;
  readonly own: string;
  /** What a selection of the type's fields needs (look-ahead.ts). */
  readonly needs: (info: Selection) => Needs;
  /** Whether no path contains the record's own id. The record is then found in a list, and its id may be any text. */
  readonly isOnlyListed: boolean;
  /** The member of a record that contains its own id. */
  readonly #member: string | undefined;

  constructor(builder: PothosSchemaTypes.SchemaBuilder<S>, shape: z.ZodObject, options: RefOptions<T>) {
    const { name = '' } = metaOf(shape);
    super(builder, name);
    const { key, list, read, noun = name.toLowerCase(), plural = `${noun}s` } = options;
    this.shape = shape;
    this.noun = noun;
    this.plural = plural;
    this.read = read && { operation: read, load: byLoader(read) };
    this.list = list && { load: byLoader(list.operation), ...list };
    this.parent = key.find((part) => part instanceof BankRef) ?? null;
    const own = ownIdIn(shape)?.name ?? key.findLast((part) => typeof part === 'string') ?? '';
    this.own = own;
    this.isOnlyListed = list !== undefined && list.key === undefined && read === undefined;
    this.key = keyIds(key, this.isOnlyListed ? own : null);
    this.names = this.key.map((id) => id.name);
    this.ownId = this.key.find((id) => id.name === own) as KeyId;
    this.listKey = list?.key ? keyIds(list.key, null) : this.key.filter((id) => id.name !== own);
    this.#member = recordFields(shape).find((field) => field.name === own)?.rest;
    this.needs = needsOf(name);
    bankRefs.set(name, this);
  }

  /** The type that has no parent: the bank. */
  get root(): AnyBankRef {
    return this.parent?.root ?? this;
  }

  /** The operation that reads a record. Errors: an Error for a type that no operation reads. */
  get readOperation(): Operation {
    const { operation } = this.read ?? this.list ?? {};
    if (operation === undefined) throw new Error(`No operation reads a ${this.noun}`);
    return operation;
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

  /** The error for a required id that the bank did not give. */
  withoutId(name: string): BankqlError {
    if (name !== this.own && this.parent !== null) return this.parent.withoutId(name);
    return new BankqlError(
      'BANK_BAD_RESPONSE',
      `The bank listed this ${this.noun} without an id among others: nothing tells which one it is.`,
      { operation: this.readOperation.id },
    );
  }

  globalIdOf(linked: LinkedOf<T>): string {
    return encodeGlobalId(this.name, JSON.stringify(this.#keyOf(linked)));
  }

  /** The key: the record's ids or, if these do not identify an entry of a list, the list's key and the hash of the entry's content. */
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
    // Another form of the same key would be a second id of the same node.
    if (JSON.stringify(this.#keyOf(ids)) !== JSON.stringify(key)) throw forged();
    return ids;
  }

  /** The own id of an entry; null if it has no valid one. */
  idIn(entry: unknown): string | null {
    const id = this.#member === undefined ? null : (entry as Values)[this.#member];
    return typeof id === 'string' && id !== '' ? id : null;
  }

  /** An entry's name in cursors: its id, or the hash of its content if the type has no ids. */
  nameOf(entry: object): string | null {
    if (this.list === undefined) return (entry as Values)[this.own] as string;
    if (this.#member !== undefined || entry instanceof Error) return this.idIn(entry);
    return contentHashOf(this.shape, entry);
  }

  /** The entries of a list that have these ids; several if the bank repeats an id. `listIds`: the list's ids, if an entry has others. */
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

  /** Creates the function that makes the nodes of a list. Ids may be absent or repeated. `under`: the node whose field lists them. */
  nodesIn(
    list: readonly T['Item'][],
    ids: T['ListIds'],
    under?: object,
  ): (record: Exclude<T['Item'], Error>) => LinkedOf<T> {
    const { own } = this;
    const from = { ids, list: sourceOf(list) };
    const { idsIn } = this.list ?? {};
    if (idsIn === undefined) return (record) => ({ ...ids, [own]: this.idIn(record), from, under, record });
    const idsOf = idsIn(from.list, ids);
    return (record) => ({ ...ids, ...this.#checked(idsOf(record)), from, under, record });
  }

  /** Checks the ids of an entry. Only its own id may be one that no path can contain. Errors: BANK_BAD_RESPONSE for another such id. */
  #checked(given: Values): Values {
    const ids: Record<string, unknown> = {};
    for (const id of this.key)
      if (id.name in given)
        ids[id.name] = id.name === this.own ? unwrap(given[id.name]) : givenId(id, given[id.name]);
    return ids;
  }
}
