import type { MetadataEntry } from '../../contract/metadata.ts';
import { rowsOf, table } from '../database.ts';
import type { Handlers } from '../handlers.ts';

/** Each metadata id, with its codes and their texts. */
const codeTable = `
  transaction-types | SEPA: SEPA transfer | CARD: Πληρωμή με κάρτα | SALARY: Заплата | TRANSFER: 振替
  transaction-statuses | COMPLETED: Ολοκληρώθηκε | INITIATED: Започната | FAILED: فشلت | PENDING: 処理中 | CANCELLED: Cancelled
  account-types | current: Current | savings: Αποταμίευση | joint: Κοινός | business: Business | trust: 信託
  languages | el: Ελληνικά | bg: Български | ja: 日本語 | ar: العربية | en: English`;

/** Several entries have the same id. */
export const metadata = table<MetadataEntry>(
  rowsOf(codeTable).flatMap(([id = '', ...codes]) =>
    codes.map((entry) => {
      const [code = '', name = ''] = entry.split(': ');
      return [null, { id, code, postedBy: 'bank', text: { name } }];
    }),
  ),
);

export const metadataHandlers: Handlers<'postMetadata'> = {
  /** The metadata entries with this id; none if the bank does not know it. */
  postMetadata: ({ body, database }) => metadata(database).all.filter(({ id }) => id === body.id),
};
