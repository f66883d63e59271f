import {
  type Account,
  type AccountBody,
  account,
  getAccountsScope,
  putAccountID,
} from '../contract/account.ts';
import type { Changes } from '../contract/updated-body.ts';
import { badUserInput } from '../errors.ts';
import type { ViewIds } from '../loaders/loaders.ts';
import { accountNode, accountVersion, readAccountForUpdate } from './account.ts';
import { builder } from './builder.ts';
import { bankIdOr, type Defaults, viewIdOr } from './context.ts';
import { toBody, toChanges } from './fields.ts';
import { restId } from './global-id.ts';
import {
  bankIdInput,
  changesInput,
  updatedViewInput,
  updateRecord,
  wholeRecordInput,
  writtenPayload,
} from './record-mutations.ts';

const accountIdDescription = "The account's id at the bank.";

const PutAccountInput = builder.inputType('PutAccountInput', {
  description:
    "The account to put, and where. `viewId` is the view through which the payload's account is then read; REST does not receive it.",
  fields: (t) => ({
    bankId: bankIdInput(t),
    accountId: t.id({ required: true, description: accountIdDescription }),
    viewId: t.id({
      description: "The view of the payload's account; the configured one by default.",
    }),
    account: wholeRecordInput(t, account, putAccountID),
  }),
});

const UpdateAccountInput = builder.inputType('UpdateAccountInput', {
  description: 'The account to update, and how.',
  fields: (t) => ({
    bankId: bankIdInput(t),
    accountId: t.id({ required: true, description: accountIdDescription }),
    viewId: updatedViewInput(t),
    ...changesInput(t, account),
  }),
});

type Input = typeof PutAccountInput.$inferInput | typeof UpdateAccountInput.$inferInput;

/** Errors: BAD_USER_INPUT, also for an invalid view, before anything is written. */
const idsOf = ({ bankId, accountId, viewId }: Input, defaults: Defaults): ViewIds => ({
  bankId: bankIdOr(defaults, bankId),
  accountId: restId('accountId', accountId),
  viewId: viewIdOr(defaults, viewId),
});

const calls = { read: getAccountsScope, write: putAccountID };

builder.mutationField('putAccount', (t) =>
  t.field({
    type: writtenPayload('PutAccountPayload', accountNode, {
      ...calls,
      shown: 'read again through the view',
    }),
    nullable: true,
    description:
      'Writes an account, its balance included. Replaces the whole record: what is left out is lost. To change a part of it use `updateAccount`. REST: putAccountID.',
    args: {
      input: t.arg({
        type: PutAccountInput,
        required: true,
        description: 'The account, and where to put it.',
      }),
    },
    resolve: async (_root, { input }, { session, defaults }) => {
      const ids = idsOf(input, defaults);
      const { trackId } = await session.write(putAccountID, ids, toBody(account, input.account));
      // Not the bank's answer, which may contain fields that the view hides.
      return { ids, record: null, trackId };
    },
  }),
);

builder.mutationField('updateAccount', (t) =>
  t.field({
    type: writtenPayload('UpdateAccountPayload', accountNode, calls),
    nullable: true,
    description:
      'Changes an account, such as its label, and keeps what is not named. The balance is written back as it was read: a payment that the bank executes in between is not seen. REST: getAccountsScope, then putAccountID.',
    args: {
      input: t.arg({ type: UpdateAccountInput, required: true, description: 'What to change, and how.' }),
    },
    resolve: async (_root, { input }, context) => {
      const ids = idsOf(input, context.defaults);
      const written = await updateRecord(context, {
        ...calls,
        shape: account,
        ids,
        input,
        load: (fresh) => readAccountForUpdate(ids, fresh),
        versionOf: accountVersion,
        changes(read) {
          const changes = toChanges(account, input.changes);
          requireBalance(read, changes);
          return changes;
        },
      });
      return { ids, ...written };
    },
  }),
);

/**
 * An account without an amount was read through a view that hides it; a PUT without an amount may set the balance
 * to zero.
 * Errors: BAD_USER_INPUT.
 */
function requireBalance(record: Account, { balance }: Changes<AccountBody>): void {
  if (balance?.amount === null)
    throw badUserInput(
      '`changes.balance.amount` cannot be null: written without an amount, the account may lose its balance. Nothing was written.',
      'changes.balance.amount',
    );
  if (balance?.amount !== undefined || record.balance?.amount != null) return;
  throw badUserInput(
    'The account as read has no `balance.amount`, and written without one it may lose its balance: read it through a view (`viewId`) that shows the whole account. Nothing was written.',
  );
}
