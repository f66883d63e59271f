import type { Message } from '../../contract/message.ts';

function message(
  customerId: string,
  date: string,
  from_department: string,
  from_person: string,
  text: string,
): { customerId: string; message: Message } {
  return {
    customerId,
    message: { message: text, from_department, from_person, date: `2025-${date}:00.000Z` },
  };
}

/** The messages to the customers, oldest first. */
export const seededMessages = [
  message('alice', '01-07T09:30', 'Welcome desk', 'Ελένη', 'Καλώς ήρθατε στην τράπεζά μας.'),
  message('alice', '02-14T12:00', 'Cards', 'Jürgen', 'Your new card has been sent. Gültig ab 1. März.'),
  message('alice', '03-03T16:45', '国際部', '佐藤', '円口座の手数料が変わります。'),
  message('bob', '01-09T08:05', 'Welcome desk', 'Иванка', 'Добре дошли!'),
  message('bob', '02-20T11:11', 'الأمان', 'ليلى', 'تم تسجيل الدخول من جهاز جديد.'),
  message('carol', '01-15T10:00', 'Business', 'Aoife', 'Your studio account is open. Sláinte! 🎉'),
  message('yuki', '01-22T02:00', '東京丸の内支店', '鈴木', 'ご来店ありがとうございました。'),
  message('omar', '02-01T07:20', 'Welcome desk', 'Ελένη', 'أهلاً وسهلاً'),
];
