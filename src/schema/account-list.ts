import { z } from 'zod';
import { unwrap } from '../bank/answer.ts';
import { withoutHeadOffice } from '../bank/ids.ts';
import type { Account } from '../contract/account.ts';
import type { ViewIds } from '../loaders/loaders.ts';

/** Reads the accounts in the lists of getAccountsScope. A list is identified by its path. */

export const scope = z.enum(['permissions', 'views']).optional();

/** Whether a bank code in a record means this bank. */
export const isCodeOf = (bankId: string, code: unknown): boolean =>
  typeof code === 'string' && withoutHeadOffice(code) === withoutHeadOffice(bankId);

/**
 * The ids of the accounts in a list. If the list has a single entry without an id, its id is the one in the path. An entry
 * with another bank's code is an account at that bank. But if no entry has this bank's code, the bank's records use other
 * codes than its paths, and the codes are ignored.
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

/**
 * The account of a list with a single entry, whatever the entry's id; null for any other list. Errors: the error in place of
 * the id.
 */
export function onlyAccount(accounts: readonly Account[]): Account | null {
  const [only] = accounts;
  if (only === undefined || accounts.length > 1) return null;
  unwrap(unwrap(only).id);
  return only;
}
