import type { MetadataEntry } from '../../contract/metadata.ts';

/** The codes of each metadata id, with the text that stands for them. */
const sets: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'transaction-types': {
    SEPA: 'SEPA transfer',
    CARD: 'Πληρωμή με κάρτα',
    SALARY: 'Заплата',
    TRANSFER: '振替',
  },
  'transaction-statuses': {
    COMPLETED: 'Ολοκληρώθηκε',
    INITIATED: 'Започната',
    FAILED: 'فشلت',
    PENDING: '処理中',
    CANCELLED: 'Cancelled',
  },
  'account-types': {
    current: 'Current',
    savings: 'Αποταμίευση',
    joint: 'Κοινός',
    business: 'Business',
    trust: '信託',
  },
  languages: { el: 'Ελληνικά', bg: 'Български', ja: '日本語', ar: 'العربية', en: 'English' },
};

export const seededMetadata = Object.entries(sets).flatMap(([id, codes]) =>
  Object.entries(codes).map(([code, name]) => {
    const entry: MetadataEntry = { id, code, postedBy: 'bank', text: { name } };
    return { id, entry };
  }),
);
