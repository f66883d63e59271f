import { customerOf, customers } from '../customers.ts';
import type { Database } from '../database.ts';
import type { Handlers } from '../handlers.ts';
import { bankId, staffId } from '../identity.ts';
import { HttpError } from '../request-checks.ts';
import { accounts } from './account.ts';

const shareAccount = (database: Database, one: string, other: string): boolean =>
  accounts(database).all.some(({ owners }) => owners?.includes(one) && owners.includes(other));

export const customerHandlers: Handlers<'getCustomer' | 'putCustomerID'> = {
  /**
   * A customer. Only that customer, those who own an account together with them, and the staff may read it.
   * Errors: HttpError 404 if there is no such customer, 403 for anybody else.
   */
  getCustomer: ({ ids, caller, database }) => {
    const id = ids.CUSTOMER_ID;
    const customer = customerOf(database, id);
    if (caller !== id && caller !== staffId && !shareAccount(database, caller, id))
      throw new HttpError(403, `The customer ${id} is not the caller`);
    return customer;
  },

  /**
   * Replaces the caller's own record; the staff replace any. `metadata` is kept, because no request may contain it.
   * Errors: HttpError 403 for any other id, whether or not the customer exists.
   */
  putCustomerID: ({ ids, body, caller, database }) => {
    const id = ids.CUSTOMER_ID;
    if (caller !== id && caller !== staffId)
      throw new HttpError(403, 'A caller may put their own record only');
    const { metadata } = customers(database).get(id) ?? {};
    return customers(database).put(id, { bank_id: [bankId], ...body, metadata });
  },
};
