import { bankWith } from './bank/records.ts';

/** One query of the bench, for all contenders with bankql's schema. */
export interface Shape {
  readonly name: string;
  /** The number of records that it reads, if this number varies; otherwise empty. */
  readonly size: number | '';
  readonly query: string;
  /** The necessary REST calls, with each record read once. */
  readonly calls: number;
}

/** The name of a shape in tables and lines. */
export const titleOf = ({ name, size }: Shape): string =>
  `${name.toUpperCase()}${size === '' ? '' : ` (${size})`}`;

/** One call: a list, with a few fields of each entry. */
export const q1 = (branches = 100): Shape => ({
  name: 'q1',
  size: branches,
  query: `{ bank(bankId: "${bankWith(branches)}") { branches { nodes { branchId name address { city } } } } }`,
  calls: 1,
});

/** Accounts by alias, each with its counterparties and owners; there are at most three different owners. */
export const q2 = (accounts = 10): Shape => ({
  name: 'q2',
  size: accounts,
  query: `{ bank { ${Array.from({ length: accounts }, (_, index) => `a${index}: account(accountId: "account-${index}") { ...account }`).join(' ')} } }
fragment account on Account {
  label balance { amount currency } owners { legalName } otherAccounts { nodes { iban holder { name } } }
}`,
  calls: 2 * accounts + Math.min(accounts, 3),
});

/** No call: only the cost of a request and its answer. */
export const q3: Shape = { name: 'q3', size: '', query: '{ __typename }', calls: 0 };

/** The query of bankql's README. */
export const q4: Shape = {
  name: 'q4',
  size: '',
  query: `{
  bank {
    account(accountId: "alice-current") {
      label
      balance { amount currency }
      owners { legalName }
      otherAccounts(first: 1) { totalCount nodes { iban holder { name } } }
      transactionRequests(first: 1) {
        nodes {
          status
          transactions { transactionId details { value { amount } } }
        }
      }
    }
  }
}`,
  calls: 7,
};

export const shapes: readonly Shape[] = [q1(), q2(), q3, q4];

/** The sizes with which section B measures the growth of the cost, in addition to those of `shapes`. */
export const branchCounts = [10, 100, 1000, 5000] as const;
export const accountCounts = [1, 10, 100] as const;
