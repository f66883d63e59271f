import type { Account } from '../contract/account.ts';
import type { Branch } from '../contract/branch.ts';
import type { Customer } from '../contract/customer.ts';
import type { Message } from '../contract/message.ts';
import type { MetadataEntry } from '../contract/metadata.ts';
import type { OtherAccount } from '../contract/other-account.ts';
import type { ProductBody } from '../contract/product.ts';
import type { Transaction } from '../contract/transaction.ts';
import type { TransactionRequest } from '../contract/transaction-request.ts';

/** Records by their id, in the order in which they were first put. */
function records<T>() {
  const byId = new Map<string, T>();
  return {
    get: (id: string): T | undefined => byId.get(id),
    all: (): T[] => [...byId.values()],
    put<R extends T>(id: string, record: R): R {
      byId.set(id, record);
      return record;
    },
  };
}

/** Records that belong to another record, in the order in which they were first put. */
function childRecords<T>() {
  const byOwner = new Map<string, Map<string | symbol, T>>();
  return {
    get: (ownerId: string, id: string): T | undefined => byOwner.get(ownerId)?.get(id),
    of: (ownerId: string): T[] => [...(byOwner.get(ownerId)?.values() ?? [])],
    /** Creates or replaces; a record without an id (null) is always a new one. */
    put<R extends T>(ownerId: string, id: string | null, record: R): R {
      const children = byOwner.get(ownerId) ?? new Map<string | symbol, T>();
      byOwner.set(ownerId, children.set(id ?? Symbol(), record));
      return record;
    },
  };
}

export type Database = ReturnType<typeof createDatabase>;

/** The bank's records, in memory. Records are replaced, never changed: the seed's are shared by all databases. */
export function createDatabase() {
  const sequences = new Map<string, number>();
  return {
    customers: records<Customer>(),
    accounts: records<Account>(),
    branches: records<Branch>(),
    /** The products as they were put: `bank_id` is one string. Each answer converts it to its own form. */
    products: records<ProductBody>(),
    /** By account id. */
    otherAccounts: childRecords<OtherAccount>(),
    /** By account id. A transfer within the bank has one transaction id, and a record for each of the two accounts. */
    transactions: childRecords<Transaction>(),
    /** By account id. */
    transactionRequests: childRecords<TransactionRequest>(),
    /** By customer id. */
    messages: childRecords<Message>(),
    /** By metadata id, which several entries share. */
    metadata: childRecords<MetadataEntry>(),
    /** The next id of its kind, such as `tx-0001`. */
    nextId(prefix: string): string {
      const next = (sequences.get(prefix) ?? 0) + 1;
      sequences.set(prefix, next);
      return `${prefix}-${String(next).padStart(4, '0')}`;
    },
  };
}
