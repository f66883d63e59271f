import { z } from 'zod';
import { unwrap } from '../bank/response.ts';
import type { Operation } from '../contract/operation.ts';
import { BankqlError } from '../errors.ts';
import { findById } from '../loaders/find-by-id.ts';

/**
 * Entries of the bank's lists, which may come without an id: such an entry is named by its position in the list,
 * and by the query that gave the list (null for the list without a query).
 */
export interface ListPosition<Query> {
  readonly index: number;
  readonly query: Query | null;
}

/** The shape of a position in a node's key. */
export const listIndex = z.int().min(0);

type ListItem = { readonly id?: string | null | undefined };

/** The id that an entry bears; null where it has none, or none that is one. */
export const itemId = ({ id }: ListItem): string | null => (typeof id === 'string' && id !== '' ? id : null);

/**
 * The entry of a list with this id, or at this position.
 * Errors: NOT_FOUND where the list has none; BANK_BAD_RESPONSE where the entry broke the contract.
 */
export function findListItem<T extends ListItem>(
  list: readonly T[],
  at: string | ListPosition<unknown>,
  operation: Operation,
): T {
  const entry = typeof at === 'string' ? findById(list, at) : list[at.index];
  if (entry === undefined || entry === null) throw itemNotFound(operation);
  return unwrap(entry) as T;
}

export const itemNotFound = (operation: Operation) =>
  new BankqlError('NOT_FOUND', `The bank's answer to ${operation.id} holds no such entry.`, {
    operation: operation.id,
  });

/**
 * What is made of an entry of a list. Where the entry broke the contract, or making something of it throws, the error
 * stands in its place: GraphQL answers it as null there, and leaves the others.
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

/** The same of each entry. */
export const mapListItems = <Item, Made>(
  list: readonly Item[],
  make: (entry: Exclude<Item, Error>, index: number) => Made,
): Made[] => list.map((entry, index) => mapListItem(entry, index, make));
