import { sound } from '../bank/answer.ts';
import { checkBankId, checkId } from '../bank/path.ts';
import type { AccountRef as AccountName, AccountRefBody } from '../contract/shapes.ts';
import { AccountRef, accountLink } from './account.ts';
import { builder } from './builder.ts';
import { facts, type Planning } from './field-facts.ts';
import { present } from './values.ts';

/** An account as another record names it, with what stands for the parts that it leaves out. */
export interface NamedAccount {
  readonly named: AccountName;
  /** The bank of the path through which the record was read. */
  readonly bankId: string;
  /** The view through which it was read. */
  readonly viewId: string;
}

export const NamedAccountRef = builder.objectRef<NamedAccount>('AccountRef');
NamedAccountRef.implement({
  description: 'An account named by another record.',
  fields: (t) => ({
    bankId: t.id({
      nullable: true,
      description: 'REST `bank_id`, as the record has it.',
      resolve: ({ named }) => named.bank_id,
    }),
    accountId: t.id({
      nullable: true,
      description: 'REST `account_id`, as the record has it.',
      resolve: ({ named }) => named.account_id,
    }),
    account: t.field({
      type: AccountRef,
      nullable: true,
      description:
        'Seen through the view of the record that names it, unless another is given; null where the record names no account. REST: getAccountsScope.',
      args: { viewId: t.arg.id({ description: 'Another view.' }) },
      extensions: facts({
        plan: (parent: NamedAccount, args: { viewId?: string | null }, planning: Planning) => {
          const ids = accountOf(parent, args.viewId);
          return ids === null ? null : accountLink.leadTo(ids, planning);
        },
      }),
      resolve: (parent, args, context, info) => {
        const ids = accountOf(parent, args.viewId);
        return ids === null ? null : accountLink.follow(ids, context, info);
      },
    }),
  }),
});

function accountOf({ named, bankId, viewId }: NamedAccount, otherViewId: string | null | undefined) {
  const accountId = sound(named.account_id);
  if (!accountId) return null;
  return {
    bankId: checkBankId('a bank', sound(named.bank_id) ?? bankId),
    accountId: checkBankId('an account', accountId),
    viewId: checkId('viewId', otherViewId ?? viewId),
  };
}

export const AccountRefInput = builder.inputType('AccountRefInput', {
  description: 'An account, named.',
  fields: (t) => ({
    bankId: t.id({ description: 'REST `bank_id`.' }),
    accountId: t.id({ description: 'REST `account_id`.' }),
  }),
});

export const accountRefBody = ({ accountId, bankId }: typeof AccountRefInput.$inferInput): AccountRefBody =>
  present({ account_id: accountId, bank_id: bankId });

/**
 * The same, of an account that can be asked for afterwards. `name` is the input's.
 * Errors: BAD_USER_INPUT, which names the id that is at fault and does not repeat it.
 */
export function checkedAccountRefBody(
  name: string,
  given: typeof AccountRefInput.$inferInput,
): AccountRefBody {
  for (const part of ['bankId', 'accountId'] as const) {
    const id = given[part];
    if (typeof id === 'string') checkId(`${name}.${part}`, id);
  }
  return accountRefBody(given);
}
