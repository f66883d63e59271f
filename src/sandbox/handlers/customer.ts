import type { Database } from '../database.ts';
import type { Handler } from '../handler.ts';
import { HttpError } from '../http-error.ts';
import { bankId, staffId } from '../identity.ts';

function shareAccount(database: Database, one: string, other: string): boolean {
  return database.accounts.naming('owners', one).some((account) => account.owners?.includes(other));
}

/**
 * A customer, for that customer for whoever owns an account together with them, and for the staff.
 * Errors: HttpError 404 where there is none, 403 for anybody else.
 */
export const getCustomer: Handler<'getCustomer'> = ({ ids, caller, database }) => {
  const customer = database.customers.get(ids.CUSTOMER_ID);
  if (!customer) throw new HttpError(404, `There is no customer ${ids.CUSTOMER_ID}`);
  if (caller !== ids.CUSTOMER_ID && caller !== staffId && !shareAccount(database, caller, ids.CUSTOMER_ID)) {
    throw new HttpError(403, `The customer ${ids.CUSTOMER_ID} is another`);
  }
  return customer;
};

/**
 * Replaces the caller's own record; the staff replace any. `metadata`, which no request may hold, is kept.
 * Errors: HttpError 403 for any other id, known or not.
 */
export const putCustomerID: Handler<'putCustomerID'> = ({ ids, body, caller, database }) => {
  const id = ids.CUSTOMER_ID;
  if (caller !== id && caller !== staffId) throw new HttpError(403, 'A caller may put their own record only');
  const customer = { bank_id: [bankId], ...body, metadata: database.customers.get(id)?.metadata };
  database.customers.put(id, customer);
  return customer;
};
