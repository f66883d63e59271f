import { hash } from 'node:crypto';
import type { z } from 'zod';
import type { Operation } from '../../contract/operation.ts';
import { type Field, recordFields } from '../../contract/record.ts';
import { BankqlError } from '../../errors.ts';
import { getOrMake } from '../../get-or-make.ts';
import { isObject } from '../../is-object.ts';
import type { ReadContext } from '../context.ts';

/**
 * Entries of the bank's lists. An entry may have no id, or the id of another entry: then the hash of its content identifies it.
 * Entries with the same content have the same global id, and are the same to clients.
 */

/** Where an object comes from. */
export interface Listed {
  /**
   * The ids of the list that contains the object, and the bank's whole list. The list is absent if the object
   * comes from a global id.
   */
  readonly from?:
    | { readonly ids: Readonly<Record<string, unknown>>; readonly list?: readonly unknown[] }
    | undefined;
  /** The hash of the object's content, if a global id gave it. */
  readonly contentHash?: string | undefined;
  /** The node whose field led to the object: a link back to that node reads nothing. */
  readonly under?: { readonly record?: unknown } | undefined;
}

/** Whether a value in the key of a global id is the hash of an entry's content. */
export const isContentHash = (value: unknown): value is string =>
  typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);

/** The id of an entry; null if the entry has no valid id. */
export const itemId = ({ id }: { readonly id?: unknown }): string | null =>
  typeof id === 'string' && id !== '' ? id : null;

const indexes = new WeakMap<object, ReadonlyMap<string | null, readonly unknown[]>>();

/**
 * Groups the entries of a list by name; a list is grouped once. Entries with the same name are identified by their
 * content.
 */
export const entriesByName = <Item>(list: readonly Item[], naming: () => (entry: Item) => string | null) =>
  getOrMake(indexes, list, () => Map.groupBy(list, naming())) as ReadonlyMap<string | null, readonly Item[]>;

const hashes = new WeakMap<object, string>();

/** The hash of a record's content: of the members in the contract, in its order. */
export const contentHashOf = (shape: z.ZodObject, record: object): string =>
  getOrMake(hashes, record, () => hash('sha256', JSON.stringify(contentOf(shape, record))));

const contentOf = (shape: z.ZodObject, record: object): unknown[] =>
  recordFields(shape).map(({ rest, type }) => contentOfValue(type, Reflect.get(record, rest)));

function contentOfValue(type: Field['type'], value: unknown): unknown {
  // Of an invalid value, only the position counts, because each read creates another error object for it.
  if (value instanceof Error) return {};
  if (Array.isArray(value)) return value.map((entry) => contentOfValue(type, entry));
  return typeof type === 'object' && isObject(value) ? contentOf(type, value) : value;
}

/** The number of entries that are hashed at a time. Each takes about 10 µs. */
const hashedAtOnce = 500;

/** The entry of a list that has this content. Errors: NOT_FOUND if the bank has changed it. */
export async function findByContent<Item extends object>(
  list: readonly Item[],
  contentHash: string,
  shape: z.ZodObject,
  operation: Operation,
  { lists }: Pick<ReadContext, 'lists'>,
): Promise<Item> {
  const index = await lists.shared(list, 'by content', async () => {
    const made = new Map<string, Item>();
    for (let from = 0; from < list.length; from += hashedAtOnce) {
      const entries = list.slice(from, from + hashedAtOnce);
      await lists.run(entries.length, () => {
        for (const entry of entries)
          if (!(entry instanceof Error)) made.set(contentHashOf(shape, entry), entry);
      });
    }
    return made;
  });
  const found = index.get(contentHash);
  if (found !== undefined) return found;
  throw new BankqlError(
    'NOT_FOUND',
    `The bank's answer to ${operation.id} has no entry with this content any more: read the list again.`,
    { operation: operation.id },
  );
}

/** The maximum length of an id in a message, in characters. */
const maxShownLength = 128;

/** An id in the form for messages. */
export const shownId = (id: string) => id.slice(0, maxShownLength).toWellFormed();

/** The error NOT_FOUND for an entry with this id. */
export const itemNotFound = (operation: Operation, id: string): BankqlError =>
  new BankqlError(
    'NOT_FOUND',
    `The bank's answer to ${operation.id} holds no entry with the id ${shownId(id)}.`,
    { operation: operation.id },
  );
