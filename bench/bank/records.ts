/**
 * The records of the bench's bank. They are generated from counters, so that every run has the same bytes. Their amounts lose no
 * digit in `JSON.parse`, because exact amounts are not measured and the other contenders do not have them. In each record, one
 * field that no query selects ends in `serialMark`. The stub replaces this text, so that no two answers are the same.
 */

/** Twelve digits that occur once in every answer of the bank. */
export const serialMark = '987654321012';

/** The bank that all queries ask, except Q1 with other numbers of branches. */
export const bankId = 'BENCHCY2';
export const bankWith = (branches: number): string => (branches === 100 ? bankId : `BENCH${branches}`);
export const viewId = 'owner';

const cities = ['Nicosia', 'Limassol', 'Larnaca', 'Paphos', 'Ayia Napa', 'Polis'];
const streets = 'Makarios Avenue, Stasinos Street, Ledra Street, Anexartisia Street, Athinon Avenue'.split(
  ', ',
);
const holders =
  'Electricity Authority, Aphrodite Foods, Evagoras Motors, Kourion Insurance, Troodos Water'.split(', ');
const pick = (list: readonly string[], index: number) => list[index % list.length] ?? '';
const digits = (index: number, length: number) => String(index).padStart(length, '0');

/** The last record of a list contains the serial number. */
const mark = (isLast: boolean, otherwise: number) =>
  isLast ? serialMark : digits(otherwise + 1, serialMark.length);

export const branchList = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    id: `branch-${digits(index, 4)}`,
    bank: bankWith(count),
    name: `${pick(cities, index)} ${pick(streets, index)} branch ${index}`,
    address: {
      line_1: `${(index % 180) + 1} ${pick(streets, index)}`,
      line_2: `Block ${(index % 9) + 1}, ground floor, entrance beside the municipal car park`,
      line_3: `${pick(cities, index)} business district`,
      city: pick(cities, index),
      state: `${pick(cities, index)} District`,
      postcode: String(1010 + (index % 8000)),
      country: 'CY',
    },
    location: { latitude: 34.6 + (index % 90) / 128, longitude: 32.4 + (index % 120) / 64 },
    lobby: { is24Hours: index % 7 === 0 },
    acceptsDeposits: index % 5 !== 0,
    meta: { license: `CBC-BR-${mark(index === count - 1, index)}` },
  }));

export const customerCount = 3;

export const customer = (index: number) => ({
  bank_id: [bankId],
  legal_name: ['Alice Papadopoulou', 'Bob Georgiou', 'Chloe Ioannou'][index] ?? '',
  email: `customer-${index}@example.com`,
  mobile_phone_number: `+357990000${digits(index, 2)}`,
  face_image: { name: `customer-${index}.png` },
  date_values: [{ key: 'birth', string: `198${index}-04-12` }],
  numeric_values: [{ key: 'household', string: String(index + 1) }],
  string_values: [{ key: 'segment', string: 'retail' }],
  metadata: ['onboarded online'],
  customer_number: serialMark,
});

const accountOf = (id: string, index: number, owners: readonly number[]) => ({
  id,
  bank_id: bankId,
  label: `Everyday ${index}`,
  balance: { currency: 'EUR', amount: index * 1000 + 305.85 },
  IBAN: `CY1700200128${digits(index, 16)}`,
  swift_bic: 'BENCHCY2XXX',
  type: ['CURRENT'],
  owners: owners.map((owner) => `customer-${owner}`),
  views_available: [viewId, 'auditor'],
  number: serialMark,
});

/** An account of Q2. It has one owner, and every second account has two. Three or more accounts have three different owners. */
export const account = (index: number) => {
  const owners = [index % customerCount, (index + 1) % customerCount];
  return accountOf(`account-${index}`, index, owners.slice(0, 1 + (index % 2)));
};

/** The account of Q4, and of the README's query. */
export const nestedAccount = accountOf('alice-current', 7, [0]);

export const otherAccounts = (accountIndex: number) =>
  Array.from({ length: 5 }, (_, index) => ({
    id: `other-${accountIndex}-${index}`,
    kind: 'CURRENT',
    bank: 'Hellenic Example Bank',
    IBAN: `GR1601101250000000${digits(accountIndex * 10 + index, 9)}`,
    swift_bic: 'HELLGRAAXXX',
    holder: { name: `${pick(holders, index)} ${accountIndex}`, is_alias: false },
    number: mark(index === 4, accountIndex * 10 + index),
  }));

export const transactionIds = ['tx-0217', 'tx-0218', 'tx-0219'] as const;

export const transactionRequests = () =>
  Array.from({ length: 3 }, (_, index) => ({
    description: `Standing order ${index}`,
    status: 'COMPLETED',
    transaction_ids: transactionIds.slice(index).join(','),
    start_date: '2026-01-05T08:00:00Z',
    end_date: '2026-01-05T08:00:03Z',
    challenge: 'NONE',
    from: { bank_id: bankId, account_id: nestedAccount.id },
    body: { to: { bank_id: bankId, account_id: 'account-1' }, value: { currency: 'EUR', amount: 75.25 } },
    resource_url: `/transaction-requests/${mark(index === 2, index)}`,
  }));

export const transaction = (id: string, index: number) => ({
  id,
  this_account: nestedAccount.id,
  other_account: 'other-7-0',
  details: {
    type: 'SEPA',
    status: 'COMPLETED',
    description: `Part ${index + 1} of 3`,
    posted: '2026-01-05T08:00:01Z',
    completed: '2026-01-05T08:00:03Z',
    value: { currency: 'EUR', amount: -25.25 - index },
    new_balance: { currency: 'EUR', amount: 7305.85 - 25.25 * (index + 1) },
  },
  metadata: { narrative: 'Rent', tags: 'home' },
  uuid: `6f1c3a52-0b7e-4d0e-9a51-${serialMark}`,
});

// biome-ignore lint/suspicious/noExplicitAny: what JSON.parse makes of an answer of the bank.
export type Json = any;
