import { z } from 'zod';
import { sound } from '../bank/answer.ts';
import { checkBankId, checkId } from '../bank/path.ts';
import { type Account, type AccountBody, getAccountsScope, putAccountID } from '../contract/account.ts';
import type { ViewIds } from '../loaders/loaders.ts';
import { BankRef } from './bank.ts';
import { builder } from './builder.ts';
import { connectionFromIds } from './connection.ts';
import { bankIdOr, type Context, viewIdOr } from './context.ts';
import { CustomerRef, customerLink } from './customer.ts';
import { createLink, fromIds, type Linked, linkFromIds, linksFromRecord, recordOf } from './link.ts';
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
import { MoneyInput, MoneyRef, moneyBody, present } from './values.ts';
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

/** The entry with the account's id, or the only entry where it has none. */
async function readAccount(ids: ViewIds, { reader }: Context): Promise<Account> {
  const accounts = await reader.loaders.accountsScope.load({ ...ids, scope: 'views' });
  const [only] = accounts;
  if (accounts.length === 1 && only !== undefined && !sound(sound(only).id)) return only;
  return entryOf(accounts, ids.accountId, getAccountsScope);
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
builder.node(AccountRef, {
  description:
    'An account as seen through one of its views; through another view it is another node. REST: getAccountsScope.',
  id: { resolve: accountLink.keyOf, extensions: fromIds },
  fields: (t) => ({
    bankId: t.exposeID('bankId', {
      nullable: false,
      description: "The bank's code, from the path.",
      extensions: fromIds,
    }),
    accountId: t.exposeID('accountId', {
      nullable: false,
      description: "REST `id`; the path's where the bank gave none.",
      extensions: fromIds,
    }),
    viewId: t.exposeID('viewId', {
      nullable: false,
      description: 'The view through which the account is seen, from the path.',
      extensions: fromIds,
    }),
    bank: t.field({
      type: BankRef,
      nullable: false,
      description: 'The bank through which the account is read. Costs no REST call.',
      extensions: fromIds,
      resolve: ({ bankId }) => ({ bankId }),
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

export const AccountConnection = builder.connectionObject(
  { type: AccountRef, name: 'AccountConnection', description: 'A list of accounts.' },
  { name: 'AccountEdge', description: 'An account and its place in a list.' },
);

const AccountInput = builder.inputType('AccountInput', {
  description: 'What putAccountID sends. What is left out is not sent.',
  fields: (t) => ({
    balance: t.field({ type: MoneyInput, required: true, description: 'REST `balance`.' }),
    bankId: t.string({ description: 'REST `bank_id`.' }),
    iban: t.string({ description: 'REST `IBAN`.' }),
    id: t.id({ description: 'REST `id`.' }),
    label: t.string({ description: 'REST `label`.' }),
    number: t.string({ description: 'REST `number`.' }),
    ownerIds: t.stringList({ description: 'REST `owners`.' }),
    swiftBic: t.string({ description: 'REST `swift_bic`.' }),
    types: t.stringList({ description: 'REST `type`.' }),
    viewsAvailable: t.stringList({ description: 'REST `views_available`.' }),
  }),
});

const accountBody = (input: typeof AccountInput.$inferInput): AccountBody =>
  present({
    balance: moneyBody(input.balance),
    bank_id: input.bankId,
    IBAN: input.iban,
    id: input.id,
    label: input.label,
    number: input.number,
    owners: input.ownerIds,
    swift_bic: input.swiftBic,
    type: input.types,
    views_available: input.viewsAvailable,
  });

const PutAccountInput = builder.inputType('PutAccountInput', {
  description:
    "The account to put, and where. `viewId` is the view through which the payload's account is then read; REST does not receive it.",
  fields: (t) => ({
    bankId: t.id({ description: "The path's bank; the configured one where left out." }),
    accountId: t.id({ required: true, description: "The path's account." }),
    viewId: t.id({
      description:
        "The view through which the payload's account is read; the configured default view where left out.",
    }),
    account: t.field({ type: AccountInput, required: true, description: 'The request body.' }),
  }),
});

const PutAccountPayload = builder
  .objectRef<{ account: ViewIds; trackId: string }>('PutAccountPayload')
  .implement({
    description: 'What became of putAccountID.',
    fields: (t) => ({
      account: t.field({
        type: AccountRef,
        nullable: true,
        description: 'The account, read anew through the view. REST: getAccountsScope.',
        ...linkFromIds(
          () => accountLink,
          ({ account }: { account: ViewIds }) => account,
        ),
      }),
      trackId: t.exposeID('trackId', { nullable: false, description: "The REST call's Track-ID." }),
    }),
  });

builder.mutationField('putAccount', (t) =>
  t.field({
    type: PutAccountPayload,
    nullable: true,
    description: 'REST: putAccountID.',
    args: { input: t.arg({ type: PutAccountInput, required: true, description: 'What to put, and where.' }) },
    resolve: async (_root, { input }, { reader, defaults }) => {
      const account = {
        bankId: bankIdOr(defaults, input.bankId),
        accountId: checkId('accountId', input.accountId),
        viewId: viewIdOr(defaults, input.viewId),
      };
      const { trackId } = await reader.write(
        putAccountID,
        { BANK_ID: account.bankId, ACCOUNT_ID: account.accountId },
        accountBody(input.account),
      );
      return { account, trackId };
    },
  }),
);
