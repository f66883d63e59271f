import { putAccountID } from '../contract/account.ts';
import { putBranchID } from '../contract/branch.ts';
import { putCustomerID } from '../contract/customer.ts';
import { putProduct } from '../contract/product.ts';
import type { Body } from '../contract/record.ts';
import {
  putTransactions,
  type Transaction as TransactionRecord,
  type transactionMetadata,
} from '../contract/transaction.ts';
import type { Changes } from '../contract/updated-body.ts';
import { badUserInput } from '../errors.ts';
import { Account } from './account.ts';
import { Branch } from './branch.ts';
import { Customer } from './customer.ts';
import { listOf } from './plugin/fields.ts';
import { restId } from './plugin/global-id.ts';
import { itemId } from './plugin/list-item.ts';
import { Product } from './product.ts';
import { defineWrites } from './record-writes.ts';
import { Transaction } from './transaction.ts';

/** The members of the metadata have the same names in REST. */
const members = ['comments', 'narrative', 'tags', 'where'] as const satisfies (keyof MetadataChanges)[];

/**
 * Each call makes the mutations `put…` and `update…` of a record that the bank allows to be written, with the record's special
 * rules.
 */

defineWrites(Branch, putBranchID);

defineWrites(Customer, putCustomerID);

defineWrites(Product, putProduct, {
  put: {
    // The path contains only the bank: the product's id is in the answer or in the body.
    names: ['bankId'],
    // The body of the bank's PUT contains a single bank, and not a list (`isOnlyEntry`).
    body: (body, { bankId }) => Object.assign({ bank_id: bankId }, body),
    written: ({ bankId }, answer, body) => {
      const productId = itemId(answer ?? {}) ?? body.id ?? null;
      return answer === null && productId === null ? null : { bankId, productId };
    },
  },
  update: {
    changes(changes, read, { bankId, productId }) {
      const [first = bankId, ...others] = listOf(read.bank_id) ?? [];
      if (changes.bank_id === undefined && others.length > 0)
        throw badUserInput(
          "The product belongs to several banks, and the bank's putProduct takes one: name it in `changes.bankIds`. Nothing was written.",
        );
      // The path contains only the bank: the body has to identify the product.
      return { bank_id: first, ...changes, id: read.id ? undefined : productId };
    },
  },
});

defineWrites(Account, putAccountID, {
  update: {
    description:
      'Changes a part of an account, and writes the balance back as it was read, even if a payment has changed it in between.',
    // An account without an amount was read through a view that hides it; a PUT without an amount may set the balance to zero.
    changes(changes, read) {
      const { balance } = changes;
      if (balance?.amount === null)
        throw badUserInput(
          '`changes.balance.amount` cannot be null: written without an amount, the account may lose its balance. Nothing was written.',
          'changes.balance.amount',
        );
      if (balance?.amount === undefined && read.balance?.amount == null)
        throw badUserInput(
          'The account as read has no `balance.amount`, and written without one it may lose its balance: read it through a view (`viewId`) that shows the whole account. Nothing was written.',
        );
      return changes;
    },
  },
});

defineWrites(Transaction, putTransactions, {
  path: (input) => ({ TYPE: metadataTypeOf(input) }),
  put: {
    name: 'putTransactionMetadata',
    fields: (t) => ({
      metadataType: t.string({
        required: true,
        description: 'The path segment `{TYPE}`, such as `comments`.',
      }),
    }),
  },
  update: {
    name: 'annotateTransaction',
    description: "Changes a transaction's metadata only.",
    part: 'metadata',
    fields: (t) => ({
      metadataType: t.string({
        description: 'The path segment `{TYPE}`; by default the member that `changes` names.',
      }),
      approvedByIpAddress: t.string({
        description: 'The IP address from which it was approved, if it has none.',
      }),
    }),
    changes({ metadata: changes }, { details, metadata }, _ids, { approvedByIpAddress: given }) {
      const isApproved = details?.approved_by_ip_address != null || given == null;
      return {
        details: isApproved ? undefined : { approved_by_ip_address: String(given) },
        metadata: metadataChanges(metadata, changes ?? {}),
      };
    },
  },
});

type MetadataChanges = Changes<Body<typeof transactionMetadata>>;

/**
 * The path's {TYPE}: the given type, or the name of the only changed member. Errors: BAD_USER_INPUT if
 * several members are changed.
 */
function metadataTypeOf({ metadataType, changes }: Readonly<Record<string, unknown>>): string {
  if (metadataType != null) return restId('metadataType', String(metadataType));
  const [only, ...others] = members.filter((name) => Object(changes)[name] !== undefined);
  if (only !== undefined && others.length === 0) return only;
  throw badUserInput(
    'metadataType is needed where `changes` does not name exactly one member.',
    'metadataType',
  );
}

/**
 * The changes of the metadata; null if no metadata would be left. If there is any other member, `comments` is
 * required.
 */
function metadataChanges(
  metadata: TransactionRecord['metadata'],
  changes: MetadataChanges,
): MetadataChanges | null {
  const left = members.filter(
    (name) => (changes[name] === undefined ? metadata?.[name] : changes[name]) != null,
  );
  if (left.length === 0) return null;
  return left.includes('comments') ? changes : { ...changes, comments: '' };
}
