import type { Customer } from '../../contract/customer.ts';
import { bankId } from '../identity.ts';

/** How each customer lives, for whoever wants to log in as one of them. */
export const lives: Readonly<Record<string, string>> = {
  alice: 'a salary account, savings, a household shared with carol',
  bob: 'a business with 200 suppliers, and payments in every state',
  carol: 'a joint account with alice, and a studio of her own',
  yuki: 'a student with nothing: no money, no payees, no history, no messages',
  omar: 'overdrawn: what he owes is not paid',
};

/** The customers by id, which is what each of them logs in with. */
export const seededCustomers: Readonly<Record<string, Customer>> = {
  alice: {
    bank_id: [bankId],
    customer_number: '100001',
    legal_name: 'Αλίκη Παπαδοπούλου',
    email: 'alice@example.com',
    mobile_phone_number: '+35799000001',
    face_image: { name: 'alice.jpg' },
    date_values: [
      { key: 'date_of_birth', string: '1988-02-29' },
      { key: 'customer_since', string: '2011-09-01' },
    ],
    numeric_values: [{ key: 'dependants', string: '2' }],
    string_values: [
      { key: 'nickname', string: 'Alice' },
      { key: 'language', string: 'el' },
    ],
    metadata: ['verified', 'paperless'],
  },
  bob: {
    bank_id: [bankId],
    customer_number: '100002',
    legal_name: 'Борис Николаев',
    email: 'bob@example.com',
    mobile_phone_number: '+35799000002',
    face_image: { name: 'bob.jpg' },
    date_values: [{ key: 'date_of_birth', string: '1979-11-03' }],
    numeric_values: [{ key: 'dependants', string: '0' }],
    string_values: [
      { key: 'nickname', string: 'Bob' },
      { key: 'language', string: 'bg' },
    ],
    metadata: ['verified'],
  },
  carol: {
    bank_id: [bankId],
    customer_number: '100003',
    legal_name: 'Carol O’Neill-Müller',
    email: 'carol@example.com',
    mobile_phone_number: '+35799000003',
    date_values: [{ key: 'date_of_birth', string: '1986-07-14' }],
    string_values: [{ key: 'language', string: 'en' }],
    metadata: ['verified', 'joint-owner'],
  },
  yuki: {
    bank_id: [bankId],
    customer_number: '100004',
    legal_name: '田中 由紀',
    email: 'yuki@example.com',
    face_image: { name: '由紀.png' },
    numeric_values: [{ key: 'dependants' }],
    string_values: [{ key: 'language', string: 'ja' }],
    metadata: [],
  },
  omar: {
    bank_id: [bankId],
    customer_number: '100005',
    legal_name: 'عمر حسن',
    mobile_phone_number: '+35799000005',
    string_values: [{ key: 'language', string: 'ar' }],
  },
};
