import type { Account } from '../contract/account.ts';
import type { Customer } from '../contract/customer.ts';
import type { OtherAccount } from '../contract/other-account.ts';
import { bankId } from './identity.ts';
import { closedAccount, iban, slowAccount } from './payee.ts';

/** The rows of a table, a line each; its cells are separated by `|`. */
const rowsOf = (table: string): string[][] =>
  table
    .trim()
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()));

const pairs = (values: Readonly<Record<string, string | undefined>>) =>
  Object.entries(values).map(([key, string]) => ({ key, string }));

/** The customers by id, which is also the login. Each of them lacks other optional members. */
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

/**
 * Id, owners, type, label, currency, balance before the transfers of the seeded requests, views, and number of transactions; an
 * account without transactions has no counterparties either. The balance of alice-trust has more digits than a double keeps.
 */
const accountTable = `
  alice-current | alice | current | Everyday | EUR | 4250.10 | owner public | 40
  alice-savings | alice | savings | Διακοπές στη Νάξο | EUR | 12000.00 | owner public | 16
  alice-trust | alice | trust | Καταπίστευμα | EUR | 9007199254740993.25 | owner public | 16
  alice-yen | alice | current | 旅行用口座 | JPY | 384000 | owner public | 16
  bob-current | bob | business | Разплащателна сметка | EUR | 3501.10 | owner public | 16
  bob-savings | bob | savings | Нова кола | EUR | 8800.05 | owner public | 16
  bob-dollars | bob | current | Dollars | USD | 5400.20 | owner public | 16
  family-joint | alice carol | joint | Σπίτι · Home | EUR | 6120.33 | owner | 16
  carol-current | carol | current | Everyday | EUR | 2764.48 | owner public | 16
  carol-studio | carol | business | Studio Müller & Töchter | GBP | 15032.90 | owner public | 16
  carol-savings | carol | savings | Inis Oírr | EUR | 9182.50 | owner public | 16
  omar-current | omar | current | حساب جارٍ | EUR | -218.35 | owner public | 16
  yuki-current | yuki | current | 学生口座 | EUR | 0.00 | owner public | 0`;

/** The accounts, in the order in which the list of a caller gives them. */
export const seededAccounts = rowsOf(accountTable).map(
  ([id = '', owners = '', type = '', label, currency = '', amount = '', views = '', history], index) => {
    const number = String(357_001_200_000 + 137 * (index + 1)).padStart(16, '0');
    const account: Account = {
      id,
      bank_id: bankId,
      label,
      number,
      IBAN: iban('CY', `90100128${number}`),
      swift_bic: bankId,
      type: [type],
      owners: owners.split(' '),
      views_available: views.split(' '),
      balance: { currency, amount },
    };
    return { id, currency, amount, history: Number(history), account };
  },
);

/** Id, name, city, country, street, postcode, latitude and longitude. */
const branchTable = `
  nicosia-main | Λευκωσία Κεντρικό | Λευκωσία | CY | Λεωφόρος Μακαρίου Γ΄ 12 | 1065 | 35.1676 | 33.3626
  nicosia-old-town | Παλιά Πόλη | Λευκωσία | CY | Οδός Λήδρας 88 | 1011 | 35.1735 | 33.3617
  limassol-marina | Λεμεσός Μαρίνα | Λεμεσός | CY | Παραλιακή 3 | 3601 | 34.6695 | 33.0413
  larnaca-harbour | Λάρνακα Λιμάνι | Λάρνακα | CY | Λεωφόρος Αθηνών 41 | 6023 | 34.9127 | 33.6376
  paphos-castle | Πάφος Κάστρο | Πάφος | CY | Αποστόλου Παύλου 7 | 8046 | 34.7538 | 32.4069
  athens-syntagma | Αθήνα Σύνταγμα | Αθήνα | GR | Ερμού 2 | 10563 | 37.9755 | 23.7348
  thessaloniki-port | Θεσσαλονίκη Λιμάνι | Θεσσαλονίκη | GR | Νίκης 19 | 54624 | 40.6325 | 22.9407
  sofia-vitosha | София Витоша | София | BG | бул. Витоша 50 | 1000 | 42.6914 | 23.3194
  kyiv-podil | Київ Поділ | Київ | UA | вул. Сагайдачного 14 | 04070 | 50.4593 | 30.5241
  belgrade-sava | Београд Сава | Београд | RS | Карађорђева 5 | 11000 | 44.8151 | 20.4546
  tbilisi-rustaveli | თბილისი რუსთაველი | თბილისი | GE | რუსთაველის გამზირი 21 | 0108 | 41.7009 | 44.7949
  yerevan-cascade | Երևան Կասկադ | Երևան | AM | Թամանյան 10 | 0009 | 40.1892 | 44.5152
  cairo-nile | القاهرة النيل | القاهرة | EG | كورنيش النيل ١١ | 11511 | 30.0459 | 31.2243
  beirut-hamra | بيروت الحمراء | بيروت | LB | شارع الحمراء ٣٠ | 1103 | 33.8959 | 35.4785
  haifa-carmel | חיפה כרמל | חיפה | IL | שדרות הנשיא 101 | 3463 | 32.8041 | 34.9876
  delhi-connaught | दिल्ली कनॉट प्लेस | दिल्ली | IN | कनॉट प्लेस 5 | 110001 | 28.6315 | 77.2167
  bangkok-silom | กรุงเทพ สีลม | กรุงเทพมหานคร | TH | ถนนสีลม 120 | 10500 | 13.7289 | 100.5343
  tokyo-marunouchi | 東京丸の内支店 | 東京 | JP | 丸の内1-1 | 100-0005 | 35.6812 | 139.7671
  osaka-umeda | 大阪梅田支店 | 大阪 | JP | 梅田3-1-3 | 530-0001 | 34.7025 | 135.4959
  seoul-jongno | 서울 종로 지점 | 서울 | KR | 종로 33 | 03159 | 37.5704 | 126.9831
  shanghai-bund | 上海外滩支行 | 上海 | CN | 中山东一路15号 | 200002 | 31.2397 | 121.4907
  paris-opera | Paris Opéra | Paris | FR | 8 rue de la Paix | 75002 | 48.8698 | 2.3319
  zurich-limmat | Zürich Limmatquai | Zürich | CH | Limmatquai 22 | 8001 | 47.3717 | 8.543
  vienna-graben | Wien Graben | Wien | AT | Graben 17 | 1010 | 48.2087 | 16.3693
  dublin-liffey | Baile Átha Cliath | Dublin | IE | 4 Ormond Quay | D07 | 53.346 | -6.2655
  reykjavik-tjornin | Reykjavík Tjörnin | Reykjavík | IS | Lækjargata 2 | 101 | 64.1466 | -21.9365`;

/** The branches. Every fifth leaves out the optional fields, as real records may. */
export const branches = rowsOf(branchTable).map(
  ([id = '', name, city = '', country, line_1, postcode, latitude, longitude], index) => {
    const sparse = index % 5 === 4;
    return {
      id,
      bank: bankId,
      name,
      acceptsDeposits: index % 3 !== 2,
      address: sparse ? { city, country } : { city, country, line_1, postcode },
      lobby: { is24Hours: index % 4 === 0 },
      location: sparse ? undefined : { latitude: Number(latitude), longitude: Number(longitude) },
      meta: { license: index % 2 === 0 ? 'PDDL' : 'CC-BY-4.0' },
    };
  },
);

/** One product: its id, name, category, family, super family, and details. */
type ProductRow = readonly [string, string, string, string, string, readonly string[]];

const productRows: readonly ProductRow[] = [
  ['current-basic', 'Basic Current Account', 'current', 'accounts', 'retail', ['no fee']],
  ['current-plus', 'Current Account Plus', 'current', 'accounts', 'retail', ['debit card', 'overdraft free']],
  ['current-student', 'Φοιτητικός Λογαριασμός', 'current', 'accounts', 'retail', ['έως 26 ετών']],
  ['savings-flex', 'Flexible Savings', 'savings', 'deposits', 'retail', ['instant access']],
  ['savings-term', 'Προθεσμιακή Κατάθεση', 'savings', 'deposits', 'retail', ['12 μήνες', '24 μήνες']],
  ['mortgage-home', 'Ипотека „Дом“', 'mortgage', 'loans', 'retail', ['до 30 години']],
  ['loan-personal', 'Личен заем', 'loan', 'loans', 'retail', ['фиксирана лихва']],
  ['card-travel', '旅行カード', 'card', 'cards', 'retail', ['海外手数料無料', '保険付き']],
  ['card-business', 'بطاقة الأعمال', 'card', 'cards', 'business', ['حد مرتفع']],
  ['business-current', 'Business Current Account', 'current', 'accounts', 'business', ['API access']],
  ['trade-finance', 'Financement du négoce', 'finance', 'loans', 'business', ['lettres de crédit']],
  ['trust-account', 'Trust Account', 'trust', 'accounts', 'private', []],
];

export const products = productRows.map(([id, name, category, family, super_family, meta]) => ({
  id,
  bank_id: bankId,
  name,
  category,
  family,
  super_family,
  more_info_url: `https://bank.example/products/${id}`,
  meta: [...meta],
}));

/** Each metadata id, with its codes and their texts. */
const codeTable = `
  transaction-types | SEPA: SEPA transfer | CARD: Πληρωμή με κάρτα | SALARY: Заплата | TRANSFER: 振替
  transaction-statuses | COMPLETED: Ολοκληρώθηκε | INITIATED: Започната | FAILED: فشلت | PENDING: 処理中 | CANCELLED: Cancelled
  account-types | current: Current | savings: Αποταμίευση | joint: Κοινός | business: Business | trust: 信託
  languages | el: Ελληνικά | bg: Български | ja: 日本語 | ar: العربية | en: English`;

/** The entries of each metadata id. */
export const metadata = rowsOf(codeTable).flatMap(([id = '', ...codes]) =>
  codes.map((entry) => {
    const [code = '', name = ''] = entry.split(': ');
    return { id, code, postedBy: 'bank', text: { name } };
  }),
);

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

/** Id, kind, name, bank, country and number of the IBAN, and the bank's code: the employer, and those who are paid. */
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
  payee-helper | person | Nightingale | Test Bank London | GB TSTB60161331926819 | TSTBGB2L`;

const [employer, ...commonPayees] = rowsOf(payeeTable).map(
  ([id = '', kind = '', name = '', bank = '', account = '', swift_bic]) => {
    const [country = '', number] = account.split(' ');
    const held = number === undefined ? { number: account } : { IBAN: iban(country, number) };
    return payee(id, kind, name, bank, { ...held, swift_bic }, id === 'payee-helper');
  },
);

/** The counterparties of an account: first the employer, who pays it, then four of the commonPayees. */
export const payeesOf = (accountIndex: number): readonly (OtherAccount & { id: string })[] =>
  [
    employer,
    ...[0, 2, 4, 6].map((step) => commonPayees[(accountIndex + step) % commonPayees.length]),
  ].flatMap((known) => known ?? []);

/** Payees whose transfers do not complete. alice-current lacks them, because the README shows its counterparties. */
const troubled = [
  payee('payee-closed', 'closed account', 'Gone Away Ltd', 'Test Bank London', {
    IBAN: closedAccount,
    swift_bic: 'TSTBGB2L',
  }),
  payee('payee-slow', 'slow bank', 'Slow & Sure', 'Test Bank London', {
    IBAN: slowAccount,
    swift_bic: 'TSTBGB2L',
  }),
];

const trades = 'Печатница Склад Млекарна Цветарница Керамика Παραγωγή Logistik Textile'.split(' ');
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

/** Further counterparties of alice-current: a second name for one IBAN, and two machines that nobody gave an id. */
const extras: readonly OtherAccount[] = [
  { id: 'payee-deposit', kind: 'landlord', bank: 'Τράπεζα Δοκιμών', IBAN: commonPayees[0]?.IBAN },
  { bank: 'Test Bank London', kind: 'cash machine', holder: { is_alias: true, name: 'ATM 4711' } },
  { bank: 'テスト銀行', kind: 'cash machine' },
];

/** One message: the days before the start and the time of day, the department, the person, and the text. */
type MessageRow = readonly [number, string, string, string, string];

/** By customer, oldest first. */
export const messageRows: Readonly<Record<string, readonly MessageRow[]>> = {
  alice: [
    [118, '09:30', 'Welcome desk', 'Ελένη', 'Καλώς ήρθατε στην τράπεζά μας.'],
    [80, '12:00', 'Cards', 'Jürgen', 'Your new card has been sent. Gültig ab 1. März.'],
    [9, '16:45', '国際部', '佐藤', '円口座の手数料が変わります。'],
  ],
  bob: [
    [116, '08:05', 'Welcome desk', 'Иванка', 'Добре дошли!'],
    [2, '11:11', 'الأمان', 'ليلى', 'تم تسجيل الدخول من جهاز جديد.'],
  ],
  carol: [[110, '10:00', 'Business', 'Aoife', 'Your studio account is open. Sláinte! 🎉']],
  omar: [
    [93, '07:20', 'Welcome desk', 'Ελένη', 'أهلاً وسهلاً'],
    [1, '06:00', 'Accounts', 'Ελένη', 'حسابك مكشوف. يرجى الإيداع.'],
  ],
};

/** The counterparties of the account at this index of `seededAccounts`. */
export function otherAccountsOf(accountIndex: number): readonly OtherAccount[] {
  const { id, history } = seededAccounts[accountIndex] ?? {};
  if (!history) return [];
  const others = id === 'alice-current' ? extras : troubled;
  return [...payeesOf(accountIndex), ...others, ...(id === 'bob-current' ? suppliers : [])];
}
