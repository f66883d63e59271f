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

/** A record with a value for each member of its shape. Missing values are made up, such as `legal-name` for `legal_name`. */
function full<T extends object>(shape: Shape, given: T): T & Readonly<Record<string, unknown>> {
  const members = recordFields(shape).map(({ rest, type, isList, isOnlyEntry, listOf }) => {
    const name = rest.replaceAll('_', '-');
    const value: unknown = Reflect.get(given, rest);
    if (typeof type === 'object' && isObject(value)) return [rest, full(type, value)];
    if (value !== undefined) return [rest, value];
    const made =
      typeof type === 'object'
        ? full(type, {})
        : { Boolean: true, Float: 1.5, Decimal: exact('1.5'), ID: name, String: name }[type];
    return [rest, isList && !isOnlyEntry && listOf === undefined ? [made] : made];
  });
  return { ...given, ...Object.fromEntries(members) };
}

export const customerRecord = full(customer, {
  bank_id: ['bank-id-1', 'bank-id-2'],
  date_values: [{ key: 'date-key', string: 'date-string' }],
  face_image: { name: 'face-name' },
  numeric_values: [{ key: 'numeric-key', string: 'numeric-string' }],
  string_values: [{ key: 'string-key-1', string: 'string-string-1' }, { key: 'string-key-2' }],
  metadata: ['metadata-1', 'metadata-2'],
});

export const branchRecord = full(branch, {
  acceptsDeposits: true,
  bank: 'branch-bank',
  id: 'branch-id',
  lobby: { is24Hours: false },
  location: { latitude: 37.97945, longitude: 23.71622 },
  name: 'branch-name',
});

export const accountRecord = full(account, {
  balance: { currency: 'EUR', amount: exact('9007199254740993.250') },
  bank_id: 'BANK',
  IBAN: 'account-iban',
  id: 'ACC',
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
  number: 'other-number',
  swift_bic: 'other-swift-bic',
});

/** `bank_id` is a text in lists, and a list of texts in single answers. */
export const productRecord = full(product, {
  bank_id: ['product-bank-id-1', 'product-bank-id-2'],
  id: 'product-id',
  meta: ['product-meta-1', 'product-meta-2'],
  name: 'product-name',
});

export const messageRecord = full(message, {});

export const metadataRecord = full(metadataEntry, {
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
    paused_by_ip_address: 'paused-by-ip',
    paused_by_user_id: 'paused-by-user',
    posted_by_ip_address: 'posted-by-ip',
    posted_by_user_id: 'posted-by-user',
    description: 'details-description',
    new_balance: { amount: exact('100.10'), currency: 'new-balance-currency' },
    status: 'details-status',
    type: 'details-type',
    value: { amount: exact('-0.010'), currency: 'value-currency' },
  },
  id: 'TX',
});

export const transactionRequestRecord = full(transactionRequest, {
  description: 'request-description',
  status: 'COMPLETED',
  transaction_ids: 'TX-1, TX-2',
  from: { account_id: 'from-account', bank_id: 'from-bank' },
  body: {
    to: { account_id: 'to-account', bank_id: 'to-bank' },
    value: { currency: 'request-currency', amount: exact('12.50') },
  },
});
