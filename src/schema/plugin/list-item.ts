import { hash } from 'node:crypto';
import type { z } from 'zod';
import { unwrap } from '../../bank/answer.ts';
import type { Operation } from '../../contract/operation.ts';
import { type Field, recordFields } from '../../contract/record.ts';
import { BankqlError } from '../../errors.ts';
import { getOrMake } from '../../get-or-make.ts';
import { isObject } from '../../is-object.ts';
import { findById, type ListItem } from '../../loaders/loaders.ts';
import type { ReadContext } from '../context.ts';

/**
 * Entries of the bank's lists. An entry may have no id, or the id of another entry: then the hash of its content identifies it.
 * Entries with the same content have the same global id, and are the same to clients.
 */

type NameOf<Item> = (item: Exclude<Item, Error>) => string | null;

/** Whether a value in the key of a global id is the hash of a content. */
export const isContentHash = (value: unknown): value is string =>
  typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);

/** The id of an entry; null if it has no valid one. */
export const itemId = ({ id }: ListItem): string | null => (typeof id === 'string' && id !== '' ? id : null);

const repeatedNames = new WeakMap<readonly unknown[], ReadonlySet<string>>();

/** Whether several entries of a list share a name: it then identifies none of them. */
export const isRepeatedIn = <Item>(list: readonly Item[], nameOf: NameOf<Item>, name: string): boolean =>
  getOrMake(repeatedNames, list, () => repeatedIn(list, nameOf)).has(name);

/** The names that several entries of a list share. */
function repeatedIn<Item>(list: readonly Item[], nameOf: NameOf<Item>): ReadonlySet<string> {
  const names = new Set<string>();
  const repeated = new Set<string>();
  for (const entry of list) {
    const name = entry instanceof Error ? null : nameOf(entry as Exclude<Item, Error>);
    if (name !== null) (names.has(name) ? repeated : names).add(name);
  }
  return repeated;
}

const sources = new WeakMap<readonly unknown[], readonly unknown[]>();

/**
 * Remembers the bank's list from which another list was made. An id that is repeated in the bank's list identifies no entry of
 * the other list either.
 */
export function madeFrom<Item>(source: readonly Item[], list: Item[]): Item[] {
  sources.set(list, sourceOf(source));
  return list;
}

/** Whether a name identifies one entry of a list of the bank, or of the one from which it was made. */
export const isOwnName = <Item>(list: readonly Item[], nameOf: NameOf<Item>, name: string): boolean =>
  !isRepeatedIn(sourceOf(list), nameOf, name);

/** The bank's list from which a list was made; it has entries of the same type. */
const sourceOf = <Item>(list: readonly Item[]) => (sources.get(list) ?? list) as readonly Item[];

const hashes = new WeakMap<object, string>();

/** The hash of a record's content: of the values that the contract has, in its order. */
export const contentHashOf = (shape: z.ZodObject, record: object): string =>
  getOrMake(hashes, record, () => hash('sha256', JSON.stringify(contentOf(shape, record))));

const contentOf = (shape: z.ZodObject, record: object): unknown[] =>
  recordFields(shape).map(({ rest, type }) => contentOfValue(type, Reflect.get(record, rest)));

function contentOfValue(type: Field['type'], value: unknown): unknown {
  // A broken value counts only by its position: its error object differs in each read.
  if (value instanceof Error) return {};
  if (Array.isArray(value)) return value.map((entry) => contentOfValue(type, entry));
  return typeof type === 'object' && isObject(value) ? contentOf(type, value) : value;
}

/** The entry of a list that has this content. Errors: NOT_FOUND if the bank has changed it. */
export async function findByContent<Item extends object>(
  list: readonly Item[],
  contentHash: string,
  shape: z.ZodObject,
  operation: Operation,
  { lists }: Pick<ReadContext, 'lists'>,
): Promise<Item> {
  const index = await lists.shared(list, 'by content', () => indexByContent(list, shape, lists));
  const found = index.get(contentHash);
  if (found !== undefined) return found;
  throw new BankqlError(
    'NOT_FOUND',
    `The bank's answer to ${operation.id} has no entry with this content any more: read the list again.`,
    { operation: operation.id },
  );
}

/** How many entries are hashed at a time: about 10 µs each. */
const hashedAtOnce = 500;

async function indexByContent<Item extends object>(
  list: readonly Item[],
  shape: z.ZodObject,
  lists: ReadContext['lists'],
): Promise<Map<string, Item>> {
  const index = new Map<string, Item>();
  for (let from = 0; from < list.length; from += hashedAtOnce) {
    const entries = list.slice(from, from + hashedAtOnce);
    await lists.run(entries.length, () => {
      for (const entry of entries)
        if (!(entry instanceof Error)) index.set(contentHashOf(shape, entry), entry);
    });
  }
  return index;
}

/** The entry of a list with this id. Errors: NOT_FOUND without such an entry; BANK_BAD_RESPONSE if it broke the contract. */
export function findListItem<T extends ListItem>(list: readonly T[], id: string, operation: Operation): T {
  const entry = findById(list, id);
  if (entry === null) throw itemNotFound(operation, id);
  return unwrap(entry) as T;
}

/**
 * Checks that a list does not have several entries with an id: an update would change the first of them, which may
 * be the wrong one. `entries` is their name in messages.
 * Errors: BANK_BAD_RESPONSE.
 */
export function checkNotRepeated<T extends ListItem>(
  list: readonly T[],
  id: string,
  operation: Operation,
  entries: string,
  nameOf: (item: Exclude<T, Error>) => string | null = itemId,
): void {
  if (isRepeatedIn(list, nameOf, id))
    throw new BankqlError(
      'BANK_BAD_RESPONSE',
      `The bank's ${operation.id} lists several ${entries} with the id ${shownId(id)}, so that it is not known which one to change. Nothing was written.`,
      { operation: operation.id },
    );
}

/** How much of an id a message repeats, in characters. */
const maxShownLength = 128;

/** An id as messages repeat it. */
export const shownId = (id: string) => id.slice(0, maxShownLength).toWellFormed();

/** NOT_FOUND for an entry with this id. */
export const itemNotFound = (operation: Operation, id: string): BankqlError =>
  new BankqlError(
    'NOT_FOUND',
    `The bank's answer to ${operation.id} holds no entry with the id ${shownId(id)}.`,
    { operation: operation.id },
  );

/**
 * Converts an entry of a list. If the entry broke the contract, or converting it throws, the error takes its place:
 * GraphQL returns null there and keeps the other entries.
 */
export function mapListItem<Item, Made>(
  entry: Item,
  index: number,
  make: (entry: Exclude<Item, Error>, index: number) => Made,
): Made {
  if (entry instanceof Error) return entry as Made;
  try {
    return make(entry as Exclude<Item, Error>, index);
  } catch (error) {
    return error as Made;
  }
}
