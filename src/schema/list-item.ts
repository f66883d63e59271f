import { z } from 'zod';
import { unwrap } from '../bank/response.ts';
import type { Operation } from '../contract/operation.ts';
import { BankqlError } from '../errors.ts';
import { findById } from '../loaders/find-by-id.ts';

/**
 * Entries of the bank's lists may have no id. Such an entry is identified by its position in the list, and by the
 * query that the list answers (null for the list without a query).
 */
export interface ListPosition<Query> {
  readonly index: number;
  readonly query: Query | null;
}

/** The schema of a position in a node's key. */
export const listIndex = z.int().min(0);

type ListItem = { readonly id?: string | null | undefined };

/** The id of an entry; null if it has no valid one. */
export const itemId = ({ id }: ListItem): string | null => (typeof id === 'string' && id !== '' ? id : null);

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

/** How much of an id a message repeats, in characters. */
const maxShownLength = 128;

/** NOT_FOUND for an entry with this id, or at this position. */
export function itemNotFound(
  operation: Operation,
  at: string | Pick<ListPosition<unknown>, 'index'>,
): BankqlError {
  const what =
    typeof at === 'string'
      ? `with the id ${at.slice(0, maxShownLength).toWellFormed()}`
      : `at position ${at.index}`;
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
  try {
    return make(unwrap(entry), index);
  } catch (error) {
    return error as Made;
  }
}

/** The same for every entry. */
export const mapListItems = <Item, Made>(
  list: readonly Item[],
  make: (entry: Exclude<Item, Error>, index: number) => Made,
): Made[] => list.map((entry, index) => mapListItem(entry, index, make));
