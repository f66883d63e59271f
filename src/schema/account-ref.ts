import { unwrap } from '../bank/answer.ts';
import { validateBankId } from '../bank/ids.ts';
import { type AccountRefBody, accountRef } from '../contract/shared-parts.ts';
import { Account } from './account.ts';
import { builder } from './builder.ts';
import { findCounterparty, OtherAccount } from './other-account.ts';
import type { Values } from './plugin/fields.ts';
import { restId } from './plugin/global-id.ts';
import { toBody } from './request-body.ts';

/** An account as another record names it. What it leaves out is that of the record. */
export const AccountRef = builder.bankPart(accountRef);

builder.objectFields(AccountRef, (t) => ({
  account: t.link(Account, {
    description: 'The account; null if the record names none. REST: getAccountsScope.',
    args: {
      viewId: t.arg.id({
        description: "The view for reading the account; the record's by default.",
      }),
    },
    ids: ({ record, bankId, viewId }, { viewId: otherViewId }, { defaults }) => {
      const accountId = unwrap(record.account_id);
      if (!accountId) return null;
      return {
        bankId: validateBankId('a bank', unwrap(record.bank_id) || bankId),
        accountId: validateBankId('an account', accountId),
        viewId: restId('viewId', otherViewId ?? viewId ?? defaults.viewId),
      };
    },
  }),
  counterparty: t.field({
    type: OtherAccount,
    description:
      'The payee as a counterparty; null if the payer has no such counterparty. REST: getOtherAccounts.',
    resolve: ({ record, bankId, accountId: payerId, viewId }, _args, { bankql }) => {
      const accountId = unwrap(record.account_id);
      if (!accountId || !payerId) return null;
      const payer = { bankId, accountId: payerId, viewId: viewId ?? bankql.defaults.viewId };
      return findCounterparty(payer, accountId, bankql);
    },
  }),
}));

export const AccountRefInput = builder.bankInput(accountRef);

/** The body of an account; an empty code names no bank. `name` is the input's. Errors: BAD_USER_INPUT. */
export const accountRefBody = (name: string, { bankId, ...given }: Values): AccountRefBody =>
  toBody(accountRef, bankId === '' ? given : { ...given, bankId }, `${name}.`);

/**
 * The body of an account that can be read afterwards.
 * Errors: BAD_USER_INPUT, which names the invalid id and does not repeat it.
 */
export function validatedAccountRefBody(name: string, given: Values): AccountRefBody {
  const { bankId, accountId } = given;
  if (typeof bankId === 'string' && bankId !== '') restId(`${name}.bankId`, bankId);
  if (typeof accountId === 'string') restId(`${name}.accountId`, accountId);
  return accountRefBody(name, given);
}
