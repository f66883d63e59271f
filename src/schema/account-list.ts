import { z } from 'zod';
import { unwrap } from '../bank/answer.ts';
import { withoutHeadOffice } from '../bank/ids.ts';
import type { Account } from '../contract/account.ts';
import type { ViewIds } from '../loaders/loaders.ts';

/** The contents of the lists of getAccountsScope. Each list is identified by its path. */

export const scope = z.enum(['permissions', 'views']).optional();

/** Whether a code in a record is that of a bank. */
export const isCodeOf = (bankId: string, code: unknown): boolean =>
  typeof code === 'string' && withoutHeadOffice(code) === withoutHeadOffice(bankId);

/**
 * The ids of the accounts in a list. An only entry without an id has the path's. An account with another bank's code is an account
 * there, unless no entry has this bank's: its code in records then differs from the one in paths.
 */
export function accountsIn(list: readonly Account[], { bankId, accountId }: ViewIds) {
  const namesBank = ({ bank_id }: Account) => isCodeOf(bankId, bank_id);
  const isNamed = list.some(namesBank);
  const onlyId = list.length <= 1 ? accountId : null;
  return (record: Account) => {
    const { bank_id, id } = record;
    const isForeign = isNamed && typeof bank_id === 'string' && bank_id !== '' && !namesBank(record);
    return { bankId: isForeign ? bank_id : bankId, accountId: id || onlyId };
  };
}

/** The only account of a list, whatever its id; null if there are several. Errors: the one in the place of its id. */
export function onlyAccount(accounts: readonly Account[]): Account | null {
  const [only] = accounts;
  if (only === undefined || accounts.length > 1) return null;
  unwrap(unwrap(only).id);
  return only;
}
