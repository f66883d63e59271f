import { ImplementableObjectRef, type SchemaTypes } from '@pothos/core';
import type { z } from 'zod';
import { unwrap } from '../../bank/answer.ts';
import { isOtherId, validateId } from '../../bank/ids.ts';
import type { Operation } from '../../contract/operation.ts';
import { metaOf } from '../../contract/record.ts';
import { BankqlError } from '../../errors.ts';
import { keepEarlyResults, keepLateObject } from '../../executor/known-resolvers.ts';
import type { Selection } from '../../executor/selection.ts';
import { getOrMake } from '../../get-or-make.ts';
import type { Context, ReadContext } from '../context.ts';
import { versionOf } from '../record-version.ts';
import { ownIdIn, type Values } from './fields.ts';
import { encodeGlobalId, forged, globalIdTypes, textOf } from './global-id.ts';
import { needsOf } from './link.ts';
import {
  contentHashOf,
  entriesByName,
  findByContent,
  isContentHash,
  itemId,
  itemNotFound,
  type Listed,
  shownId,
  sourceOf,
} from './list-item.ts';

/** Nodes: types of records that have an identity. Clients can read them again by their global ids. */

/** Ids, with the record that they identify if it has been read. */
export type Linked<Ids, Item> = Ids & { readonly record?: Item | undefined };

/** The TypeScript types of a kind of records. */
export interface BankTypes {
  /** The ids that a link needs. */
  Ids: object;
  /** The ids in the paths of the record's requests. */
  Path: object;
  /** The ids of the list that contains the record. */
  ListIds: object;
  Item: unknown;
}

export type LinkedOf<T extends BankTypes> = Linked<T['Ids'], T['Item']>;

/** A part of a key that is not an id of the bank. */
interface KeyValue<Name extends string = string, Value = unknown> {
  readonly name: Name;
  /** The value in the key of a global id, which anybody may have written. Errors: BAD_USER_INPUT. */
  readonly check: (value: unknown) => Value;
  /** Whether the part is an id of the bank that is a segment of paths. */
  readonly isSegment?: true;
}

/** A part of a key: the record to which it belongs, or the name of an id, or a value of another kind. */
export type KeyPart = string | AnyBankRef | KeyValue;

type PathOfPart<Part> = Part extends { readonly $types: infer T extends BankTypes }
  ? T['Path']
  : Part extends KeyValue<infer Name, infer Value>
    ? { readonly [N in Name]: Value }
    : Part extends string
      ? { readonly [N in Part]: string }
      : never;

/** The ids in a key. */
type PathIn<Key extends readonly unknown[]> = Key extends readonly [infer Part, ...infer Others]
  ? PathOfPart<Part> & PathIn<Others>
  : unknown;

export interface SingleTypes<Key extends readonly unknown[], Item> {
  Ids: PathIn<Key> & object;
  Path: PathIn<Key> & object;
  ListIds: never;
  Item: Item;
}

export type ListedTypes<Key extends readonly unknown[], Item> = Key extends readonly [
  ...infer Parents,
  infer Own extends string,
]
  ? {
      /** The record's own id is null if the bank gave none, or if the content identifies the record. */
      Ids: PathIn<Parents> & { readonly [N in Own]: string | null } & Listed<PathIn<Parents>, Item>;
      Path: PathIn<Key> & object;
      ListIds: PathIn<Parents> & object;
      Item: Item;
    }
  : never;

/** Reads a single record. */
interface ReadOptions<T extends BankTypes> {
  /** The operation. If it answers with another id than the requested one, that counts as drift. */
  readonly operation: Operation;
  /** Errors: those of the operation. */
  readonly load: (ids: T['Path'], context: ReadContext) => Promise<T['Item']>;
}

/** Reads the whole list that contains a record. */
interface ListOptions<T extends BankTypes> {
  readonly operation: Operation;
  readonly load: (ids: T['ListIds'], context: ReadContext) => Promise<readonly T['Item'][]>;
  /** The key of the list; by default the key of the parent record. */
  readonly key?: readonly KeyPart[];
  /** The id of an entry in the list; by default that in its member `id`. */
  readonly nameOf?: (record: T['Item']) => string | null;
  /** The ids of the entries, if more than their own differ from those of the list. Errors: BANK_BAD_RESPONSE. */
  readonly idsIn?: (list: readonly T['Item'][], ids: T['ListIds']) => (record: T['Item']) => T['Ids'];
  /** An entry that the ids find otherwise than by its own; null if they find none so. Errors: NOT_FOUND. */
  readonly find?: (list: readonly T['Item'][], ids: T['Path']) => T['Item'] | null;
}

export interface RefOptions<T extends BankTypes> {
  readonly key: readonly KeyPart[];
  /** Without it, a record is found in its list. */
  readonly read?: ReadOptions<T>;
  readonly list?: ListOptions<T>;
  /** The noun for the record in descriptions; by default the name of the type. */
  readonly noun?: string;
  readonly plural?: string;
  /** Set to null if no argument takes the id of such a record. */
  readonly bankIdField?: null;
  /** The version of a record as it was read; by default that of its shape. */
  readonly version?: (record: T['Item']) => string;
  /** The record's canonical ids, if other ids find it too; the same object if they are the ids that found it. */
  readonly idsOfRecord?: (ids: T['Ids'], record: T['Item']) => T['Ids'];
}

interface LoadOptions<Other> {
  /** Returns the result if the record cannot be read. */
  readonly onError?: (error: unknown) => Other;
  /** The position of the object, if the selection is that of a list. */
  readonly index?: number;
}

// biome-ignore lint/suspicious/noExplicitAny: any types.
export type AnyBankRef = BankRef<any, any>;

/** All types of records with an identity, by name. */
export const bankRefs = new Map<string, AnyBankRef>();

/** A type of records that have an identity. Records of the type are known by their ids, and read when they are needed. */
export class BankRef<S extends SchemaTypes, T extends BankTypes> extends ImplementableObjectRef<
  S,
  LinkedOf<T>,
  T['Ids'] & { readonly record: T['Item'] }
> {
  declare readonly $types: T;
  readonly shape: z.ZodObject;
  readonly noun: string;
  readonly plural: string;
  /** The names of the ids in the key, in its order. */
  readonly names: readonly string[];
  /** The type of the parent record. */
  readonly parent: AnyBankRef | null;
  /** The field that has the bank's id of a record; null if no argument takes its id. */
  readonly bankIdField: string | null;
  readonly options: RefOptions<T>;
  readonly #key: readonly KeyValue[];
  readonly #listKey: readonly KeyValue[];
  /** The name of the record's own id. */
  readonly #own: string;
  readonly #needs: ReturnType<typeof needsOf>;
  readonly #versions = new WeakMap<object, string>();

  constructor(builder: PothosSchemaTypes.SchemaBuilder<S>, shape: z.ZodObject, options: RefOptions<T>) {
    const { name = '' } = metaOf(shape);
    super(builder, name);
    const { key, list, read, noun = name.toLowerCase(), plural = `${noun}s` } = options;
    this.shape = shape;
    this.noun = noun;
    this.plural = plural;
    this.options = options;
    this.parent = key.find((part) => part instanceof BankRef) ?? null;
    const parts = key.flatMap(valuesOf);
    this.names = parts.map((part) => part.name);
    const own = ownIdIn(shape)?.name ?? this.names.at(-1) ?? '';
    this.#own = own;
    this.#listKey = list?.key?.flatMap(valuesOf) ?? parts.filter((part) => part.name !== own);
    // The id of an entry that no path contains may be any text.
    const isText = list?.key === undefined && list !== undefined && read === undefined;
    this.#key = isText ? [...this.#listKey, { name: own, check: textOf }] : parts;
    this.bankIdField = options.bankIdField === null ? null : own;
    this.#needs = needsOf(name);
    bankRefs.set(name, this);
    globalIdTypes.set(name, this);
  }

  /** The type that has no parent: the bank. */
  get root(): AnyBankRef {
    return this.parent?.root ?? this;
  }

  /** The operation that reads a record. Errors: an Error for a type that nothing is read of. */
  get readOperation(): Operation {
    const { operation } = this.options.read ?? this.options.list ?? {};
    if (operation === undefined) throw new Error(`No operation reads a ${this.noun}`);
    return operation;
  }

  /** The version of a record, which is computed once for each that was read. Errors: BANK_BAD_RESPONSE if a part of it is broken. */
  version(record: T['Item']): string {
    const { version } = this.options;
    return getOrMake(
      this.#versions,
      record as object,
      (read) => version?.(record) ?? versionOf(this.shape, read),
    );
  }

  /** Whether records of another type belong to records of this type. */
  isParentOf(typename: string): boolean {
    return bankRefs.get(typename)?.parent === this;
  }

  /** Whether records of this type belong to records of another type, which are read. (Nothing is read of a bank.) */
  isChildOf(typename: string): boolean {
    return this.parent?.name === typename && this.parent !== this.root;
  }

  /** Errors: an Error if neither the path of a type nor the arguments of its field have all ids of this type. */
  checkIdsFrom(typename: string, args: object = {}): void {
    const given = [...Object.keys(args), ...(bankRefs.get(typename)?.names ?? [])];
    const missing = this.names.find((name) => !given.includes(name));
    if (missing !== undefined)
      throw new Error(`A link from ${typename} to ${this.name} needs \`ids\`: nothing gives it ${missing}`);
  }

  /** The ids in paths, from those of a record or of what belongs to it. Errors: BANK_BAD_RESPONSE if the bank gave it no id. */
  pathOf(ids: { readonly [Name in keyof T['Path']]?: unknown }): T['Path'] {
    const path: Record<string, unknown> = {};
    for (const name of this.names) {
      path[name] = (ids as Values)[name];
      if (path[name] === null) throw this.#withoutId(name);
    }
    return path as T['Path'];
  }

  #withoutId(name: string): BankqlError {
    if (name !== this.#own && this.parent !== null) return this.parent.#withoutId(name);
    return new BankqlError(
      'BANK_BAD_RESPONSE',
      `The bank listed this ${this.noun} without an id among others: nothing tells which one it is.`,
      { operation: this.readOperation.id },
    );
  }

  /**
   * Makes the function that checks the arguments with the names of ids in paths; null if there are none. (`bankIdOr` checks the
   * bank's code, which may be empty.) Errors of the function: BAD_USER_INPUT.
   */
  argumentCheck(args: object = {}): ((given: Values) => void) | null {
    const names = this.#key.flatMap(({ name, isSegment }) =>
      isSegment && name in args && !this.root.names.includes(name) ? name : [],
    );
    if (names.length === 0) return null;
    return (given) => {
      for (const name of names) {
        const id = given[name];
        if (typeof id === 'string') validateId(name, id, name);
      }
    };
  }

  globalIdOf(linked: LinkedOf<T>): string {
    return encodeGlobalId(this.name, JSON.stringify(this.#keyOf(linked)));
  }

  /** By the key, or, if that does not identify an entry of a list, by the list's key and the entry's content. */
  #keyOf(linked: LinkedOf<T>): readonly unknown[] {
    const { from, contentHash, record } = linked as Linked<Listed, object>;
    const ids = linked as Values;
    if (this.options.list === undefined || (contentHash === undefined && this.#isNamed(ids, from)))
      return this.names.map((name) => ids[name]);
    if (contentHash === undefined && record === undefined)
      throw new Error('An entry without an id of its own has to be read before it is identified');
    const list = (from?.ids ?? ids) as Values;
    const hash = contentHash ?? contentHashOf(this.shape, record as object);
    return [...this.#listKey.map(({ name }) => list[name]), null, hash];
  }

  /** Whether an id of its own identifies an entry in the bank's list. */
  #isNamed(ids: Values, from: Listed['from']): boolean {
    const name = this.#nameOf(ids);
    if (name === null || from?.list === undefined) return name !== null;
    return (this.#byName(from.list, from.ids as T['ListIds']).get(name)?.length ?? 0) <= 1;
  }

  /** What tells an entry from the others of its list: its id, with the others if they differ. An id contains no line break. */
  #nameOf(ids: Values): string | null {
    const id = ids[this.#own] as string | null;
    return id === null || this.options.list?.idsIn === undefined
      ? id
      : this.names.map((name) => ids[name]).join('\n');
  }

  #byName(list: readonly T['Item'][], ids: T['ListIds']) {
    const { idsIn, nameOf = itemId as NameOf } = this.options.list ?? {};
    if (idsIn === undefined) return entriesByName(list, nameOf);
    const idsOf = idsIn(list, ids);
    return entriesByName(list, (record) => {
      try {
        return this.#nameOf(idsOf(record) as Values);
      } catch {
        return null;
      }
    });
  }

  /** The entries of a list with the own id in `ids`; several if the bank repeats it. */
  entriesWith(list: readonly T['Item'][], ids: T['Path']): readonly T['Item'][] {
    return this.#byName(list, ids as T['ListIds']).get(this.#nameOf(ids as Values)) ?? [];
  }

  /** The ids in a global id's key. Errors: BAD_USER_INPUT. */
  idsOf(key: readonly unknown[]): T['Ids'] {
    const contentHash = key.at(-1);
    const isByContent = this.options.list !== undefined && key.at(-2) === null && isContentHash(contentHash);
    const named = idsIn(isByContent ? this.#listKey : this.#key, key);
    const ids = (
      isByContent ? { ...named, [this.#own]: null, contentHash, from: { ids: named } } : named
    ) as T['Ids'];
    // Another form of the same key would be a second id of the same node.
    if (JSON.stringify(this.#keyOf(ids)) !== JSON.stringify(key)) throw forged();
    return ids;
  }

  #read(ids: T['Ids'], context: ReadContext): Promise<T['Item']> {
    const { read, list } = this.options;
    const path = ids as T['Path'];
    if (read !== undefined) return read.load(path, context);
    if (list === undefined) return Promise.resolve({});
    return list.load(path, context).then((entries) => {
      const id = (ids as Values)[this.#own];
      const entry = list.find?.(entries, path) ?? this.entriesWith(entries, path)[0];
      if (entry === undefined) throw itemNotFound(list.operation, String(id));
      // The path of the list contains the id.
      if (list.key !== undefined) noteOtherId(context, list.operation, id, unwrap(entry) as Values, entries);
      return unwrap(entry);
    });
  }

  /**
   * Reads the one record with the ids, to change it. Errors: BANK_BAD_RESPONSE if the list has several with this id: the first
   * of them may be the wrong one.
   */
  async readForUpdate(ids: T['Path'], context: ReadContext): Promise<T['Item']> {
    const { read, list } = this.options;
    if (read === undefined && list !== undefined) {
      const { operation } = list;
      const entries = this.entriesWith(await list.load(ids, context), ids);
      if (entries.length > 1)
        throw new BankqlError(
          'BANK_BAD_RESPONSE',
          `The bank's ${operation.id} lists several ${this.plural} with the id ${shownId(String((ids as Values)[this.#own]))}, so that it is not known which one to change. Nothing was written.`,
          { operation: operation.id },
        );
    }
    return this.#read(ids, context);
  }

  /** The linked object, with its record if a selected field needs it. Errors: those of the read, or of `onError`. */
  load<Other = never>(
    ids: T['Ids'] & Listed,
    context: Context,
    info: Selection,
    { onError, index }: LoadOptions<Other> = {},
  ): LinkedOf<T> | Promise<LinkedOf<T> | Other> {
    // If an entry is identified by its content, its ids are only in the record.
    if (ids.contentHash !== undefined)
      return this.#readByContent(ids, ids.contentHash, context).catch(onError);
    const { record, isLate, resolveEarly } = this.#needs(info);
    if (!record) return ids;
    const { read, idsOfRecord } = this.options;
    const reading = this.#read(ids, context);
    const early = resolveEarly(ids, context, info, index);
    const toLinked = (record: T['Item']): LinkedOf<T> => {
      if (read !== undefined)
        noteOtherId(context, read.operation, (ids as Values)[this.#own], record as Values);
      const own = idsOfRecord?.(ids, record) ?? ids;
      // With other ids, the early results do not apply, and the fields are resolved again.
      return keepEarlyResults({ ...own, record }, own === ids ? early : null);
    };
    // If the record determines the ids, every field must see the same ids.
    return isLate && idsOfRecord === undefined
      ? keepLateObject({ ...ids }, reading.then(toLinked))
      : reading.then(toLinked, onError);
  }

  async #readByContent(
    { from, ...ids }: T['Ids'] & Listed,
    contentHash: string,
    context: ReadContext,
  ): Promise<LinkedOf<T>> {
    const { list } = this.options;
    if (list === undefined) throw forged();
    const listIds = (from?.ids ?? ids) as T['ListIds'];
    const entries = await list.load(listIds, context);
    const { shape } = this;
    const record = await findByContent(entries as object[], contentHash, shape, list.operation, context);
    return { ...this.nodesIn(entries, listIds)(record as Exclude<T['Item'], Error>), contentHash };
  }

  /** Creates the nodes of a list. An entry may have no id, or that of another entry. `under`: the node whose field lists them. */
  nodesIn(
    list: readonly T['Item'][],
    ids: T['ListIds'],
    under?: object,
  ): (record: Exclude<T['Item'], Error>) => LinkedOf<T> {
    const { idsIn, nameOf = itemId as NameOf } = this.options.list ?? {};
    const from = { ids, list: sourceOf(list) };
    const own = this.#own;
    if (idsIn === undefined) return (record) => ({ ...ids, [own]: nameOf(record), from, under, record });
    const idsOf = idsIn(from.list, ids);
    return (record) => ({ ...idsOf(record), from, under, record });
  }
}

type NameOf = (record: unknown) => string | null;

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

/** The ids in a part of a key. */
const valuesOf = (part: KeyPart): readonly KeyValue[] => {
  if (part instanceof BankRef) return part.names.map(segment);
  return typeof part === 'string' ? [segment(part)] : [part];
};

/** An id that is a segment of paths. */
const segment = (name: string): KeyValue => ({
  name,
  isSegment: true,
  check: (value) => validateId(name, textOf(value)),
});

const idsIn = (parts: readonly KeyValue[], key: readonly unknown[]): Values =>
  Object.fromEntries(parts.map(({ name, check }, at) => [name, check(key[at])]));
