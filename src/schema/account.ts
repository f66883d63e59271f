import { validateBankId } from '../bank/ids.ts';
import { type Account, account, putAccountID } from '../contract/account.ts';
import type { ChangesInput } from '../contract/resource.ts';
import { badUserInput } from '../errors.ts';
import type { BankIds, Scope, ViewIds } from '../loaders/loaders.ts';
import { inAccount } from '../loaders/rest-ids.ts';
import { AccountScope } from './account-scope.ts';
import { builder } from './builder.ts';
import { connectionFromIds } from './connection.ts';
import { bankIdOr, viewIdOr } from './context.ts';
import { changesType, inputType, recordFields, toBody, toChanges } from './fields.ts';
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
import { updateDescriptions, updateField, updatePayload } from './update-field.ts';
import { writeField } from './write-field.ts';

/** The version of an account as it was read. Errors: BANK_BAD_RESPONSE if any part of it is broken. */
export const accountVersion = (record: Account): string => recordVersion(account.answer, record);

AccountObject.implement({
  description: account.description,
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    ...recordFields(t, account),
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
      resolve: (node) => accountVersion(recordOf(node)),
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

const PutAccountInput = builder.inputType('PutAccountInput', {
  description:
    "The account to put, and where. `viewId` is the view through which the payload's account is then read; REST does not receive it.",
  fields: (t) => ({
    bankId: t.id({ description: 'The bank; the configured one where left out.' }),
    accountId: t.id({ required: true, description: 'The account.' }),
    viewId: t.id({
      description:
        "The view through which the payload's account is read; the configured default view where left out.",
    }),
    account: t.field({
      type: inputType(
        account,
        'A whole account, as putAccountID sends it. What is left out is not sent, and lost.',
      ),
      required: true,
      description: 'The request body.',
    }),
  }),
});

const PutAccountPayload = builder
  .objectRef<{ account: ViewIds; trackId: string }>('PutAccountPayload')
  .implement({
    description: 'What became of putAccountID.',
    fields: (t) => ({
      account: t.field({
        type: AccountObject,
        nullable: true,
        description: 'The account, read anew through the view. REST: getAccountsScope.',
        ...nodeFromIds(
          () => accountNode,
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
    description:
      'Writes an account, its balance included. Replaces the whole record: what is left out is lost. To change a part of it use `updateAccount`. REST: putAccountID.',
    args: { input: t.arg({ type: PutAccountInput, required: true, description: 'What to put, and where.' }) },
    ...writeField(
      putAccountID,
      ({ input }: { input: typeof PutAccountInput.$inferInput }, defaults) => {
        const ids = {
          bankId: bankIdOr(defaults, input.bankId),
          accountId: restId('accountId', input.accountId),
        };
        return {
          ids: inAccount(ids),
          body: toBody(account, input.account),
          // REST does not receive the view, but an invalid one is refused before anything is written.
          account: { ...ids, viewId: viewIdOr(defaults, input.viewId) },
        };
      },
      ({ account }) => ({ account }),
    ),
  }),
);

/**
 * An account without an amount was read through a view that hides it; a PUT without an amount may set the balance
 * to zero.
 * Errors: BAD_USER_INPUT.
 */
function requireBalance(record: Account, { balance }: ChangesInput<typeof account.fields>): void {
  if (balance?.amount != null || (record.balance?.amount != null && balance?.amount !== null)) return;
  throw badUserInput(
    'The account as read has no `balance.amount`, and written without one it may lose its balance: read it through a view (`viewId`) that shows the whole account. Nothing was written.',
  );
}

const UpdateAccountInput = builder.inputType('UpdateAccountInput', {
  description: 'The account to update, and how.',
  fields: (t) => ({
    bankId: t.id({ description: updateDescriptions.bankId }),
    accountId: t.id({ required: true, description: 'The account.' }),
    viewId: t.id({ description: updateDescriptions.viewId }),
    changes: t.field({
      type: changesType(
        account,
        'Changes of an account: what is left out keeps its value, null clears it. Lists are replaced whole.',
      ),
      required: true,
      description: updateDescriptions.changes,
    }),
    ifVersion: t.string({ description: updateDescriptions.ifVersion }),
  }),
});

const UpdateAccountPayload = updatePayload('UpdateAccountPayload', {
  field: 'account',
  nodeType: () => accountNode,
  type: AccountObject,
});

builder.mutationField('updateAccount', (t) =>
  t.field({
    type: UpdateAccountPayload,
    nullable: true,
    description:
      'Changes an account, such as its label, and keeps what is not named. The balance is written back as it was read: a payment that the bank executes in between is not seen. REST: getAccountsScope, then putAccountID.',
    args: {
      input: t.arg({ type: UpdateAccountInput, required: true, description: 'What to change, and how.' }),
    },
    ...updateField(
      {
        operation: putAccountID,
        payload: 'UpdateAccountPayload',
        nodeType: () => accountNode,
        versionOf: accountVersion,
      },
      ({ input }: { input: typeof UpdateAccountInput.$inferInput }, defaults) => {
        const ids = {
          bankId: bankIdOr(defaults, input.bankId),
          accountId: restId('accountId', input.accountId),
        };
        const changes = toChanges(account, input.changes);
        return {
          node: { ...ids, viewId: viewIdOr(defaults, input.viewId) },
          ids: inAccount(ids),
          record: [ids.bankId, ids.accountId],
          ifVersion: input.ifVersion,
          changes: (record) => {
            requireBalance(record, input.changes);
            return changes;
          },
        };
      },
    ),
  }),
);
