import { bankId } from './identity.ts';

interface Named {
  readonly id?: string | null | undefined;
  readonly name?: string | null | undefined;
}

/**
 * Whether a branch or a product answers a POST list query: its id is the query's, or the query's id is the
 * bank's, which stands for all of them; and its name holds the query's, in either case, where that is given.
 */
export function matches(
  record: Named,
  query: { readonly id: string; readonly name?: string | undefined },
): boolean {
  if (query.id !== bankId && query.id !== record.id) return false;
  if (query.name === undefined) return true;
  return record.name?.toLowerCase().includes(query.name.toLowerCase()) ?? false;
}
