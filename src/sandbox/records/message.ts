import type { Message } from '../../contract/message.ts';
import { customerOf } from '../customers.ts';
import { childTable, rowsOf } from '../database.ts';
import type { Handlers } from '../handlers.ts';
import { requireStaff } from '../request-checks.ts';

/** The columns: customer, days before the start, time of day, department, person and text. The oldest message comes first. */
const messageTable = `
  alice | 118 | 09:30 | Welcome desk | Ελένη | Καλώς ήρθατε στην τράπεζά μας.
  alice | 80 | 12:00 | Cards | Jürgen | Your new card has been sent. Gültig ab 1. März.
  alice | 9 | 16:45 | 国際部 | 佐藤 | 円口座の手数料が変わります。
  bob | 116 | 08:05 | Welcome desk | Иванка | Добре дошли!
  bob | 2 | 11:11 | الأمان | ليلى | تم تسجيل الدخول من جهاز جديد.
  carol | 110 | 10:00 | Business | Aoife | Your studio account is open. Sláinte! 🎉
  omar | 93 | 07:20 | Welcome desk | Ελένη | أهلاً وسهلاً
  omar | 1 | 06:00 | Accounts | Ελένη | حسابك مكشوف. يرجى الإيداع.`;

/** The messages by customer id. */
export const messages = childTable<Message>((customerId, database) =>
  rowsOf(messageTable)
    .filter(([to]) => to === customerId)
    .map(([, days, time, from_department = '', from_person = '', message = '']) => [
      null,
      { message, from_department, from_person, date: database.ago(Number(days), time) },
    ]),
);

export const messageHandlers: Handlers<'getMessagesOwner' | 'putCustomerMessage'> = {
  /** The calling customer's messages, oldest first. */
  getMessagesOwner: ({ caller, database }) => messages(database, caller).all,

  /**
   * Leaves a message of the bank for a customer, with the time.
   * Errors: HttpError 403 for customers, 404 if there is no such customer.
   */
  putCustomerMessage: ({ ids, body, caller, database, at }) => {
    requireStaff(caller, 'write messages');
    customerOf(database, ids.CUSTOMER_ID);
    return messages(database, ids.CUSTOMER_ID).put(null, { ...body, date: at });
  },
};
