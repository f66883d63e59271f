import type { z } from 'zod';
import { unwrap } from '../../bank/answer.ts';
import { validateBankId, validateId } from '../../bank/ids.ts';
import type { Operation } from '../../contract/operation.ts';
import type { AnyBankRef } from './bank-ref.ts';
import { forged, textOf } from './global-id.ts';
import type { Listed } from './list-item.ts';

/** Keys: what identifies a record, and where the parts of a key come from. */

/** The TypeScript types of a kind of records. */
export interface BankTypes {
  /** The ids that a link needs. */
  Ids: object;
  /** The ids in the paths of a record's requests. */
  Path: object;
  /** The ids of the list that contains a record. */
  ListIds: object;
  Item: unknown;
}

/** Ids, with the record that they identify if it has been read. */
type Linked<Ids, Item> = Ids & { readonly record?: Item | undefined };
export type LinkedOf<T extends BankTypes> = Linked<T['Ids'], T['Item']>;

/** A part of a key, with a schema. If the value is a text, it is also checked as an id of the bank. */
interface KeyValue<Name extends string = string, Value = unknown> {
  readonly name: Name;
  readonly schema: z.ZodType<Value>;
}

/** A part of a record's key: the parent's type, the name of an id, or a value with a schema. The last name is the record's own id. */
export type KeyPart = string | AnyBankRef | KeyValue;

type PathOfPart<Part> = Part extends { readonly $types: infer T extends BankTypes }
  ? T['Path']
  : Part extends KeyValue<infer Name, infer Value>
    ? { readonly [N in Name]: Value }
    : Part extends string
      ? { readonly [N in Part]: string }
      : unknown;

/** The ids in a key. */
type PathIn<Key extends readonly unknown[]> = Key extends readonly [infer Part, ...infer Others]
  ? PathOfPart<Part> & PathIn<Others>
  : unknown;

/** The name of the record's own id, which is the last one in the key. */
type OwnName<Key extends readonly unknown[]> = Key extends readonly [...infer Others, infer Last]
  ? Last extends string
    ? Last
    : OwnName<Others>
  : never;

/** Records that are read one by one. */
export interface SingleTypes<Key extends readonly unknown[], Shape extends z.ZodObject> {
  Ids: PathIn<Key> & object;
  Path: PathIn<Key> & object;
  ListIds: Omit<PathIn<Key>, OwnName<Key>>;
  Item: z.infer<Shape>;
}

/** An entry of a list may have another shape than a record that is read alone. */
type EntryOf<Listing extends Operation> = Listing['answer'] extends z.ZodType
  ? z.infer<Listing['answer']>
  : never;

/** Records that are found in lists. A record's own id is null if the bank gave none, or if the content identifies the record. */
export interface ListedTypes<
  Key extends readonly unknown[],
  Shape extends z.ZodObject,
  Listing extends Operation,
  ListKey extends readonly unknown[] | null,
> {
  Ids: Omit<PathIn<Key>, OwnName<Key>> & { readonly [N in OwnName<Key>]: string | null } & Listed;
  Path: PathIn<Key> & object;
  ListIds: ListKey extends readonly unknown[] ? PathIn<ListKey> & object : Omit<PathIn<Key>, OwnName<Key>>;
  Item: z.infer<Shape> | EntryOf<Listing>;
}

type Values = Readonly<Record<string, unknown>>;

/** One id of a key: its name, its check, and what messages call it. */
export interface KeyId {
  readonly name: string;
  /** Checks the value in the key of a global id, which anybody may have written. Errors: BAD_USER_INPUT. */
  readonly check: (value: unknown) => unknown;
  /** What messages call the id; null if the id is not a segment of paths, so that any text is valid. */
  readonly noun: string | null;
}

/** The parts of a key. `anyText`: the name of an id that no path contains, or null. */
export const keyIds = (key: readonly KeyPart[], anyText: string | null): readonly KeyId[] =>
  key.flatMap((part) => {
    if (typeof part === 'object' && 'names' in part) return keyIds(part.names, null);
    const { name, schema } = typeof part === 'string' ? { name: part } : part;
    if (name === anyText) return { name, check: textOf, noun: null };
    const thing = name.replace(/Id$/, '');
    const check = (value: unknown) => {
      const id = schema === undefined ? textOf(value) : valueIn(schema, value);
      return typeof id === 'string' ? validateId(name, id) : id;
    };
    return { name, check, noun: `${/^[aeiou]/.test(thing) ? 'an' : 'a'} ${thing}` };
  });

function valueIn(schema: z.ZodType, value: unknown): unknown {
  const { success, data } = schema.safeParse(value);
  if (!success) throw forged();
  return data;
}

/** The ids in the key of a global id. Errors: BAD_USER_INPUT. */
export const idsInKey = (parts: readonly KeyId[], key: readonly unknown[]): Values =>
  Object.fromEntries(parts.map(({ name, check }, at) => [name, check(key[at])]));

/**
 * Checks an id that the bank gave. Errors: the error in its place; BANK_BAD_RESPONSE for an id that is used in paths but cannot
 * be a segment.
 */
export function givenId({ noun }: KeyId, value: unknown): unknown {
  if (typeof value !== 'string') return unwrap(value);
  return noun === null ? value : validateBankId(noun, value);
}
