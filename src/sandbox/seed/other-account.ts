import type { OtherAccount } from '../../contract/other-account.ts';
import { closedAccount, slowAccount } from '../outcomes.ts';
import { seededAccounts } from './account.ts';
import { iban } from './iban.ts';

/** A counterparty whom several accounts may have; an `is_alias` name is not the holder's own. */
function payee(
  id: string,
  kind: string,
  name: string,
  bank: string,
  account: Pick<OtherAccount, 'IBAN' | 'number' | 'swift_bic'>,
  isAlias = false,
): OtherAccount & { id: string } {
  return { id, kind, bank, holder: { is_alias: isAlias, name }, ...account };
}

const employer = payee('payee-employer', 'employer', 'Μεσόγειος Τεχνολογία ΑΕ', 'Ελληνική Δοκιμαστική', {
  IBAN: iban('GR', '01101250000000012300695'),
  swift_bic: 'TSTAGRAA',
});
const landlordIban = iban('CY', '002001280000001200527600');
const others = [
  payee('payee-landlord', 'landlord', 'Ανδρέας Ιωάννου', 'Τράπεζα Δοκιμών', {
    IBAN: landlordIban,
    swift_bic: 'TSTBCY2N',
  }),
  payee('payee-bakery', 'shop', 'Пекарна „Зора“', 'Тестова банка', {
    IBAN: iban('BG', 'TSTB96611020345678'),
  }),
  payee('payee-books', 'shop', '紀伊國屋書店', 'テスト銀行', { number: '0012345', swift_bic: 'TSTBJPJT' }),
  payee('payee-market', 'shop', 'سوق النور', 'بنك الاختبار', {
    IBAN: iban('EG', '0019000500000000263180002'),
  }),
  payee('payee-rail', 'travel', 'Reisebahn Süd GmbH', 'Testbank Berlin', {
    IBAN: iban('DE', '100500001234567890'),
    swift_bic: 'TSTBDEBB',
  }),
  payee('payee-insurance', 'insurance', 'Assurances Étoile', 'Banque d’Essai', {
    IBAN: iban('FR', '20041010050500013M02606'),
  }),
  payee('payee-electricity', 'utility', 'Αρχή Ηλεκτρισμού', 'Τράπεζα Δοκιμών', {
    IBAN: iban('CY', '002001280000001200527611'),
  }),
  payee('payee-museum', 'culture', 'ეროვნული მუზეუმი', 'სატესტო ბანკი', {
    IBAN: iban('GE', 'TB0000000101904917'),
  }),
  payee(
    'payee-helper',
    'person',
    'Nightingale',
    'Test Bank London',
    { IBAN: iban('GB', 'TSTB60161331926819') },
    true,
  ),
];

/** Whom an account pays, and by whom it is paid: the employer first, then four of the others in turn. */
export function payeesOf(accountIndex: number): readonly (OtherAccount & { id: string })[] {
  return [
    employer,
    ...[0, 1, 2, 3].map((step) => others[(accountIndex + 2 * step) % others.length] ?? employer),
  ];
}

/** Whom it does not go well to pay. The counterparties of alice-current are known to the README. */
const troubled = [
  payee('payee-closed', 'closed account', 'Gone Away Ltd', 'Test Bank London', { IBAN: closedAccount }),
  payee('payee-slow', 'slow bank', 'Slow & Sure', 'Test Bank London', { IBAN: slowAccount }),
];

const trades = [
  'Печатница',
  'Склад',
  'Млекарна',
  'Цветарница',
  'Керамика',
  'Παραγωγή',
  'Logistik',
  'Textile',
];
const towns =
  'Варна Русе Пловдив Бургас Плевен Сливен Добрич Шумен Перник Хасково Ямбол Враца Видин Габрово Смолян Ловеч Разград Силистра Кърджали Монтана Търговище Казанлък Асеновград Велинград Самоков'.split(
    ' ',
  );

/** The suppliers of bob's business: `supplier-001` to `supplier-200`. */
const suppliers = towns.flatMap((town, row) =>
  trades.map((trade, column) => {
    const number = String(row * trades.length + column + 1).padStart(3, '0');
    return payee(`supplier-${number}`, 'supplier', `${trade} ${town}`, 'Тестова банка', {
      IBAN: iban('BG', `TSTB96611020400${number}`),
      swift_bic: 'TSTBBGSF',
    });
  }),
);

/** What alice-current has besides: a second name for one IBAN, and two machines that nobody gave an id. */
const extras: readonly OtherAccount[] = [
  { id: 'payee-deposit', kind: 'landlord', bank: 'Τράπεζα Δοκιμών', IBAN: landlordIban },
  { bank: 'Test Bank London', kind: 'cash machine', holder: { is_alias: true, name: 'ATM 4711' } },
  { bank: 'テスト銀行', kind: 'cash machine' },
];

export const seededOtherAccounts: readonly { accountId: string; otherAccount: OtherAccount }[] = [
  ...seededAccounts.flatMap(({ id, history }, index) =>
    history === 0
      ? []
      : [...payeesOf(index), ...(id === 'alice-current' ? [] : troubled)].map((otherAccount) => ({
          accountId: id,
          otherAccount,
        })),
  ),
  ...suppliers.map((otherAccount) => ({ accountId: 'bob-current', otherAccount })),
  ...extras.map((otherAccount) => ({ accountId: 'alice-current', otherAccount })),
];
