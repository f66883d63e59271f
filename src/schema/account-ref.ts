import { validateBankId } from '../bank/ids.ts';
import { unwrap } from '../bank/response.ts';
import { type AccountRef as AccountName, type AccountRefBody, accountRef } from '../contract/shared-parts.ts';
import type { ViewIds } from '../loaders/loaders.ts';
import { accountNode } from './account.ts';
import { builder } from './builder.ts';
import { fieldsOf, inputType, toBody } from './fields.ts';
import { restId } from './global-id.ts';
import { link } from './link.ts';
import { findCounterparty, otherAccountNode } from './other-account.ts';

/** An account as another record names it, with defaults for the parts that it leaves out. */
export interface NamedAccount {
  readonly named: AccountName;
  /** The bank in the path through which the record was read. */
  readonly bankId: string;
  /** The view through which it was read. */
  readonly viewId: string;
  /** The account that pays it, if it is one that is paid. */
  readonly payer?: ViewIds;
}

export const AccountRefObject = builder.objectRef<NamedAccount>('AccountRef');
AccountRefObject.implement({
  description: accountRef.description ?? '',
  fields: (t) => ({
    ...fieldsOf(t, accountRef, 'named'),
    account: link(t, accountNode, {
      description:
        "The account, seen through the given view or else the record's view. Null if the record names no account. REST: getAccountsScope.",
      args: {
        viewId: t.arg.id({
          description: "The view for reading the account. The default is the record's view.",
        }),
      },
      fromRecord: true,
      ids: ({ named, bankId, viewId }, { viewId: otherViewId }) => {
        const accountId = unwrap(named.account_id);
        if (!accountId) return null;
        return {
          bankId: validateBankId('a bank', unwrap(named.bank_id) ?? bankId),
          accountId: validateBankId('an account', accountId),
          viewId: restId('viewId', otherViewId ?? viewId),
        };
      },
    }),
    counterparty: t.field({
      type: otherAccountNode.object,
      description:
        'The payee as a counterparty of the paying account, found by its id. Null for an account that is not paid, and if there is no such counterparty. REST: getOtherAccounts.',
      resolve: ({ named, payer }, _args, context) => {
        const accountId = unwrap(named.account_id);
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
export function validatedAccountRefBody(name: string, given: object): AccountRefBody {
  for (const part of ['bankId', 'accountId']) {
    const id: unknown = Reflect.get(given, part);
    if (typeof id === 'string') restId(`${name}.${part}`, id);
  }
  return toBody(accountRef, given, `${name}.`);
}
