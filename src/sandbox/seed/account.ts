import type { Account } from '../../contract/account.ts';
import { bankId } from '../identity.ts';
import { iban } from './iban.ts';

/** What is otherwise than with most accounts. */
interface Exceptions {
  /** Both of them where it is left out. */
  readonly views?: readonly string[];
  /** How many transactions it has; 16 where it is left out. With none it has no counterparties either. */
  readonly history?: number;
}

/** One account: its id, owners, type, label, currency, and balance before the transfers of the seeded requests. */
type Row = readonly [string, readonly string[], string, string, string, string, Exceptions?];

const rows: readonly Row[] = [
  ['alice-current', ['alice'], 'current', 'Everyday', 'EUR', '4250.10', { history: 40 }],
  ['alice-savings', ['alice'], 'savings', 'Διακοπές στη Νάξο', 'EUR', '12000.00'],
  // More digits than a double keeps: whoever reads it as one is off by cents and more.
  ['alice-trust', ['alice'], 'trust', 'Καταπίστευμα', 'EUR', '9007199254740993.25'],
  ['alice-yen', ['alice'], 'current', '旅行用口座', 'JPY', '384000'],
  // A business: two of its 200 suppliers have been paid 325.50.
  ['bob-current', ['bob'], 'business', 'Разплащателна сметка', 'EUR', '3501.10'],
  ['bob-savings', ['bob'], 'savings', 'Нова кола', 'EUR', '8800.05'],
  ['bob-dollars', ['bob'], 'current', 'Dollars', 'USD', '5400.20'],
  ['family-joint', ['alice', 'carol'], 'joint', 'Σπίτι · Home', 'EUR', '6120.33', { views: ['owner'] }],
  ['carol-current', ['carol'], 'current', 'Everyday', 'EUR', '2764.48'],
  ['carol-studio', ['carol'], 'business', 'Studio Müller & Töchter', 'GBP', '15032.90'],
  ['carol-savings', ['carol'], 'savings', 'Inis Oírr', 'EUR', '9182.50'],
  ['omar-current', ['omar'], 'current', 'حساب جارٍ', 'EUR', '-218.35'],
  ['yuki-current', ['yuki'], 'current', '学生口座', 'EUR', '0.00', { history: 0 }],
];

/** The accounts, in the order in which the list of a caller gives them. */
export const seededAccounts = rows.map(
  (
    [id, owners, type, label, currency, amount, { views = ['owner', 'public'], history = 16 } = {}],
    index,
  ) => {
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
      views_available: [...views],
      balance: { currency, amount },
    };
    return { id, currency, amount, history, account };
  },
);
