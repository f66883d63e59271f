import { account } from '../../src/contract/account.ts';
import { branch } from '../../src/contract/branch.ts';
import { customer } from '../../src/contract/customer.ts';
import { message } from '../../src/contract/message.ts';
import { metadataEntry } from '../../src/contract/metadata.ts';
import { otherAccount } from '../../src/contract/other-account.ts';
import { product } from '../../src/contract/product.ts';
import { recordFields } from '../../src/contract/record.ts';
import { transaction } from '../../src/contract/transaction.ts';
import { transactionRequest } from '../../src/contract/transaction-request.ts';
import { isObject } from '../../src/is-object.ts';
import { exact } from './bankql-fixture.ts';

/** The bank's records with every field of the specification, each value different from all others. */

type Shape = Parameters<typeof recordFields>[0];

/** A record with a value for each member of its shape: those that are not given are made, such as `made-name` for `name`. */
function full<T extends object>(shape: Shape, given: T): T {
  const members = recordFields(shape).map(({ rest, type, isList }) => {
    const value: unknown = Reflect.get(given, rest);
    if (typeof type === 'object' && isObject(value)) return [rest, full(type, value)];
    if (value !== undefined) return [rest, value];
    const made =
      typeof type === 'object'
        ? full(type, {})
        : { Boolean: true, Float: 1.5, Decimal: exact('1.5'), ID: `made-${rest}`, String: `made-${rest}` }[
            type
          ];
    return [rest, isList ? [made] : made];
  });
  return { ...given, ...Object.fromEntries(members) };
}

export const customerRecord = full(customer, {
  bank_id: ['bank-id-1', 'bank-id-2'],
  customer_number: 'customer-number',
  date_values: [{ key: 'date-key', string: 'date-string' }],
  email: 'email',
  face_image: { name: 'face-name' },
  legal_name: 'legal-name',
  mobile_phone_number: 'mobile-phone-number',
  numeric_values: [{ key: 'numeric-key', string: 'numeric-string' }],
  string_values: [{ key: 'string-key-1', string: 'string-string-1' }, { key: 'string-key-2' }],
  metadata: ['metadata-1', 'metadata-2'],
});

export const branchRecord = full(branch, {
  acceptsDeposits: true,
  address: {
    city: 'city',
    country: 'country',
    line_1: 'line-1',
    line_2: 'line-2',
    line_3: 'line-3',
    postcode: 'postcode',
    state: 'state',
  },
  bank: 'branch-bank',
  id: 'branch-id',
  lobby: { is24Hours: false },
  location: { latitude: 37.97945, longitude: 23.71622 },
  meta: { license: 'license' },
  name: 'branch-name',
});

export const accountRecord = full(account, {
  balance: { currency: 'EUR', amount: exact('9007199254740993.250') },
  bank_id: 'BANK',
  IBAN: 'account-iban',
  id: 'ACC',
  label: 'label',
  number: 'account-number',
  owners: ['owner-1', 'owner-2'],
  swift_bic: 'account-swift-bic',
  type: ['type-1', 'type-2'],
  views_available: ['view-1', 'view-2'],
});

export const otherAccountRecord = full(otherAccount, {
  bank: 'other-bank',
  holder: { is_alias: true, name: 'holder-name' },
  IBAN: 'other-iban',
  id: 'other-id',
  kind: 'kind',
  number: 'other-number',
  swift_bic: 'other-swift-bic',
});

/** `bank_id` is a text in lists, and a list of texts in single answers. */
export const productRecord = full(product, {
  bank_id: ['product-bank-id-1', 'product-bank-id-2'],
  category: 'category',
  family: 'family',
  id: 'product-id',
  meta: ['product-meta-1', 'product-meta-2'],
  more_info_url: 'more-info-url',
  name: 'product-name',
  super_family: 'super-family',
});

export const messageRecord = full(message, {
  message: 'message',
  from_department: 'from-department',
  from_person: 'from-person',
  date: 'date',
});

export const metadataRecord = full(metadataEntry, {
  code: 'code',
  id: 'metadata-id',
  postedBy: 'posted-by',
  text: { name: 'text-name' },
});

export const transactionRecord = full(transaction, {
  details: {
    approved_by_ip_address: 'approved-by-ip',
    approved_by_user_id: 'approved-by-user',
    cancelled_by_ip_address: 'cancelled-by-ip',
    cancelled_by_user_id: 'cancelled-by-user',
    completed: 'completed',
    description: 'details-description',
    new_balance: { amount: exact('100.10'), currency: 'new-balance-currency' },
    paused_by_ip_address: 'paused-by-ip',
    paused_by_user_id: 'paused-by-user',
    posted: 'posted',
    posted_by_ip_address: 'posted-by-ip',
    posted_by_user_id: 'posted-by-user',
    status: 'details-status',
    type: 'details-type',
    value: { amount: exact('-0.010'), currency: 'value-currency' },
  },
  id: 'TX',
  metadata: { comments: 'comments', narrative: 'narrative', tags: 'tags', where: 'where' },
  other_account: 'other-account',
  this_account: 'this-account',
  uuid: 'uuid',
});

export const transactionRequestRecord = full(transactionRequest, {
  description: 'request-description',
  resource_url: 'resource-url',
  status: 'COMPLETED',
  transaction_ids: 'TX-1, TX-2',
  start_date: 'start-date',
  end_date: 'end-date',
  challenge: 'challenge',
  from: { account_id: 'from-account', bank_id: 'from-bank' },
  body: {
    to: { account_id: 'to-account', bank_id: 'to-bank' },
    value: { currency: 'request-currency', amount: exact('12.50') },
  },
});
