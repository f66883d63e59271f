import type { Branch } from '../contract/branch.ts';
import type { ProductBody, ProductQuery } from '../contract/product.ts';
import { bankId } from './identity.ts';

/**
 * Whether a branch or a product answers a POST list query: its id is the query's, or the query's id is the bank's,
 * which matches all of them; and, if the query has a name, its name contains that one, in either case.
 */
export function matches(record: Branch | ProductBody, query: ProductQuery): boolean {
  if (query.id !== bankId && query.id !== record.id) return false;
  if (query.name === undefined) return true;
  return record.name?.toLowerCase().includes(query.name.toLowerCase()) ?? false;
}
