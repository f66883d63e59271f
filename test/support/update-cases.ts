import { type BankqlFixture, exact, sentJson } from './bankql-fixture.ts';
import {
  accountRecord,
  branchRecord,
  customerRecord,
  productRecord,
  transactionRecord,
} from './full-records.ts';
import type { RecordingBank, Reply } from './recording-bank.ts';

/** Each update: its read and write, the bank's record, and the mutation. */
export interface UpdateCase {
  readonly field: string;
  /** The name of the record in the payload. */
  readonly node: string;
  readonly ids: string;
  readonly get: string;
  readonly put: string;
  readonly record: object;
  /** The bank's answer to the read. */
  readonly answer: (record: object) => object;
  /** The part of the record that is written back, as the body of the write. */
  readonly body: object;
  /** A change, its effect on the body, and a change that clears a member. */
  readonly change: string;
  readonly changed: object;
  readonly clear: string;
  readonly cleared: string;
  /** Changes of every member, and a change to the current value. */
  readonly all: string;
  readonly same: string;
  readonly readBack: string;
  /** A member of the record; it is a text in every shape. */
  readonly text: string;
}

/** For each record, the fields that are in its input and in its changes, except its bank and its ids. */
export const members = {
  account: `balance: { amount: "1.10", currency: "EUR" } iban: "iban" label: "label" number: "number" ownerIds: ["o1", "o2"]
  swiftBic: "bic" types: ["t1", "t2"] viewsAvailable: ["owner", "public"]`,
  branch: `acceptsDeposits: true lobby: { is24Hours: false } location: { latitude: 1.5, longitude: -2.25 }
  address: { line1: "1", line2: "2", line3: "3", city: "city", state: "state", postcode: "pc", country: "CY" }
  meta: { license: "PDDL" } name: "name"`,
  product: `category: "category" family: "family" meta: ["m1", "m2"] moreInfoUrl: "url" name: "name" superFamily: "super"`,
  customer: `bankIds: ["b1", "b2"] customerNumber: "n" legalName: "ln" email: "e" mobilePhoneNumber: "mpn"
  faceImage: { name: "face" } dateValues: [{ key: "k1", value: "v1" }, { key: "k2" }]
  numericValues: [{ key: "k3", value: "v3" }] stringValues: [{ value: "v4", key: "k4" }]`,
  metadata: `comments: "c" narrative: "n" tags: "t" where: "w"`,
};

const root = '/v1/api/banks/BANK';
const { metadata, ...customerBody } = customerRecord;
export const product = { ...productRecord, bank_id: ['BANK'] };
export const transactionPath = `${root}/accounts/ACC/owner/transactions/TX`;

export const updateCases: readonly UpdateCase[] = [
  {
    field: 'updateCustomer',
    node: 'customer',
    ids: 'customerId: "C"',
    get: `GET ${root}/customers/C`,
    put: `PUT ${root}/customers/C`,
    record: customerRecord,
    answer: (record) => record,
    body: customerBody,
    change: 'email: "new", dateValues: [{ key: "k", value: "v" }, { key: "alone" }]',
    changed: { email: 'new', date_values: [{ key: 'k', string: 'v' }, { key: 'alone' }] },
    clear: 'faceImage: null',
    cleared: 'face_image',
    all: members.customer,
    same: 'email: "email"',
    readBack: 'bank { customer(customerId: "C") { version } }',
    text: 'legal_name',
  },
  {
    field: 'updateAccount',
    node: 'account',
    ids: 'accountId: "ACC"',
    get: `GET ${root}/accounts/ACC/owner/views`,
    put: `PUT ${root}/accounts/ACC`,
    record: accountRecord,
    answer: (record) => ({ accounts: [record] }),
    body: accountRecord,
    change: 'label: "new", balance: { currency: "USD" }',
    changed: { label: 'new', balance: { currency: 'USD', amount: exact('9007199254740993.250') } },
    clear: 'iban: null',
    cleared: 'IBAN',
    all: `bankIds: ["B"] ${members.account}`,
    same: 'label: "label"',
    readBack: 'bank { account(accountId: "ACC") { version } }',
    text: 'label',
  },
  {
    field: 'updateBranch',
    node: 'branch',
    ids: 'branchId: "branch-id"',
    get: `GET ${root}/branches`,
    put: `PUT ${root}/branches/branch-id`,
    record: {
      ...branchRecord,
      location: { latitude: exact('37.979450'), longitude: exact('1.0000000000000000001') },
    },
    answer: (record) => ({ branches: [{ acceptsDeposits: true, id: 'other' }, record] }),
    body: {
      ...branchRecord,
      location: { latitude: exact('37.979450'), longitude: exact('1.0000000000000000001') },
    },
    change: 'bankName: "new", address: { line1: "new", line2: null }',
    changed: {
      bank: 'new',
      address: {
        city: 'city',
        country: 'country',
        line_1: 'new',
        line_3: 'line-3',
        postcode: 'postcode',
        state: 'state',
      },
    },
    clear: 'meta: null',
    cleared: 'meta',
    all: `bankName: "bank" ${members.branch}`,
    same: 'name: "branch-name"',
    readBack: 'bank { branch(branchId: "branch-id") { version } }',
    text: 'name',
  },
  {
    field: 'updateProduct',
    node: 'product',
    ids: 'productId: "product-id"',
    get: `GET ${root}/products/product-id`,
    put: `PUT ${root}/products`,
    record: product,
    answer: (record) => record,
    body: { ...product, bank_id: 'BANK' },
    change: 'name: "new", meta: []',
    changed: { name: 'new', meta: [] },
    clear: 'moreInfoUrl: null',
    cleared: 'more_info_url',
    all: `bankIds: ["B"] ${members.product}`,
    same: 'name: "product-name"',
    readBack: 'bank { product(productId: "product-id") { version } }',
    text: 'name',
  },
  {
    field: 'annotateTransaction',
    node: 'transaction',
    ids: 'accountId: "ACC", transactionId: "TX", metadataType: "M"',
    get: `GET ${transactionPath}/transaction`,
    put: `PUT ${transactionPath}/metadata/M`,
    record: transactionRecord,
    answer: (record) => record,
    body: transactionRecord,
    change: 'comments: "new", tags: null',
    changed: { metadata: { comments: 'new', narrative: 'narrative', where: 'where' } },
    clear: 'comments: null, narrative: null, tags: null, where: null',
    cleared: 'metadata',
    all: members.metadata,
    same: 'tags: "tags"',
    readBack: 'bank { account(accountId: "ACC") { transaction(transactionId: "TX") { version } } }',
    text: 'uuid',
  },
];

/** A value with its numbers in the form in which sentJson returns them. */
export const numbered = (value: object): unknown => sentJson({ body: JSON.stringify(value) } as never);

export const update = (it: UpdateCase, changes: string, selection = 'trackId', ifVersion?: string) =>
  `${it.field}(input: { ${it.ids}, changes: { ${changes} }${
    ifVersion === undefined ? '' : `, ifVersion: "${ifVersion}"`
  } }) { ${selection} }`;

/** A bank that has the record, and answers a write with the written record. */
export function serve(bank: RecordingBank, it: UpdateCase): { record: object } {
  const state = { record: it.record };
  bank.on(it.get, () => ({ body: it.answer(state.record) }));
  bank.on(it.put, ({ body }): Reply => ({ body: asAnswered(it, body) }));
  return state;
}

/** A body in the form of an answer: with a product's bank as a list, and with a customer's metadata. */
export const asAnswered = ({ node }: UpdateCase, body: string): string => {
  if (node === 'customer') return JSON.stringify({ ...JSON.parse(body), metadata });
  return node === 'product' ? body.replace('"bank_id":"BANK"', '"bank_id":["BANK"]') : body;
};

export const versionIn = (data: unknown): string =>
  /"version":"([^"]+)"/.exec(JSON.stringify(data))?.[1] ?? '';

export const [customer, account, branch, products, transaction] = updateCases as [
  UpdateCase,
  UpdateCase,
  UpdateCase,
  UpdateCase,
  UpdateCase,
];

/** The record of this case at the fixture's bank, and what an update of it does. */
export function serveCase({ ask, bank }: Pick<BankqlFixture, 'ask' | 'bank'>, it: UpdateCase) {
  return {
    state: serve(bank, it),
    update: (changes: string, selection?: string, ifVersion?: string) =>
      ask(`mutation { ${update(it, changes, selection, ifVersion)} }`),
    version: async () => versionIn((await ask(`{ ${it.readBack} }`)).data),
    /** Delays all writes until the returned function is called. */
    hold() {
      const held = Promise.withResolvers<void>();
      bank.on(it.put, async ({ body }) => {
        await held.promise;
        return { body: asAnswered(it, body) };
      });
      return held.resolve;
    },
    /** The body of the last write, with the digits of its numbers. */
    sent() {
      const put = bank.calls.findLast(({ method }) => method === 'PUT');
      return put && sentJson(put);
    },
    /** The bodies of all writes. */
    written: () => bank.calls.filter(({ method }) => method === 'PUT').map(({ body }) => JSON.parse(body)),
  };
}
