import { unwrap } from '../bank/answer.ts';
import { validateBankId } from '../bank/ids.ts';
import { type AccountRef as AccountName, type AccountRefBody, accountRef } from '../contract/shared-parts.ts';
import type { ViewIds } from '../loaders/loaders.ts';
import { accountNode } from './account.ts';
import { builder } from './builder.ts';
import { findCounterparty, otherAccountNode } from './other-account.ts';
import { fieldsOf, inputType, toBody } from './plugin/fields.ts';
import { restId } from './plugin/global-id.ts';
import { link } from './plugin/link.ts';

/** An account as another record names it, with defaults for the parts that it leaves out. */
export interface NamedAccount {
  readonly record: AccountName;
  /** The bank in the path through which the record was read. */
  readonly bankId: string;
  /** The view through which the record was read. */
  readonly viewId: string;
  /** The paying account, if this account is a payee. */
  readonly payer?: ViewIds | undefined;
}

export const AccountRefObject = builder.objectRef<NamedAccount>('AccountRef');
AccountRefObject.implement({
  description: accountRef.description ?? '',
  fields: (t) => ({
    ...fieldsOf(t, accountRef, 'record'),
    account: link(t, accountNode, {
      description: 'The account; null if the record names none. REST: getAccountsScope.',
      args: {
        viewId: t.arg.id({
          description: "The view for reading the account; the record's by default.",
        }),
      },
      fromRecord: true,
      ids: ({ record, bankId, viewId }, { viewId: otherViewId }) => {
        const accountId = unwrap(record.account_id);
        if (!accountId) return null;
        return {
          bankId: validateBankId('a bank', unwrap(record.bank_id) ?? bankId),
          accountId: validateBankId('an account', accountId),
          viewId: restId('viewId', otherViewId ?? viewId),
        };
      },
    }),
    counterparty: t.field({
      type: otherAccountNode.object,
      description:
        'The payee as a counterparty; null if the payer has no such counterparty. REST: getOtherAccounts.',
      resolve: ({ record, payer }, _args, context) => {
        const accountId = unwrap(record.account_id);
        return payer && accountId ? findCounterparty(payer, accountId, context) : null;
      },
    }),
  }),
});

export const AccountRefInput = inputType(accountRef);

/**
 * The body of an account that can be read afterwards. `name` is the input's.
 * Errors: BAD_USER_INPUT, which names the invalid id and does not repeat it.
 */
export function validatedAccountRefBody(
  name: string,
  given: Readonly<Record<string, unknown>>,
): AccountRefBody {
  for (const part of ['bankId', 'accountId']) {
    const id = given[part];
    if (typeof id === 'string') restId(`${name}.${part}`, id);
  }
  return toBody(accountRef, given, `${name}.`);
}
