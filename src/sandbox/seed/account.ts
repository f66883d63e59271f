import type { Account } from '../../contract/account.ts';
import { bankId } from '../identity.ts';
import { iban } from './iban.ts';

/** One account: its id, owners, type, label, currency and balance; and its views where it has not both. */
type Row = readonly [string, readonly string[], string, string, string, string, (readonly string[])?];

const rows: readonly Row[] = [
  ['alice-current', ['alice'], 'current', 'Everyday', 'EUR', '4250.10'],
  ['alice-savings', ['alice'], 'savings', 'Διακοπές στη Νάξο', 'EUR', '12000.00'],
  // More digits than a double keeps: whoever reads it as one is off by cents and more.
  ['alice-trust', ['alice'], 'trust', 'Καταπίστευμα', 'EUR', '9007199254740993.25'],
  ['alice-yen', ['alice'], 'current', '旅行用口座', 'JPY', '384000'],
  ['bob-current', ['bob'], 'current', 'Разплащателна сметка', 'EUR', '3175.60'],
  ['bob-savings', ['bob'], 'savings', 'Нова кола', 'EUR', '8800.05'],
  ['bob-dollars', ['bob'], 'current', 'Dollars', 'USD', '5400.20'],
  ['family-joint', ['alice', 'carol'], 'joint', 'Σπίτι · Home', 'EUR', '6120.33', ['owner']],
  ['carol-current', ['carol'], 'current', 'Everyday', 'EUR', '2764.48'],
  ['carol-studio', ['carol'], 'business', 'Studio Müller & Töchter', 'GBP', '15032.90'],
  ['yuki-current', ['yuki'], 'current', '普通預金', 'JPY', '918250'],
  ['omar-current', ['omar'], 'current', 'حساب جارٍ', 'EUR', '1984.75'],
];

/** The accounts, in the order in which the list of a caller gives them. */
export const seededAccounts = rows.map(([id, owners, type, label, currency, amount, views], index) => {
  const number = String(357_001_200_000 + 137 * (index + 1)).padStart(16, '0');
  const account: Account = {
    id,
    bank_id: bankId,
    label,
    number,
    IBAN: iban('CY', `90100128${number}`),
    swift_bic: bankId,
    type: [type],
    owners: [...owners],
    views_available: [...(views ?? ['owner', 'public'])],
    balance: { currency, amount },
  };
  return { id, currency, amount, account };
});
