import { type Account, putAccountID } from '../contract/account.ts';
import { badUserInput } from '../errors.ts';
import { inAccount } from '../loaders/rest-ids.ts';
import { accountVersion } from './account.ts';
import { builder } from './builder.ts';
import { bankIdOr, viewIdOr } from './context.ts';
import { restId } from './global-id.ts';
import { onlyBankId, restIds } from './input-names.ts';
import { AccountObject, accountNode } from './node-lookups/account.ts';
import { updateDescriptions, updateField, updatePayload } from './update-field.ts';

const BalanceChanges = builder.inputType('BalanceChanges', {
  description: 'Changes of a balance: what is left out keeps its value.',
  fields: (t) => ({
    currency: t.string({ description: 'The currency. REST `currency`.' }),
    amount: t.field({
      type: 'Decimal',
      description: 'How much it is. REST `amount`; sent with exactly these digits.',
    }),
  }),
});

const AccountChanges = builder.inputType('AccountChanges', {
  description:
    'Changes of an account: what is left out keeps its value, null clears it. Lists are replaced whole.',
  fields: (t) => ({
    balance: t.field({
      type: BalanceChanges,
      description:
        'What is on the account. REST `balance`, which the bank requires: it can be changed, and not cleared.',
    }),
    bankIds: t.stringList({
      description: 'The banks that the account belongs to. REST `bank_id`: one entry.',
    }),
    iban: t.string({ description: 'The international account number. REST `IBAN`.' }),
    label: t.string({ description: 'A name for the account, such as "Everyday". REST `label`.' }),
    number: t.string({ description: "The account's number at the bank. REST `number`." }),
    ownerIds: t.stringList({
      description: 'The customers who own the account, by their ids. REST `owners`.',
    }),
    swiftBic: t.string({ description: "The bank's BIC. REST `swift_bic`." }),
    types: t.stringList({
      description:
        'What kinds of account it is. The specification lists no values; the sandbox has `current`, `savings`, `joint`, `business` and `trust`. REST `type`.',
    }),
    viewsAvailable: t.stringList({
      description:
        'The views through which the account can be seen; the sandbox has `owner` and `public`. REST `views_available`.',
    }),
  }),
});

type Changes = typeof AccountChanges.$inferInput;

const accountChanges = (changes: Changes) => ({
  balance: changes.balance,
  bank_id: onlyBankId(changes.bankIds),
  IBAN: changes.iban,
  label: changes.label,
  number: changes.number,
  owners: restIds('ownerIds', changes.ownerIds),
  swift_bic: changes.swiftBic,
  type: changes.types,
  views_available: changes.viewsAvailable,
});

/**
 * An account without an amount was read through a view that hides it; a PUT without an amount may set the balance
 * to zero.
 * Errors: BAD_USER_INPUT.
 */
function requireBalance(account: Account, { balance }: Changes): void {
  if (balance?.amount != null || (account.balance?.amount != null && balance?.amount !== null)) return;
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
    changes: t.field({ type: AccountChanges, required: true, description: updateDescriptions.changes }),
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
        const account = {
          bankId: bankIdOr(defaults, input.bankId),
          accountId: restId('accountId', input.accountId),
        };
        const changes = accountChanges(input.changes);
        return {
          node: { ...account, viewId: viewIdOr(defaults, input.viewId) },
          ids: inAccount(account),
          record: [account.bankId, account.accountId],
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
