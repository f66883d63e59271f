import type { OtherAccount } from '../../contract/other-account.ts';
import { childTable, rowsOf } from '../database.ts';
import type { Handlers } from '../handlers.ts';
import { iban } from '../iban.ts';
import { ownerView, seededAccounts } from './account.ts';

/** A counterparty that several accounts may have. */
type Payee = OtherAccount & { readonly id: string };

/**
 * The columns: id, kind, name, bank, the IBAN's country and number, and the bank's code. The rows: the employer, the usual
 * payees, and two payees to whom transfers do not complete.
 */
const payeeTable = `
  payee-employer | employer | Μεσόγειος Τεχνολογία ΑΕ | Ελληνική Δοκιμαστική | GR 01101250000000012300695 | TSTAGRAA
  payee-landlord | landlord | Ανδρέας Ιωάννου | Τράπεζα Δοκιμών | CY 002001280000001200527600 | TSTBCY2N
  payee-bakery | shop | Пекарна „Зора“ | Тестова банка | BG TSTB96611020345678 | TSTBBGSF
  payee-books | shop | 紀伊國屋書店 | テスト銀行 | 0012345 | TSTBJPJT
  payee-market | shop | سوق النور | بنك الاختبار | EG 0019000500000000263180002 | TSTBEGCX
  payee-rail | travel | Reisebahn Süd GmbH | Testbank Berlin | DE 100500001234567890 | TSTBDEBB
  payee-insurance | insurance | Assurances Étoile | Banque d’Essai | FR 20041010050500013M02606 | TSTBFRPP
  payee-electricity | utility | Αρχή Ηλεκτρισμού | Τράπεζα Δοκιμών | CY 002001280000001200527611 | TSTBCY2N
  payee-museum | culture | ეროვნული მუზეუმი | სატესტო ბანკი | GE TB0000000101904917
  payee-helper | person | Nightingale | Test Bank London | GB TSTB60161331926819 | TSTBGB2L
  payee-closed | closed account | Gone Away Ltd | Test Bank London | GB TSTB60161300000001 | TSTBGB2L
  payee-slow | slow bank | Slow & Sure | Test Bank London | GB TSTB60161300000002 | TSTBGB2L`;

const [employer, ...known] = rowsOf(payeeTable).map(
  ([id = '', kind = '', name = '', bank = '', account = '', swift_bic]): Payee => {
    const [country = '', number] = account.split(' ');
    const held = number === undefined ? { number: account } : { IBAN: iban(country, number) };
    // This name is an alias, not the holder's own name.
    const holder = { is_alias: id === 'payee-helper', name };
    return { id, kind, bank, holder, ...held, swift_bic };
  },
);

/**
 * `troubled`: the payees to whom transfers do not complete. alice-current lacks them, because the README shows its
 * counterparties.
 */
const [commonPayees, troubled] = [known.slice(0, -2), known.slice(-2)];

/** The counterparties of an account: first the employer, who pays it, then four of the commonPayees. */
export const payeesOf = (accountIndex: number): readonly Payee[] =>
  [
    employer,
    ...[0, 2, 4, 6].map((step) => commonPayees[(accountIndex + step) % commonPayees.length]),
  ].flatMap((payee) => payee ?? []);

const trades = 'Печатница Склад Млекарна Цветарница Керамика Παραγωγή Logistik Textile'.split(' ');
const towns =
  'Варна Русе Пловдив Бургас Плевен Сливен Добрич Шумен Перник Хасково Ямбол Враца Видин Габрово Смолян Ловеч Разград Силистра Кърджали Монтана Търговище Казанлък Асеновград Велинград Самоков'.split(
    ' ',
  );

/** The suppliers of bob's business: `supplier-001` to `supplier-200`. */
const suppliers = towns
  .flatMap((town) => trades.map((trade) => `${trade} ${town}`))
  .map((name, index): Payee => {
    const number = String(index + 1).padStart(3, '0');
    const account = { IBAN: iban('BG', `TSTB96611020400${number}`), swift_bic: 'TSTBBGSF' };
    const holder = { is_alias: false, name };
    return { id: `supplier-${number}`, kind: 'supplier', bank: 'Тестова банка', holder, ...account };
  });

/** Further counterparties of alice-current: a second name for one IBAN, and two cash machines without an id. */
const extras: readonly OtherAccount[] = [
  { id: 'payee-deposit', kind: 'landlord', bank: 'Τράπεζα Δοκιμών', IBAN: commonPayees[0]?.IBAN },
  { bank: 'Test Bank London', kind: 'cash machine', holder: { is_alias: true, name: 'ATM 4711' } },
  { bank: 'テスト銀行', kind: 'cash machine' },
];

/** The counterparties by account id. An account without transactions has no counterparties either. */
export const otherAccounts = childTable<OtherAccount>((accountId) => {
  const index = seededAccounts.findIndex(({ id }) => id === accountId);
  if (!seededAccounts[index]?.history) return [];
  const others = accountId === 'alice-current' ? extras : troubled;
  const all = [...payeesOf(index), ...others, ...(accountId === 'bob-current' ? suppliers : [])];
  return all.map((other) => [other.id ?? null, other]);
});

export const otherAccountHandlers: Handlers<'getOtherAccounts' | 'postOtherAccounts'> = {
  /** The account's counterparties. Errors: as ownerView. */
  getOtherAccounts: ({ ids, caller, database }) => {
    ownerView(database, ids, caller);
    return otherAccounts(database, ids.ACCOUNT_ID).all;
  },

  /** The counterparties with exactly this IBAN, and this id if the query has one. Errors: as ownerView. */
  postOtherAccounts: ({ ids, body, caller, database }) => {
    ownerView(database, ids, caller);
    return otherAccounts(database, ids.ACCOUNT_ID).all.filter(
      ({ IBAN, id }) => IBAN === body.IBAN && (body.id === undefined || id === body.id),
    );
  },
};
