import type { Json } from '../bank/records.ts';

/** The part of bankql's schema that the bench's queries use, for the contenders whose schema is written by hand. */
export const typeDefs = `
  type Query { bank(bankId: ID): Bank }
  type Bank { branches: BranchConnection account(accountId: ID!): Account }
  type BranchConnection { nodes: [Branch] totalCount: Int! }
  type Branch { branchId: ID name: String address: Address }
  type Address { city: String }
  type Account {
    label: String
    balance: Money
    owners: [Customer]
    otherAccounts(first: Int): OtherAccountConnection
    transactionRequests(first: Int): TransactionRequestConnection
  }
  type Money { amount: String currency: String }
  type Customer { legalName: String }
  type OtherAccountConnection { nodes: [OtherAccount] totalCount: Int! }
  type OtherAccount { iban: String holder: AccountHolder }
  type AccountHolder { name: String }
  type TransactionRequestConnection { nodes: [TransactionRequest] totalCount: Int! }
  type TransactionRequest { status: String transactions: [Transaction] }
  type Transaction { transactionId: ID details: TransactionDetails }
  type TransactionDetails { value: Money }
`;

/** The paths of the records. Lists come in an envelope. */
export const paths = {
  branches: (bankId: string) => `/v1/api/banks/${bankId}/branches`,
  customer: (bankId: string, id: string) => `/v1/api/banks/${bankId}/customers/${id}`,
  account: (bankId: string, id: string) => `/v1/api/banks/${bankId}/accounts/${id}/owner/views`,
  otherAccounts: (bankId: string, id: string) =>
    `/v1/api/banks/${bankId}/accounts/${id}/owner/other_accounts`,
  transactionRequests: (bankId: string, id: string) =>
    `/v1/api/banks/${bankId}/accounts/${id}/owner/transaction-requests`,
  transaction: (bankId: string, accountId: string, id: string) =>
    `/v1/api/banks/${bankId}/accounts/${accountId}/owner/transactions/${id}/transaction`,
};

/** Reads a path of the bank for the caller of a request. Each contender implements it in its own way. */
export interface BankContext {
  get(path: string): Promise<Json>;
}

const connection = (list: readonly Json[], first?: number | null) => ({
  nodes: first == null ? list : list.slice(0, first),
  totalCount: list.length,
});

/**
 * Usual hand-written resolvers, which work with any function that reads the bank. A record that belongs to an account also has
 * the account's ids.
 */
export const resolvers = {
  Query: {
    bank: (_root: unknown, { bankId }: Json) => ({ bankId: bankId ?? process.env.BANK_ID ?? '' }),
  },
  Bank: {
    async branches({ bankId }: Json, _args: object, { get }: BankContext) {
      return connection((await get(paths.branches(bankId))).branches);
    },
    async account({ bankId }: Json, { accountId }: Json, { get }: BankContext) {
      const { accounts } = await get(paths.account(bankId, accountId));
      const account = accounts.find(({ id }: Json) => id === accountId);
      return account && { ...account, bankId, accountId };
    },
  },
  Branch: { branchId: ({ id }: Json) => id },
  Account: {
    owners: ({ bankId, owners }: Json, _args: object, { get }: BankContext) =>
      Promise.all(owners.map((id: string) => get(paths.customer(bankId, id)))),
    async otherAccounts({ bankId, accountId }: Json, { first }: Json, { get }: BankContext) {
      return connection((await get(paths.otherAccounts(bankId, accountId))).otherAccounts, first);
    },
    async transactionRequests({ bankId, accountId }: Json, { first }: Json, { get }: BankContext) {
      const { 'transaction-requests': requests } = await get(paths.transactionRequests(bankId, accountId));
      return connection(
        requests.map((request: Json) => ({ ...request, bankId, accountId })),
        first,
      );
    },
  },
  Customer: { legalName: ({ legal_name }: Json) => legal_name },
  OtherAccount: { iban: ({ IBAN }: Json) => IBAN },
  TransactionRequest: {
    transactions: ({ bankId, accountId, transaction_ids }: Json, _args: object, { get }: BankContext) =>
      Promise.all(
        transaction_ids.split(',').map((id: string) => get(paths.transaction(bankId, accountId, id))),
      ),
  },
  Transaction: { transactionId: ({ id }: Json) => id },
};

/** The headers of a request that the bank requires. */
export const credentialHeaders = ['ocp-apim-subscription-key', 'auth-provider-name', 'auth-id'] as const;

/** The values of these headers in a request. */
export const credentialsIn = (headers: Readonly<Record<string, string | string[] | undefined>>) =>
  Object.fromEntries(credentialHeaders.map((name) => [name, String(headers[name])]));
