import type { Branch } from '../contract/branch.ts';
import type { ProductBody, ProductQuery } from '../contract/product.ts';
import { bankId } from './identity.ts';

/**
 * Whether a branch or a product matches a POST list query: its id equals the query's, or the query's id is the bank's code, which
 * matches all records; and, if the query has a name, the record's name contains it, in either case.
 */
export function matches(record: Branch | ProductBody, query: ProductQuery): boolean {
  if (query.id !== bankId && query.id !== record.id) return false;
  if (query.name === undefined) return true;
  return record.name?.toLowerCase().includes(query.name.toLowerCase()) ?? false;
}
