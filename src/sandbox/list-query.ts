import type { Branch } from '../contract/branch.ts';
import type { ProductBody, ProductQuery } from '../contract/product.ts';
import { bankId } from './identity.ts';

/**
 * Whether a branch or a product matches a POST list query. The query's id is the record's, or the bank's code, which matches
 * all records. If the query has a name, the record's name has to contain it, in upper or lower case.
 */
export function matches(record: Branch | ProductBody, query: ProductQuery): boolean {
  if (query.id !== bankId && query.id !== record.id) return false;
  if (query.name === undefined) return true;
  return record.name?.toLowerCase().includes(query.name.toLowerCase()) ?? false;
}
