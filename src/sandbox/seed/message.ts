import type { Message } from '../../contract/message.ts';
import type { Ago } from './clock.ts';

/** One message: to whom, how many days ago and when, and who says what. */
type Row = readonly [string, number, string, string, string, string];

const rows: readonly Row[] = [
  ['alice', 118, '09:30', 'Welcome desk', 'Ελένη', 'Καλώς ήρθατε στην τράπεζά μας.'],
  ['alice', 80, '12:00', 'Cards', 'Jürgen', 'Your new card has been sent. Gültig ab 1. März.'],
  ['alice', 9, '16:45', '国際部', '佐藤', '円口座の手数料が変わります。'],
  ['bob', 116, '08:05', 'Welcome desk', 'Иванка', 'Добре дошли!'],
  ['bob', 2, '11:11', 'الأمان', 'ليلى', 'تم تسجيل الدخول من جهاز جديد.'],
  ['carol', 110, '10:00', 'Business', 'Aoife', 'Your studio account is open. Sláinte! 🎉'],
  ['omar', 93, '07:20', 'Welcome desk', 'Ελένη', 'أهلاً وسهلاً'],
  ['omar', 1, '06:00', 'Accounts', 'Ελένη', 'حسابك مكشوف. يرجى الإيداع.'],
];

/** The messages to the customers, oldest first. */
export const seededMessages = (ago: Ago): { customerId: string; message: Message }[] =>
  rows.map(([customerId, days, time, from_department, from_person, message]) => ({
    customerId,
    message: { message, from_department, from_person, date: ago(days, time) },
  }));
