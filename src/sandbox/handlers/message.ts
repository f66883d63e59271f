import type { Handler } from '../handler.ts';
import { HttpError } from '../http-error.ts';
import { staffId } from '../identity.ts';

/** The calling customer's messages, oldest first. */
export const getMessagesOwner: Handler<'getMessagesOwner'> = ({ caller, database }) =>
  database.messages.of(caller);

/**
 * Leaves a message of the bank for a customer, with the time.
 * Errors: HttpError 403 for customers, 404 if there is no such customer.
 */
export const putCustomerMessage: Handler<'putCustomerMessage'> = ({ ids, body, caller, database, at }) => {
  if (caller !== staffId) throw new HttpError(403, 'Only the staff of the bank write messages');
  if (!database.customers.get(ids.CUSTOMER_ID)) {
    throw new HttpError(404, `There is no customer ${ids.CUSTOMER_ID}`);
  }
  const message = { ...body, date: at };
  database.messages.put(ids.CUSTOMER_ID, null, message);
  return message;
};
