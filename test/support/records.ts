import type { Account } from '../../src/contract/account.ts';
import type { Branch } from '../../src/contract/branch.ts';

/**
 * Records of the bank, with the required fields only. The names are the contract's, the values may be invalid on purpose.
 * full-records.ts has records with every field.
 */
type Change<Record> = { readonly [Field in keyof Record]?: unknown };

export const branchOf = <Given extends Change<Branch>>(change?: Given) => ({
  acceptsDeposits: true,
  ...change,
});

/** The bank's list with this number of branches. */
export const branchesOf = (count: number, change: (n: number) => Change<Branch>) => ({
  branches: Array.from({ length: count }, (_, n) => branchOf(change(n))),
});

export const accountOf = <Given extends Change<Account>>(change?: Given) => ({ balance: {}, ...change });
