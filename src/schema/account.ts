import { z } from 'zod';
import { sound } from '../bank/answer.ts';
import { checkBankId, checkId } from '../bank/path.ts';
import { type Account, getAccountsScope } from '../contract/account.ts';
import type { BankIds, ViewIds } from '../loaders/loaders.ts';
import { BankRef, bankLink } from './bank.ts';
import { builder } from './builder.ts';
import { connectionFromIds, connectionTo } from './connection.ts';
import type { Asking } from './context.ts';
import { CustomerRef, customerLink } from './customer.ts';
import { createLink, fromPath, type Linked, linkFromIds, linksFromRecord, recordOf } from './link.ts';
import { entryOf } from './list-entry.ts';
import {
  loadOtherAccounts,
  OtherAccountConnection,
  OtherAccountFilter,
  type OtherAccountFilterInput,
  OtherAccountRef,
  otherAccountEntry,
  otherAccountLink,
} from './other-account.ts';
import { TransactionRef, transactionLink } from './transaction.ts';
import {
  TransactionRequestConnection,
  TransactionRequestRef,
  transactionRequestEntry,
} from './transaction-request.ts';
import { MoneyRef } from './values.ts';
import { checkView, viewKey } from './view.ts';

export type AccountNode = Linked<ViewIds, Account>;

/** Accounts by bank, account id and view. Read through getAccountsScope, scope `views`. */
export const accountLink = createLink({
  name: 'Account',
  key: z.tuple(viewKey),
  toKey: ({ bankId, accountId, viewId }: AccountNode) => [bankId, accountId, viewId] as const,
  toIds: (key) => checkView(...key),
  read: readAccount,
});

function readAccount(ids: ViewIds, { reader }: Asking): Promise<Account> {
  const reading = reader.loaders.accountsScope.load({ ...ids, scope: 'views' });
  return reading.then((accounts) => accountIn(accounts, ids));
}

/** The entry with the account's id, or the only entry where it has none. */
function accountIn(accounts: readonly Account[], { accountId }: ViewIds): Account {
  const [only] = accounts;
  if (accounts.length === 1 && only !== undefined && !sound(sound(only).id)) return only;
  return entryOf(accounts, accountId, getAccountsScope);
}

/**
 * An entry of the account list: by its own id, or by the path's where the bank gave none.
 * Errors: BANK_BAD_RESPONSE where the bank gave an id that is none: it could be any account's.
 */
export const accountEntry = ({ bankId, accountId, viewId }: ViewIds, record: Account): AccountNode => ({
  bankId,
  accountId: sound(record.id) || accountId,
  viewId,
  record,
});

export const AccountRef = builder.objectRef<AccountNode>('Account');
AccountRef.implement({
  description:
    'An account as seen through one of its views; through another view it is another node. REST: getAccountsScope.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.id(accountLink.idField),
    bankId: t.exposeID('bankId', fromPath("The bank's code, from the path.")),
    accountId: t.exposeID('accountId', fromPath("REST `id`; the path's where the bank gave none.")),
    viewId: t.exposeID('viewId', fromPath('The view through which the account is seen, from the path.')),
    bank: t.field({
      type: BankRef,
      nullable: false,
      description: 'The bank through which the account is read. Costs no REST call.',
      ...linkFromIds(
        () => bankLink,
        ({ bankId }: BankIds) => ({ bankId }),
      ),
    }),
    bankIds: t.stringList({
      nullable: { list: true, items: true },
      description: 'REST `bank_id`, as a list as for customers and products.',
      resolve: (account) => {
        const bankId = sound(recordOf(account).bank_id);
        return typeof bankId === 'string' ? [bankId] : null;
      },
    }),
    label: t.string({
      nullable: true,
      description: 'REST `label`.',
      resolve: (account) => recordOf(account).label,
    }),
    number: t.string({
      nullable: true,
      description: 'REST `number`.',
      resolve: (account) => recordOf(account).number,
    }),
    iban: t.string({
      nullable: true,
      description: 'REST `IBAN`.',
      resolve: (account) => recordOf(account).IBAN,
    }),
    swiftBic: t.string({
      nullable: true,
      description: 'REST `swift_bic`.',
      resolve: (account) => recordOf(account).swift_bic,
    }),
    types: t.stringList({
      nullable: { list: true, items: true },
      description: 'REST `type`.',
      resolve: (account) => recordOf(account).type,
    }),
    balance: t.field({
      type: MoneyRef,
      nullable: true,
      description: 'REST `balance`.',
      resolve: (account) => recordOf(account).balance,
    }),
    viewsAvailable: t.stringList({
      nullable: { list: true, items: true },
      description: 'REST `views_available`.',
      resolve: (account) => recordOf(account).views_available,
    }),
    ownerIds: t.stringList({
      nullable: { list: true, items: true },
      description: 'REST `owners`, as the bank wrote them.',
      resolve: (account) => recordOf(account).owners,
    }),
    owners: t.field({
      type: [CustomerRef],
      nullable: { list: true, items: true },
      description: 'The customers that `ownerIds` names. REST: one getCustomer for each distinct owner.',
      ...linksFromRecord(
        () => customerLink,
        (account: AccountNode) => recordOf(account).owners,
        ({ bankId }, customerId) => ({ bankId, customerId: checkBankId('an owner', customerId) }),
      ),
    }),
    otherAccounts: t.connection(
      {
        type: OtherAccountRef,
        nullable: true,
        description:
          'Counterparties of the account. REST: getOtherAccounts; with a filter, postOtherAccounts.',
        args: {
          filter: t.arg({ type: OtherAccountFilter, description: 'The query body of postOtherAccounts.' }),
        },
        ...connectionFromIds(
          (account: AccountNode, args: OtherAccountFilterInput, { reader }) =>
            loadOtherAccounts(account, args, reader),
          otherAccountEntry,
        ),
      },
      OtherAccountConnection,
    ),
    otherAccount: t.field({
      type: OtherAccountRef,
      nullable: true,
      description: 'One counterparty, found in getOtherAccounts. REST: getOtherAccounts.',
      args: {
        otherAccountId: t.arg.id({ required: true, description: "The counterparty's id in the list." }),
      },
      ...linkFromIds(
        () => otherAccountLink,
        ({ bankId, accountId, viewId }: AccountNode, { otherAccountId }: { otherAccountId: string }) => ({
          bankId,
          accountId,
          viewId,
          otherAccountId,
          index: 0,
          query: null,
        }),
      ),
    }),
    transaction: t.field({
      type: TransactionRef,
      nullable: true,
      description: 'One transaction of the account. REST: getTransaction.',
      args: { transactionId: t.arg.id({ required: true, description: "The path's transaction." }) },
      ...linkFromIds(
        () => transactionLink,
        ({ bankId, accountId, viewId }: AccountNode, { transactionId }: { transactionId: string }) => ({
          bankId,
          accountId,
          viewId,
          transactionId: checkId('transactionId', transactionId),
        }),
      ),
    }),
    transactionRequests: t.connection(
      {
        type: TransactionRequestRef,
        nullable: true,
        description: 'What was asked of the account to pay. REST: getTransactionsRequest.',
        ...connectionFromIds(
          ({ bankId, accountId, viewId }: AccountNode, _args: object, { reader }) =>
            reader.loaders.transactionsRequest.load({ bankId, accountId, viewId }),
          transactionRequestEntry,
        ),
      },
      TransactionRequestConnection,
    ),
  }),
});

export const AccountConnection = connectionTo(AccountRef, {
  list: 'A list of accounts.',
  entry: 'An account and its place in a list.',
});
