import type { Customer } from '../contract/customer.ts';
import { type Database, table } from './database.ts';
import { bankId } from './identity.ts';
import { found } from './request-checks.ts';

const pairs = (values: Readonly<Record<string, string | undefined>>) =>
  Object.entries(values).map(([key, string]) => ({ key, string }));

/** The customers by id, which is also the login. Each customer lacks different optional members. */
export const seededCustomers: Readonly<Record<string, Customer>> = {
  alice: {
    ...{ bank_id: [bankId], customer_number: '100001', legal_name: 'Αλίκη Παπαδοπούλου' },
    ...{ email: 'alice@example.com', mobile_phone_number: '+35799000001', face_image: { name: 'alice.jpg' } },
    date_values: pairs({ date_of_birth: '1988-02-29', customer_since: '2011-09-01' }),
    numeric_values: pairs({ dependants: '2' }),
    string_values: pairs({ nickname: 'Alice', language: 'el' }),
    metadata: ['verified', 'paperless'],
  },
  bob: {
    ...{ bank_id: [bankId], customer_number: '100002', legal_name: 'Борис Николаев' },
    ...{ email: 'bob@example.com', mobile_phone_number: '+35799000002', face_image: { name: 'bob.jpg' } },
    date_values: pairs({ date_of_birth: '1979-11-03' }),
    numeric_values: pairs({ dependants: '0' }),
    string_values: pairs({ nickname: 'Bob', language: 'bg' }),
    metadata: ['verified'],
  },
  carol: {
    ...{ bank_id: [bankId], customer_number: '100003', legal_name: 'Carol O’Neill-Müller' },
    ...{ email: 'carol@example.com', mobile_phone_number: '+35799000003' },
    date_values: pairs({ date_of_birth: '1986-07-14' }),
    string_values: pairs({ language: 'en' }),
    metadata: ['verified', 'joint-owner'],
  },
  yuki: {
    ...{ bank_id: [bankId], customer_number: '100004', legal_name: '田中 由紀' },
    ...{ email: 'yuki@example.com', face_image: { name: '由紀.png' } },
    numeric_values: pairs({ dependants: undefined }),
    string_values: pairs({ language: 'ja' }),
    metadata: [],
  },
  omar: {
    ...{ bank_id: [bankId], customer_number: '100005', legal_name: 'عمر حسن' },
    mobile_phone_number: '+35799000005',
    string_values: pairs({ language: 'ar' }),
  },
};

/** The table is not next to its handlers (records/customer.ts), because accounts, messages and logins need it too. */
export const customers = table(Object.entries(seededCustomers));

/** Errors: HttpError 404. */
export const customerOf = (database: Database, id: string): Customer =>
  found(customers(database).get(id), `There is no customer ${id}`);
