import type { Handler } from '../handler.ts';
import { HttpError } from '../http-error.ts';

/** The calling customer's messages, oldest first. */
export const getMessagesOwner: Handler<'getMessagesOwner'> = ({ caller, database }) =>
  database.messages.of(caller);

/** Leaves a message for any customer, with the time. Errors: HttpError 404 where there is no such customer. */
export const putCustomerMessage: Handler<'putCustomerMessage'> = ({ ids, body, database, at }) => {
  if (!database.customers.get(ids.CUSTOMER_ID)) {
    throw new HttpError(404, `There is no customer ${ids.CUSTOMER_ID}`);
  }
  const message = { ...body, date: at };
  database.messages.put(ids.CUSTOMER_ID, null, message);
  return message;
};
