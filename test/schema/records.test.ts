import { describe, expect, test } from 'vitest';
import { failuresOf, shareBankqlFixture } from '../support/bankql-fixture.ts';
import {
  accountRecord,
  branchRecord,
  customerRecord,
  messageRecord,
  metadataRecord,
  otherAccountRecord,
  productRecord,
  transactionRecord,
  transactionRequestRecord,
} from '../support/full-records.ts';

const { bank, ask } = await shareBankqlFixture();

/** A record type: its query, its selection, the expected answer, and for each invalid value the places of the errors. */
interface RecordType {
  readonly name: string;
  readonly record: object;
  readonly reply: (record: object) => object;
  readonly query: string;
  readonly at: string;
  /** The answer in GraphQL for the whole record, without the fields that the ids answer. */
  readonly whole: object;
  /** A record without the fields that the bank may leave out. */
  readonly least: object;
  /** The fields that are not null in the answer for the record `least`. */
  readonly ofIds: object;
  /** Places in the record, an invalid value for each, and the places in the answer that become null. */
  readonly values: readonly (readonly [string, unknown, ...string[]])[];
}

/**
 * Puts a boolean in each of these places. `legal_name: legalName`: the place in the record, and the place in the answer that
 * becomes null.
 */
const booleans = (...places: readonly string[]) =>
  places
    .flatMap((some) => some.split(', '))
    .map((place) => {
      const [rest = '', fields = rest] = place.split(': ');
      return [rest, true, ...fields.split(' ')] as const;
    });

const viewed = { bankId: 'BANK', accountId: 'ACC', viewId: 'owner' };
const named = (bankId: string, accountId: string) => ({
  bankId,
  accountId,
  account: { bankId, accountId, viewId: 'owner' },
});

const types: readonly RecordType[] = [
  {
    name: 'a customer',
    record: customerRecord,
    reply: (record) => record,
    query: `{ bank { customer(customerId: "C") {
      customerNumber legalName email mobilePhoneNumber faceImage { name } dateValues { key value }
      numericValues { key value } stringValues { key value } metadata bankIds banks { bankId } bankId customerId bank { bankId }
    } } }`,
    at: 'bank.customer',
    whole: {
      customerNumber: 'customer-number',
      legalName: 'legal-name',
      email: 'email',
      mobilePhoneNumber: 'mobile-phone-number',
      faceImage: { name: 'face-name' },
      dateValues: [{ key: 'date-key', value: 'date-string' }],
      numericValues: [{ key: 'numeric-key', value: 'numeric-string' }],
      stringValues: [
        { key: 'string-key-1', value: 'string-string-1' },
        { key: 'string-key-2', value: null },
      ],
      metadata: ['metadata-1', 'metadata-2'],
      bankIds: ['bank-id-1', 'bank-id-2'],
      banks: [{ bankId: 'bank-id-1' }, { bankId: 'bank-id-2' }],
    },
    least: {},
    ofIds: { bankId: 'BANK', customerId: 'C', bank: { bankId: 'BANK' } },
    values: [
      ...booleans(
        'customer_number: customerNumber, mobile_phone_number: mobilePhoneNumber',
        'face_image.name: faceImage.name, numeric_values.0.string: numericValues.0.value, metadata.1',
        'bank_id.1: bankIds.1 banks.1, bank_id: bankIds banks',
      ),
      ['legal_name', {}, 'legalName'],
      ['email', [], 'email'],
      ['face_image', 'face', 'faceImage'],
      ['face_image', {}, 'faceImage.name'],
      ['date_values', {}, 'dateValues'],
      ['date_values.0', 'x', 'dateValues.0'],
      ['string_values.1.key', null, 'stringValues.1.key'],
      ['metadata', 'x', 'metadata'],
    ],
  },
  {
    name: 'an account',
    record: accountRecord,
    reply: (record) => ({ accounts: [record] }),
    query: `{ bank { account(accountId: "ACC") {
      bankIds label number iban swiftBic types balance { currency amount } viewsAvailable ownerIds
      owners { customerId bankId } bankId accountId viewId bank { bankId }
    } } }`,
    at: 'bank.account',
    whole: {
      bankIds: ['BANK'],
      label: 'label',
      number: 'account-number',
      iban: 'account-iban',
      swiftBic: 'account-swift-bic',
      types: ['type-1', 'type-2'],
      balance: { currency: 'EUR', amount: '9007199254740993.250' },
      viewsAvailable: ['view-1', 'view-2'],
      ownerIds: ['owner-1', 'owner-2'],
      owners: [
        { customerId: 'owner-1', bankId: 'BANK' },
        { customerId: 'owner-2', bankId: 'BANK' },
      ],
    },
    least: { balance: {} },
    ofIds: { ...viewed, bank: { bankId: 'BANK' }, balance: { currency: null, amount: null } },
    values: [
      ...booleans(
        'label, number, IBAN: iban, swift_bic: swiftBic, type: types, type.0: types.0, balance.currency',
        'balance.amount, owners.0: ownerIds.0 owners.0',
      ),
      ['bank_id', ['x', 'y'], 'bankIds'],
      ['owners.0', { name: 'no id' }, 'ownerIds.0', 'owners.0'],
      ['balance.amount', '1,234.50', 'balance.amount'],
      ['balance', undefined, 'balance'],
      ['balance', null, 'balance'],
      ['balance.amount', 'a lot', 'balance.amount'],
      ['views_available.1', null, 'viewsAvailable.1'],
    ],
  },
  {
    name: 'a counterparty',
    record: otherAccountRecord,
    reply: (record) => ({ otherAccounts: [{ bank: 'before' }, record] }),
    query: `{ bank { account(accountId: "ACC") { otherAccounts { nodes {
      otherAccountId bankName holder { name isAlias } kind number iban swiftBic
      bankId accountId viewId account { bankId accountId viewId }
    } } } } }`,
    at: 'bank.account.otherAccounts.nodes.1',
    whole: {
      otherAccountId: 'other-id',
      bankName: 'other-bank',
      holder: { name: 'holder-name', isAlias: true },
      kind: 'kind',
      number: 'other-number',
      iban: 'other-iban',
      swiftBic: 'other-swift-bic',
    },
    least: { bank: 'B' },
    ofIds: { ...viewed, account: viewed, bankName: 'B' },
    values: [
      ...booleans(
        'bank: bankName, holder.name, kind, number, IBAN: iban, swift_bic: swiftBic, id: otherAccountId',
      ),
      ['bank', undefined, 'bankName'],
      ['holder', 'x', 'holder'],
      ['holder.is_alias', 'yes', 'holder.isAlias'],
    ],
  },
  {
    name: 'a branch',
    record: branchRecord,
    reply: (record) => ({ branches: [{ acceptsDeposits: true }, record] }),
    query: `{ bank { branches { nodes {
      branchId bankName name acceptsDeposits address { line1 line2 line3 city state postcode country }
      lobby { is24Hours } location { latitude longitude } meta { license } bankId bank { bankId }
    } } } }`,
    at: 'bank.branches.nodes.1',
    whole: {
      branchId: 'branch-id',
      bankName: 'branch-bank',
      name: 'branch-name',
      acceptsDeposits: true,
      address: {
        line1: 'line-1',
        line2: 'line-2',
        line3: 'line-3',
        city: 'city',
        state: 'state',
        postcode: 'postcode',
        country: 'country',
      },
      lobby: { is24Hours: false },
      location: { latitude: 37.97945, longitude: 23.71622 },
      meta: { license: 'license' },
    },
    least: { acceptsDeposits: false },
    ofIds: { bankId: 'BANK', bank: { bankId: 'BANK' }, acceptsDeposits: false },
    values: [
      ...booleans('bank: bankName, name, address.line_2: address.line2, id: branchId'),
      ['acceptsDeposits', 'yes', 'acceptsDeposits'],
      ['acceptsDeposits', undefined, 'acceptsDeposits'],
      ['address', 'x', 'address'],
      ['address.city', undefined, 'address.city'],
      ['lobby.is24Hours', 1, 'lobby.is24Hours'],
      ['location.latitude', '37 N', 'location.latitude'],
      ['location.longitude', '23 E', 'location.longitude'],
      ['meta', ['x'], 'meta'],
      ['meta.license', null, 'meta.license'],
    ],
  },
  {
    name: 'a product',
    record: productRecord,
    reply: (record) => record,
    query: `{ bank { product(productId: "P") {
      bankIds name category family superFamily moreInfoUrl meta bankId productId bank { bankId }
    } } }`,
    at: 'bank.product',
    whole: {
      bankIds: ['product-bank-id-1', 'product-bank-id-2'],
      name: 'product-name',
      category: 'category',
      family: 'family',
      superFamily: 'super-family',
      moreInfoUrl: 'more-info-url',
      meta: ['product-meta-1', 'product-meta-2'],
    },
    least: {},
    ofIds: { bankId: 'BANK', productId: 'P', bank: { bankId: 'BANK' } },
    values: [
      ...booleans(
        'bank_id: bankIds, bank_id.0: bankIds.0, name, category, family, super_family: superFamily',
        'more_info_url: moreInfoUrl',
      ),
      ['meta.1', {}, 'meta.1'],
    ],
  },
  {
    name: 'a product in a list',
    record: { ...productRecord, bank_id: 'one' },
    reply: (record) => ({ product: [{}, record] }),
    query: '{ bank { products(filter: { id: "Q" }) { nodes { productId bankIds name } } } }',
    at: 'bank.products.nodes.1',
    whole: { productId: 'product-id', bankIds: ['one'], name: 'product-name' },
    least: {},
    ofIds: {},
    values: [...booleans('name, id: productId'), ['bank_id', ['x', 'y'], 'bankIds']],
  },
  {
    name: 'a message',
    record: messageRecord,
    reply: (record) => ({ messages: [{}, record] }),
    query: '{ bank { messages { nodes { message fromDepartment fromPerson date } } } }',
    at: 'bank.messages.nodes.1',
    whole: { message: 'message', fromDepartment: 'from-department', fromPerson: 'from-person', date: 'date' },
    least: {},
    ofIds: {},
    values: [...booleans('message, from_department: fromDepartment, from_person: fromPerson, date')],
  },
  {
    name: 'a metadata entry',
    record: metadataRecord,
    reply: (record) => ({ metadata: [{ code: 'c' }, record] }),
    query: '{ metadata(id: "M") { nodes { metadataId code postedBy text { name } } } }',
    at: 'metadata.nodes.1',
    whole: { metadataId: 'metadata-id', code: 'code', postedBy: 'posted-by', text: { name: 'text-name' } },
    least: { code: 'C' },
    ofIds: { code: 'C' },
    values: [
      ...booleans('postedBy, id: metadataId'),
      ['code', undefined, 'code'],
      ['text', 'x', 'text'],
      ['text.name', undefined, 'text.name'],
    ],
  },
  {
    name: 'a transaction',
    record: transactionRecord,
    reply: (record) => record,
    query: `{ bank { account(accountId: "ACC") { transaction(transactionId: "TX") {
      uuid details {
        approvedByIpAddress approvedByUserId cancelledByIpAddress cancelledByUserId completed description
        newBalance { currency amount } pausedByIpAddress pausedByUserId posted postedByIpAddress postedByUserId
        status type value { currency amount }
      }
      metadata { comments narrative tags where } otherAccountId
      otherAccount { bankId accountId viewId otherAccountId }
      bankId accountId viewId transactionId account { bankId accountId viewId }
    } } } }`,
    at: 'bank.account.transaction',
    whole: {
      uuid: 'uuid',
      details: {
        approvedByIpAddress: 'approved-by-ip',
        approvedByUserId: 'approved-by-user',
        cancelledByIpAddress: 'cancelled-by-ip',
        cancelledByUserId: 'cancelled-by-user',
        completed: 'completed',
        description: 'details-description',
        newBalance: { currency: 'new-balance-currency', amount: '100.10' },
        pausedByIpAddress: 'paused-by-ip',
        pausedByUserId: 'paused-by-user',
        posted: 'posted',
        postedByIpAddress: 'posted-by-ip',
        postedByUserId: 'posted-by-user',
        status: 'details-status',
        type: 'details-type',
        value: { currency: 'value-currency', amount: '-0.010' },
      },
      metadata: { comments: 'comments', narrative: 'narrative', tags: ['tags'], where: 'where' },
      otherAccountId: 'other-account',
      otherAccount: { ...viewed, otherAccountId: 'other-account' },
    },
    least: {},
    ofIds: { ...viewed, transactionId: 'TX', account: viewed },
    values: [
      ...booleans('uuid, details.description, details.value, metadata.where, metadata.tags'),
      ['details', 'x', 'details'],
      ['details.status', {}, 'details.status'],
      ['details.new_balance.amount', undefined, 'details.newBalance.amount'],
      ['details.value.amount', '1 €', 'details.value.amount'],
      ['metadata', ['x'], 'metadata'],
      ['other_account', {}, 'otherAccountId', 'otherAccount'],
    ],
  },
  {
    name: 'a transaction request',
    record: transactionRequestRecord,
    reply: (record) => ({ 'transaction-requests': [{}, record] }),
    query: `{ bank { account(accountId: "ACC") { transactionRequests { nodes {
      description resourceUrl status startDate endDate challenge value { currency amount }
      from { bankId accountId account { bankId accountId viewId } }
      to { bankId accountId account { bankId accountId viewId } }
      transactionIds transactions { bankId accountId viewId transactionId }
    } } } } }`,
    at: 'bank.account.transactionRequests.nodes.1',
    whole: {
      description: 'request-description',
      resourceUrl: 'resource-url',
      status: 'COMPLETED',
      startDate: 'start-date',
      endDate: 'end-date',
      challenge: 'challenge',
      value: { currency: 'request-currency', amount: '12.50' },
      from: named('from-bank', 'from-account'),
      to: named('to-bank', 'to-account'),
      transactionIds: ['TX-1', 'TX-2'],
      transactions: [
        { ...viewed, transactionId: 'TX-1' },
        { ...viewed, transactionId: 'TX-2' },
      ],
    },
    least: {},
    ofIds: {},
    values: [
      ...booleans(
        'description, resource_url: resourceUrl, status, start_date: startDate, end_date: endDate',
        'challenge, from.account_id: from.accountId from.account, from.bank_id: from.bankId from.account',
        'body.to: to, body.value: value',
      ),
      ['transaction_ids', [true], 'transactionIds', 'transactions'],
      ['transaction_ids', '[TX', 'transactionIds', 'transactions'],
      ['transaction_ids', ['TX 1'], 'transactionIds', 'transactions'],
      ['from', 'x', 'from'],
      ['body', 'x', 'to', 'value'],
      ['body.to.account_id', {}, 'to.accountId', 'to.account'],
      ['body.value.amount', '1e', 'value.amount'],
    ],
  },
];

const valueAt = (data: unknown, place: string) =>
  place.split('.').reduce<unknown>((part, name) => Reflect.get(Object(part), name), data);
const nulls = (value: object) => Object.fromEntries(Object.keys(value).map((name) => [name, null]));

/** A copy of the record (an answer's JSON) with this value in this place; undefined removes the place. */
function withValue(record: object, place: string, value: unknown): object {
  const copy = (part: unknown, [name, ...rest]: readonly string[]): unknown => {
    if (name === undefined) return value;
    if (Array.isArray(part))
      return part.map((entry, index) => (index === Number(name) ? copy(entry, rest) : entry));
    return typeof part === 'object' && part !== null
      ? { ...part, [name]: copy(Reflect.get(part, name), rest) }
      : part;
  };
  return Object(copy(record, place.split('.')));
}

/** The answer's data with null in these places. */
function withNulls(data: unknown, places: readonly string[]): unknown {
  const copy: unknown = structuredClone(data);
  for (const place of places) {
    const end = place.lastIndexOf('.');
    Reflect.set(Object(valueAt(copy, place.slice(0, end))), place.slice(end + 1), null);
  }
  return copy;
}

describe.each(types)('$name', ({ record, reply, query, at, values, whole, least, ofIds }) => {
  test('answers every field from its own member, with one call', async () => {
    bank.otherwise({ body: reply(record) });
    const result = await ask(query);
    expect(result.errors).toBeUndefined();
    expect(valueAt(result.data, at)).toEqual({ ...ofIds, ...whole });
    expect(bank.calls).toHaveLength(1);
  });

  test.each([
    ['left out', least],
    ['null', { ...nulls(record), ...least }],
  ])('answers null without an error for members that are %s', async (_, body) => {
    bank.otherwise({ body: reply(body) });
    const result = await ask(query);
    expect(result.errors).toBeUndefined();
    expect(valueAt(result.data, at)).toEqual({ ...nulls(whole), ...ofIds });
  });

  test('with a broken value has null and an error there, and answers the other fields', async () => {
    bank.otherwise({ body: reply(record) });
    const { data } = await ask(query);
    for (const [place, value, ...nulls] of values) {
      bank.otherwise({ body: reply(withValue(record, place, value)) });
      const broken = await ask(query);
      const places = nulls.map((path) => `${at}.${path}`);
      expect([place, value, broken.data]).toEqual([place, value, withNulls(data, places)]);
      expect(failuresOf(broken)).toEqual(places.map((path) => `${path} BANK_BAD_RESPONSE`).sort());
    }
  });
});
