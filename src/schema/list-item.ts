import { z } from 'zod';
import { unwrap } from '../bank/response.ts';
import type { Operation } from '../contract/operation.ts';
import { BankqlError } from '../errors.ts';
import { getOrMake } from '../get-or-make.ts';
import { findById, type ListItem, shortList } from '../loaders/loaders.ts';

/**
 * Entries of the bank's lists may have no id, or the id of another entry. Such an entry is identified by its position in
 * the list, and by the query that the list answers (null for the list without a query).
 */
export interface ListPosition<Query> {
  readonly index: number;
  readonly query: Query | null;
  /** The list in which it was found, if it was: which of the two identifies it is found out when somebody asks (identityOf). */
  readonly list?: readonly ListItem[] | undefined;
}

/** The position of an entry that its own id identifies: it plays no part. */
export const byOwnId = { index: 0, query: null } as const;

/** The schema of a position in a node's key. */
export const listIndex = z.int().min(0);

/** The id of an entry; null if it has no valid one. */
export const itemId = ({ id }: ListItem): string | null => (typeof id === 'string' && id !== '' ? id : null);

const repeatedNames = new WeakMap<readonly unknown[], ReadonlySet<string>>();

/** Whether several entries of a list share a name: it then identifies none of them. */
export function isRepeatedIn<Item>(
  list: readonly Item[],
  nameOf: (item: Exclude<Item, Error>) => string | null,
  name: string,
): boolean {
  if (list.length > shortList)
    return getOrMake(repeatedNames, list, () => repeatedIn(list, nameOf)).has(name);
  let found = 0;
  for (const entry of list)
    if (!(entry instanceof Error) && nameOf(entry as Exclude<Item, Error>) === name) found++;
  return found > 1;
}

/** The names that several entries of a list share. */
function repeatedIn<Item>(
  list: readonly Item[],
  nameOf: (item: Exclude<Item, Error>) => string | null,
): ReadonlySet<string> {
  const names = new Set<string>();
  const repeated = new Set<string>();
  for (const entry of list) {
    const name = entry instanceof Error ? null : nameOf(entry as Exclude<Item, Error>);
    if (name !== null) (names.has(name) ? repeated : names).add(name);
  }
  return repeated;
}

const origins = new WeakMap<object, { readonly list: readonly unknown[]; readonly index: number }>();
const remembered = new WeakSet<readonly object[]>();

/** Remembers the positions of a list's entries, for lists that are made of this one. */
export function rememberPositions(list: readonly object[]): void {
  if (remembered.has(list)) return;
  remembered.add(list);
  for (const [index, entry] of list.entries())
    if (!(entry instanceof Error)) origins.set(entry, { list, index });
}

/** An entry that was found in a list: the bank's, or one that was made of it. */
interface ListedEntry<Item> {
  readonly index: number;
  readonly list?: readonly Item[] | undefined;
  readonly record?: Item | undefined;
}

/**
 * What identifies an entry: its name, unless others in the bank's list have it too, or else its position there. `nameOf` tells the
 * others' names.
 */
export function identityOf<Item extends object>(
  { index, list, record }: ListedEntry<Item>,
  name: string | null,
  nameOf: (item: Exclude<Item, Error>) => string | null,
): { readonly name: string | null; readonly index: number } {
  if (list === undefined || record === undefined) return { name, index };
  const origin = origins.get(record) ?? { list, index };
  // The list of an entry's origin has entries of its type.
  const isShared = name !== null && isRepeatedIn(origin.list as readonly Item[], nameOf, name);
  return { name: isShared ? null : name, index: origin.index };
}

/**
 * The entry of a list with this id, or at this position.
 * Errors: NOT_FOUND if the list has no such entry; BANK_BAD_RESPONSE if the entry broke the contract.
 */
export function findListItem<T extends ListItem>(
  list: readonly T[],
  at: string | ListPosition<unknown>,
  operation: Operation,
): T {
  const entry = typeof at === 'string' ? findById(list, at) : list[at.index];
  if (entry === undefined || entry === null) throw itemNotFound(operation, at);
  return unwrap(entry) as T;
}

/**
 * Checks that a list does not have several entries with an id: an update would be written from the first of them, which may not
 * be the one that is meant. `entries` is what messages call them.
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

/** NOT_FOUND for an entry with this id, or at this position. */
export function itemNotFound(
  operation: Operation,
  at: string | Pick<ListPosition<unknown>, 'index'>,
): BankqlError {
  const what = typeof at === 'string' ? `with the id ${shownId(at)}` : `at position ${at.index}`;
  return new BankqlError('NOT_FOUND', `The bank's answer to ${operation.id} holds no entry ${what}.`, {
    operation: operation.id,
  });
}

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
