import {
  type AccountBody,
  type Account as AccountRecord,
  account,
  getAccountsScope,
  putAccountID,
} from '../contract/account.ts';
import type { Changes } from '../contract/updated-body.ts';
import { badUserInput } from '../errors.ts';
import type { ViewIds } from '../loaders/loaders.ts';
import { Account, readAccountForUpdate } from './account.ts';
import { builder, type InputFields } from './builder.ts';
import { bankIdOr, type Defaults, viewIdOr } from './context.ts';
import { toBody, toChanges } from './plugin/fields.ts';
import { restId } from './plugin/global-id.ts';
import {
  bankIdInput,
  changesInput,
  putDescription,
  updatedViewInput,
  updateRecord,
  wholeRecordInput,
  writtenPayload,
} from './record-mutations.ts';

const accountIdInput = (t: InputFields) =>
  t.id({ required: true, description: "The account's id at the bank." });

interface Input {
  readonly bankId?: string | null | undefined;
  readonly accountId: string;
  readonly viewId?: string | null | undefined;
}

/** Errors: BAD_USER_INPUT, also for an invalid view, before anything is written. */
const idsOf = ({ bankId, accountId, viewId }: Input, defaults: Defaults): ViewIds => ({
  bankId: bankIdOr(defaults, bankId),
  accountId: restId('accountId', accountId),
  viewId: viewIdOr(defaults, viewId),
});

const calls = { read: getAccountsScope, write: putAccountID };

builder.relayMutationField(
  'putAccount',
  {
    description: 'The account to put, and where.',
    inputFields: (t) => ({
      bankId: bankIdInput(t),
      accountId: accountIdInput(t),
      viewId: t.id({
        description: "The view of the payload's account; the configured one by default.",
      }),
      account: wholeRecordInput(t, account, putAccountID),
    }),
  },
  {
    description: putDescription('an account', 'updateAccount', putAccountID),
    resolve: async (_root, { input }, { session, defaults }) => {
      const ids = idsOf(input, defaults);
      const { trackId } = await session.write(putAccountID, ids, toBody(account, input.account, 'account.'));
      // Not the bank's answer, which may contain fields that the view hides.
      return { ids, record: null, trackId };
    },
  },
  writtenPayload(Account, calls, 'read again through the view.'),
);

builder.relayMutationField(
  'updateAccount',
  {
    description: 'The account to update, and how.',
    inputFields: (t) => ({
      bankId: bankIdInput(t),
      accountId: accountIdInput(t),
      viewId: updatedViewInput(t),
      ...changesInput(t, account),
    }),
  },
  {
    description:
      'Changes a part of an account. The balance is written back as it was read: a payment that the bank executes in between is not seen. REST: getAccountsScope, putAccountID.',
    resolve: (_root, { input }, context) => {
      const ids = idsOf(input, context.defaults);
      return updateRecord(context, {
        ...calls,
        shape: account,
        ids,
        input,
        load: (fresh) => readAccountForUpdate(ids, fresh),
        changes(read) {
          const changes = toChanges(account, input.changes);
          requireBalance(read, changes);
          return changes;
        },
      });
    },
  },
  writtenPayload(Account, calls),
);

/**
 * An account without an amount was read through a view that hides it; a PUT without an amount may set the balance
 * to zero.
 * Errors: BAD_USER_INPUT.
 */
function requireBalance(record: AccountRecord, { balance }: Changes<AccountBody>): void {
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
