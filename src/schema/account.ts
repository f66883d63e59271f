import { validateBankId } from '../bank/ids.ts';
import { unwrap } from '../bank/response.ts';
import { type Account, account as accountShape } from '../contract/account.ts';
import type { BankIds, Scope } from '../loaders/loaders.ts';
import { AccountScope } from './account-scope.ts';
import { builder } from './builder.ts';
import { MoneyObject } from './common-types.ts';
import { connectionFromIds } from './connection.ts';
import { notGlobalId, restId } from './global-id.ts';
import {
  AccountConnection,
  type AccountNode,
  AccountObject,
  accountNode,
  loadAccounts,
  toAccountNode,
} from './node-lookups/account.ts';
import { BankObject, bankNode } from './node-lookups/bank.ts';
import { CustomerObject, customerNode } from './node-lookups/customer.ts';
import {
  loadOtherAccounts,
  OtherAccountConnection,
  OtherAccountFilter,
  type OtherAccountFilterInput,
  OtherAccountObject,
  otherAccountNode,
  toOtherAccountNode,
} from './node-lookups/other-account.ts';
import { TransactionObject, transactionNode } from './node-lookups/transaction.ts';
import {
  loadRequests,
  TransactionRequestConnection,
  TransactionRequestObject,
  toTransactionRequestNode,
} from './node-lookups/transaction-request.ts';
import { idFromPath, nodeFromIds, nodesFromRecord, recordOf } from './node-type.ts';
import { recordVersion, versionDescription } from './record-version.ts';

/** The version of an account as it was read. Errors: BANK_BAD_RESPONSE if any part of it is broken. */
export const accountVersion = (record: Account): string => recordVersion(accountShape, record);

AccountObject.implement({
  description:
    'An account as seen through one of its views; through another view it is another node. REST: getAccountsScope.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.id(accountNode.idField),
    bankId: t.exposeID('bankId', idFromPath("The bank's code, from the path.")),
    accountId: t.exposeID(
      'accountId',
      idFromPath("The account's id at the bank. REST `id`; the path's where the bank gave none."),
    ),
    viewId: t.exposeID('viewId', idFromPath('The view through which the account is seen, from the path.')),
    bank: t.field({
      type: BankObject,
      nullable: false,
      description: 'The bank through which the account is read. Costs no REST call.',
      ...nodeFromIds(
        () => bankNode,
        ({ bankId }: BankIds) => ({ bankId }),
      ),
    }),
    version: t.string({
      nullable: true,
      description: versionDescription,
      resolve: (account) => accountVersion(recordOf(account)),
    }),
    view: t.field({
      type: AccountObject,
      nullable: true,
      description: 'The same account through another of its views. REST: getAccountsScope.',
      args: { viewId: t.arg.id({ required: true, description: "The path's view." }) },
      ...nodeFromIds(
        () => accountNode,
        ({ bankId, accountId }: AccountNode, { viewId }: { viewId: string }) => ({
          bankId,
          accountId,
          viewId: restId('viewId', viewId),
        }),
      ),
    }),
    accounts: t.connection(
      {
        type: AccountObject,
        nullable: true,
        description:
          'All that getAccountsScope answers for this account, its view and the scope. REST: getAccountsScope.',
        args: {
          scope: t.arg({
            type: AccountScope,
            required: true,
            defaultValue: 'permissions',
            description: "The path's scope.",
          }),
        },
        ...connectionFromIds(
          ({ bankId, accountId, viewId }: AccountNode, { scope }: { readonly scope: Scope }, context) =>
            loadAccounts({ bankId, accountId, viewId }, scope, context),
          toAccountNode,
        ),
      },
      AccountConnection,
    ),
    bankIds: t.stringList({
      nullable: { list: true, items: true },
      description:
        'The banks that the account belongs to. REST `bank_id`, as a list as for customers and products.',
      resolve: (account) => {
        const bankId = unwrap(recordOf(account).bank_id);
        return typeof bankId === 'string' ? [bankId] : null;
      },
    }),
    label: t.string({
      nullable: true,
      description: 'A name for the account, such as "Everyday". REST `label`.',
      resolve: (account) => recordOf(account).label,
    }),
    number: t.string({
      nullable: true,
      description: "The account's number at the bank. REST `number`.",
      resolve: (account) => recordOf(account).number,
    }),
    iban: t.string({
      nullable: true,
      description: 'The international account number. REST `IBAN`.',
      resolve: (account) => recordOf(account).IBAN,
    }),
    swiftBic: t.string({
      nullable: true,
      description: "The bank's BIC. REST `swift_bic`.",
      resolve: (account) => recordOf(account).swift_bic,
    }),
    types: t.stringList({
      nullable: { list: true, items: true },
      description:
        'What kinds of account it is. The specification lists no values; the sandbox has `current`, `savings`, `joint`, `business` and `trust`. REST `type`.',
      resolve: (account) => recordOf(account).type,
    }),
    balance: t.field({
      type: MoneyObject,
      nullable: true,
      description: 'What is on the account. REST `balance`.',
      resolve: (account) => recordOf(account).balance,
    }),
    viewsAvailable: t.stringList({
      nullable: { list: true, items: true },
      description:
        'The views through which the account can be seen; the sandbox has `owner` and `public`. REST `views_available`.',
      resolve: (account) => recordOf(account).views_available,
    }),
    ownerIds: t.stringList({
      nullable: { list: true, items: true },
      description: 'The customers who own the account, by their ids. REST `owners`, as the bank wrote them.',
      resolve: (account) => recordOf(account).owners,
    }),
    owners: t.field({
      type: [CustomerObject],
      nullable: { list: true, items: true },
      description: 'The customers that `ownerIds` names. REST: one getCustomer for each distinct owner.',
      ...nodesFromRecord(
        () => customerNode,
        (account: AccountNode) => recordOf(account).owners,
        ({ bankId }, customerId) => ({ bankId, customerId: validateBankId('an owner', customerId) }),
      ),
    }),
    otherAccounts: t.connection(
      {
        type: OtherAccountObject,
        nullable: true,
        description:
          'Counterparties of the account. REST: getOtherAccounts; with an IBAN in `filter`, postOtherAccounts.',
        args: {
          filter: t.arg({ type: OtherAccountFilter, description: 'By IBAN and id.' }),
        },
        ...connectionFromIds(
          (account: AccountNode, args: OtherAccountFilterInput, context) =>
            loadOtherAccounts(account, args, context),
          toOtherAccountNode,
        ),
      },
      OtherAccountConnection,
    ),
    otherAccount: t.field({
      type: OtherAccountObject,
      nullable: true,
      description: 'One counterparty, found in getOtherAccounts. REST: getOtherAccounts.',
      args: {
        otherAccountId: t.arg.id({ required: true, description: "The counterparty's id in the list." }),
      },
      ...nodeFromIds(
        () => otherAccountNode,
        ({ bankId, accountId, viewId }: AccountNode, { otherAccountId }: { otherAccountId: string }) => ({
          bankId,
          accountId,
          viewId,
          otherAccountId: notGlobalId('otherAccountId', otherAccountId),
          index: 0,
          query: null,
        }),
      ),
    }),
    transaction: t.field({
      type: TransactionObject,
      nullable: true,
      description: 'One transaction of the account. REST: getTransaction.',
      args: { transactionId: t.arg.id({ required: true, description: 'The transaction.' }) },
      ...nodeFromIds(
        () => transactionNode,
        ({ bankId, accountId, viewId }: AccountNode, { transactionId }: { transactionId: string }) => ({
          bankId,
          accountId,
          viewId,
          transactionId: restId('transactionId', transactionId),
        }),
      ),
    }),
    transactionRequests: t.connection(
      {
        type: TransactionRequestObject,
        nullable: true,
        description: 'What was asked of the account to pay. REST: getTransactionsRequest.',
        ...connectionFromIds(
          (account: AccountNode, _args: object, context) => loadRequests(account, context),
          (account, record, index, _args, _context, list) =>
            toTransactionRequestNode(account, record, { index, list, trackId: null }),
        ),
      },
      TransactionRequestConnection,
    ),
  }),
});
