import { ImplementableObjectRef, type SchemaTypes } from '@pothos/core';
import type { z } from 'zod';
import { isOtherId, validateId } from '../../bank/ids.ts';
import type { Operation } from '../../contract/operation.ts';
import { type Field, metaOf } from '../../contract/record.ts';
import { type EarlyResults, keepEarlyResults, keepLateObject } from '../../executor/known-resolvers.ts';
import type { Selection } from '../../executor/selection.ts';
import { getOrMake } from '../../get-or-make.ts';
import type { Context, ReadContext } from '../context.ts';
import { versionOf } from '../record-version.ts';
import { ownIdIn } from './fields.ts';
import { encodeGlobalId, forged, globalIdTypes, textOf } from './global-id.ts';
import { needsOf } from './link.ts';
import {
  checkNotRepeated,
  contentHashOf,
  findByContent,
  findListItem,
  isContentHash,
  isOwnName,
  itemId,
} from './list-item.ts';

/** Nodes: types of records that have an identity. Clients can read them again by their global ids. */

/** Ids, with the record that they identify if it has been read. */
export type Linked<Ids, Item> = Ids & { readonly record?: Item | undefined };

/** The types of a kind of records. */
export interface BankTypes {
  /** What a link needs to know: the ids. */
  Ids: object;
  /** The ids in the paths of its requests. */
  Path: object;
  /** The ids of the list that contains it. */
  ListIds: object;
  Item: unknown;
}

export type LinkedOf<T extends BankTypes> = Linked<T['Ids'], T['Item']>;

/** A part of a key that is not an id of the bank. */
interface KeyValue<Name extends string = string, Value = unknown> {
  readonly name: Name;
  /** The value in the key of a global id, which anybody may have written. Errors: BAD_USER_INPUT. */
  readonly check: (value: unknown) => Value;
}

/** A part of a key: the record to which it belongs, or the name of an id, or a value of another kind. */
export type KeyPart = string | AnyBankRef | KeyValue;

type Named<Name extends string, Id = string> = { readonly [N in Name]: Id };

type PathOfPart<Part> = Part extends { readonly $types: infer T extends BankTypes }
  ? T['Path']
  : Part extends KeyValue<infer Name, infer Value>
    ? { readonly [N in Name]: Value }
    : Part extends string
      ? Named<Part>
      : never;

/** The ids in a key. */
type PathIn<Key extends readonly unknown[]> = Key extends readonly [infer Part, ...infer Others]
  ? PathOfPart<Part> & PathIn<Others>
  : unknown;

/** The ids of an entry: those of the record that the list belongs to, and its own. */
export type ListedIds<Parent, Own extends string, Item> = Parent &
  // Null if the bank gave none, or if the content identifies the entry.
  Named<Own, string | null> & {
    /** The list that contains the entry, if it came from one. */
    readonly list?: readonly Item[] | undefined;
    /** The hash of the content, if a global id named it. */
    readonly contentHash?: string | undefined;
  };

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
      Ids: ListedIds<PathIn<Parents>, Own, Item>;
      Path: PathIn<Key> & object;
      ListIds: PathIn<Parents> & object;
      Item: Item;
    }
  : never;

/** Reads a single record. */
interface ReadOptions<T extends BankTypes> {
  /** Its answers with another id than the one that was asked for count as drift. */
  readonly operation?: Operation;
  /** `needed`: the parts of the record that are needed; null if all may be. Errors: those of the operation. */
  readonly load: (
    ids: T['Path'],
    context: ReadContext,
    needed?: readonly Field[] | null,
  ) => Promise<T['Item']>;
  /** Reads the record to change it; by default as `load`. Errors: BANK_BAD_RESPONSE if it may be the wrong one. */
  readonly forUpdate?: (ids: T['Path'], context: ReadContext) => Promise<T['Item']>;
}

/** Reads the whole list that contains a record. */
interface ListOptions<T extends BankTypes> {
  readonly operation: Operation;
  readonly load: (ids: T['ListIds'], context: ReadContext) => Promise<readonly T['Item'][]>;
  /** The id of an entry in the list; by default that in its member `id`. */
  readonly nameOf?: (record: Exclude<T['Item'], Error>) => string | null;
  /** The entry that an id finds, if the record cannot be read alone. Errors: NOT_FOUND. */
  readonly find?: (list: readonly T['Item'][], id: string) => T['Item'];
  /** Creates the nodes of a list, to compute their common parts once. */
  readonly nodesIn?: (
    list: readonly T['Item'][],
    ids: T['ListIds'],
  ) => (record: Exclude<T['Item'], Error>) => LinkedOf<T>;
}

/** How a record is identified in its global id. */
interface Identity<T extends BankTypes> {
  /** The key of a linked object, unique within its type. */
  readonly toKey: (linked: LinkedOf<T>) => readonly unknown[];
  /** The ids in a key, which anybody may have written. Errors: BAD_USER_INPUT. */
  readonly toIds: (key: readonly unknown[]) => T['Ids'];
  /** Reads an entry of a list that its content identifies. Errors: NOT_FOUND if no entry has this content. */
  readonly readByContent?: (ids: T['Ids'], contentHash: string, context: ReadContext) => Promise<LinkedOf<T>>;
}

interface CommonOptions<T extends BankTypes> {
  /** What it is called in descriptions; by default the name of the type. */
  readonly noun?: string;
  readonly plural?: string;
  /** If no argument takes the id of such a record. */
  readonly bankIdField?: null;
  /** The version of a record as it was read; by default that of its shape. */
  readonly version?: (record: T['Item']) => string;
  /** The record's canonical ids, if other ids find it too; the same object if they are the ids that found it. */
  readonly idsOfRecord?: (ids: T['Ids'], record: T['Item']) => T['Ids'];
}

export interface RefOptions<T extends BankTypes> extends CommonOptions<T> {
  readonly key: readonly KeyPart[];
  readonly read?: ReadOptions<T>;
  readonly list?: ListOptions<T>;
  readonly identity?: Identity<T>;
  /** The ids in paths of what belongs to it. Errors: BANK_BAD_RESPONSE if the bank gave it no id. */
  readonly pathOf?: (ids: T['Ids']) => T['Path'];
}

export interface SingleOptions<Key extends readonly KeyPart[], Item>
  extends CommonOptions<SingleTypes<Key, Item>> {
  readonly key: Key;
  readonly read?: ReadOptions<SingleTypes<Key, Item>>;
  readonly list?: never;
}

export interface ListedOptions<Key extends readonly KeyPart[], Item>
  extends CommonOptions<ListedTypes<Key, Item>> {
  readonly key: Key;
  readonly read?: ReadOptions<ListedTypes<Key, Item>>;
  readonly list: ListOptions<ListedTypes<Key, Item>>;
}

interface LoadOptions<Other> {
  /** Gives the result if the record cannot be read. */
  readonly onError?: (error: unknown) => Other;
  /** The position of the object, if the selection is that of a list. */
  readonly index?: number;
}

type Values = Readonly<Record<string, unknown>>;

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
  /** The type of the records to which it belongs. */
  readonly parent: AnyBankRef | null;
  /** The name of its own id. */
  readonly own: string;
  /** The field that has the bank's id of a record; null if no argument takes its id. */
  readonly bankIdField: string | null;
  readonly list: ListOptions<T> | undefined;
  /** The version of a record, which is computed once for each that was read. */
  readonly version: (record: T['Item']) => string;
  readonly pathOf: (ids: T['Ids']) => T['Path'];
  readonly #key: readonly KeyValue[];
  readonly #options: RefOptions<T>;
  readonly #identity: Identity<T>;
  readonly #needs: ReturnType<typeof needsOf>;

  constructor(builder: PothosSchemaTypes.SchemaBuilder<S>, shape: z.ZodObject, options: RefOptions<T>) {
    const { name = '' } = metaOf(shape);
    super(builder, name);
    const { key, noun = name.toLowerCase(), plural = `${noun}s`, version } = options;
    this.shape = shape;
    this.noun = noun;
    this.plural = plural;
    this.#key = key.flatMap(valuesOf);
    this.names = this.#key.map((part) => part.name);
    this.parent = key.find((part) => part instanceof BankRef) ?? null;
    this.own = ownIdIn(shape)?.name ?? this.names.at(-1) ?? '';
    this.bankIdField = options.bankIdField === null ? null : this.own;
    this.list = options.list;
    const computed = new WeakMap<object, string>();
    this.version = (record) =>
      getOrMake(computed, record as object, () => version?.(record) ?? versionOf(shape, record as object));
    this.#options = options;
    this.pathOf = options.pathOf ?? ((ids) => pick(ids as Values, this.names) as T['Path']);
    this.#identity = options.identity ?? (this.list === undefined ? this.#byKey() : this.#byList(this.list));
    this.#needs = needsOf(name);
    bankRefs.set(name, this);
    globalIdTypes.set(name, this);
  }

  /** The type that has no parent: the bank. */
  get root(): AnyBankRef {
    return this.parent?.root ?? this;
  }

  globalIdOf(linked: LinkedOf<T>): string {
    return encodeGlobalId(this.name, JSON.stringify(this.#identity.toKey(linked)));
  }

  /** The ids in a global id's key. Errors: BAD_USER_INPUT. */
  idsOf(key: readonly unknown[]): T['Ids'] {
    const ids = this.#identity.toIds(key);
    // Another form of the same key would be a second id of the same node.
    if (JSON.stringify(this.#identity.toKey(ids)) !== JSON.stringify(key)) throw forged();
    return ids;
  }

  #read(ids: T['Ids'], context: ReadContext, needed: readonly Field[] | null): Promise<T['Item']> {
    const { read } = this.#options;
    const path = this.#options.pathOf?.(ids) ?? (ids as T['Path']);
    if (read !== undefined) return read.load(path, context, needed);
    const { list, own } = this;
    if (list === undefined) return Promise.resolve({});
    const { find = (entries, id) => findListItem(entries as object[], id, list.operation) } = list;
    const id = String((ids as Values)[own]);
    return list.load(path, context).then((entries) => find(entries, id));
  }

  /**
   * Reads the one record with the ids, to change it. Errors: BANK_BAD_RESPONSE if the list has several with this id: the first
   * of them may be the wrong one.
   */
  async readForUpdate(ids: T['Ids'], context: ReadContext): Promise<T['Item']> {
    const { list, own, plural } = this;
    const { read } = this.#options;
    if (read?.forUpdate !== undefined) return read.forUpdate(ids, context);
    if (read === undefined && list !== undefined) {
      const entries = (await list.load(ids, context)) as readonly object[];
      checkNotRepeated(entries, String((ids as Values)[own]), list.operation, plural);
    }
    return this.#read(ids, context, null);
  }

  /** The linked object, with its record if a selected field needs it. Errors: those of `read`, or of `onError`. */
  load<Other = never>(
    ids: T['Ids'] & { readonly contentHash?: string | undefined },
    context: Context,
    info: Selection,
    { onError, index }: LoadOptions<Other> = {},
  ): LinkedOf<T> | Promise<LinkedOf<T> | Other> {
    const { readByContent } = this.#identity;
    // The ids of an entry that is identified by its content are only in the record.
    if (ids.contentHash !== undefined && readByContent !== undefined)
      return readByContent(ids, ids.contentHash, context).catch(onError);
    const { record, parts, isLate, resolveEarly } = this.#needs(info);
    if (!record) return ids;
    const reading = this.#read(ids, context, parts);
    const early = resolveEarly(ids, context, info, index);
    const toLinked = (record: T['Item']) => this.#withReadRecord(ids, record, context, early);
    // If the ids come from the record, every field must see the same ones.
    return isLate && this.#options.idsOfRecord === undefined
      ? keepLateObject({ ...ids }, reading.then(toLinked))
      : reading.then(toLinked, onError);
  }

  #withReadRecord(
    ids: T['Ids'],
    record: T['Item'],
    { session }: ReadContext,
    early: EarlyResults | null,
  ): LinkedOf<T> {
    const { read, idsOfRecord } = this.#options;
    if (read?.operation !== undefined) {
      const asked = String((ids as Values)[this.own]);
      noteOtherId(session, read.operation, asked, (record as Values).id, record as object);
    }
    const own = idsOfRecord?.(ids, record) ?? ids;
    // What other ids led to is resolved again.
    return keepEarlyResults({ ...own, record }, own === ids ? early : null);
  }

  /** Creates the nodes of a list. An entry may have no id, or that of another entry. */
  nodesIn(list: readonly T['Item'][], ids: T['ListIds']): (record: Exclude<T['Item'], Error>) => LinkedOf<T> {
    if (this.list?.nodesIn !== undefined) return this.list.nodesIn(list, ids);
    const { own } = this;
    const { nameOf = itemId as NameOf } = this.list ?? {};
    return (record) => ({ ...ids, [own]: nameOf(record), list, record });
  }

  #byKey(): Identity<T> {
    return {
      toKey: (linked) => this.names.map((name) => (linked as Values)[name]),
      toIds: (key) => idsIn(this.#key, key) as T['Ids'],
    };
  }

  /** By the key of the record that the list belongs to, and the entry's own id or content. */
  #byList({ operation, load, nameOf = itemId as NameOf }: ListOptions<T>): Identity<T> {
    const { shape, own } = this;
    const parentKey = this.#key.slice(0, -1);
    const [ownPart] = this.#key.slice(-1);
    // The id of an entry that is only found in its list may be any text.
    const check = this.#options.read === undefined ? textOf : (ownPart?.check ?? textOf);
    const ownKeyOf = (linked: Entry) => {
      const { list, contentHash, record } = linked;
      if (contentHash !== undefined) return [null, contentHash];
      const id = linked[own] as string | null;
      if (id !== null && (list === undefined || isOwnName(list, nameOf as NameOf, id))) return [id];
      if (record === undefined)
        throw new Error('An entry without an id of its own has to be read before it is identified');
      return [null, contentHashOf(shape, record)];
    };
    return {
      toKey: (linked) => [
        ...parentKey.map(({ name }) => (linked as Values)[name]),
        ...ownKeyOf(linked as Entry),
      ],
      toIds(key) {
        const [id, contentHash] = key.slice(key.at(-2) === null ? -2 : -1);
        const ids = isContentHash(contentHash) ? { [own]: null, contentHash } : { [own]: check(id) };
        return { ...idsIn(parentKey, key), ...ids } as T['Ids'];
      },
      async readByContent(ids, contentHash, context) {
        const list = (await load(ids as T['ListIds'], context)) as readonly object[];
        return { ...ids, record: await findByContent(list, contentHash, shape, operation, context) };
      },
    };
  }
}

/**
 * Some banks accept other ids in paths (aliases, numbers in another format): a record with another id is the requested one, and
 * counts as drift. `answer` is the bank's answer.
 */
export function noteOtherId(
  session: ReadContext['session'],
  operation: Operation,
  asked: string,
  id: unknown,
  answer: object,
): void {
  if (isOtherId(id, asked)) session.noteDrift({ operation: operation.id, field: 'id' }, answer);
}

type NameOf = (record: unknown) => string | null;

/** An entry of any list. */
type Entry = Linked<ListedIds<object, string, unknown>, object>;

/** The ids in a part of a key. */
const valuesOf = (part: KeyPart): readonly KeyValue[] => {
  if (part instanceof BankRef) return part.names.map(segment);
  return typeof part === 'string' ? [segment(part)] : [part];
};

/** An id that is a segment of paths. */
const segment = (name: string): KeyValue => ({ name, check: (value) => validateId(name, textOf(value)) });

const idsIn = (parts: readonly KeyValue[], key: readonly unknown[]): Values =>
  Object.fromEntries(parts.map(({ name, check }, at) => [name, check(key[at])]));

function pick(values: Values, names: readonly string[]): Values {
  const picked: Record<string, unknown> = {};
  for (const name of names) picked[name] = values[name];
  return picked;
}
