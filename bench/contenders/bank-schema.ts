import type {
  Account,
  Branch,
  Customer,
  OtherAccount,
  Transaction,
  TransactionRequest,
} from '../bank/records.ts';

/** The part of bankql's schema that the bench asks for, for the contenders whose schema is written by hand. */
export const typeDefs = `
  type Query { bank(bankId: ID): Bank }
  type Bank { branches: BranchConnection account(accountId: ID!): Account }
  type BranchConnection { nodes: [Branch] totalCount: Int! }
  type Branch { branchId: ID name: String address: Address }
  type Address { city: String country: String line1: String line2: String line3: String postcode: String state: String }
  type Account {
    accountId: ID!
    label: String
    balance: Money
    owners: [Customer]
    otherAccounts(first: Int): OtherAccountConnection
    transactionRequests(first: Int): TransactionRequestConnection
  }
  type Money { amount: String currency: String }
  type Customer { legalName: String email: String }
  type OtherAccountConnection { nodes: [OtherAccount] totalCount: Int! }
  type OtherAccount { otherAccountId: ID iban: String holder: AccountHolder }
  type AccountHolder { name: String isAlias: Boolean }
  type TransactionRequestConnection { nodes: [TransactionRequest] totalCount: Int! }
  type TransactionRequest { status: String transactions: [Transaction] }
  type Transaction { transactionId: ID details: TransactionDetails }
  type TransactionDetails { status: String value: Money }
`;

/** Where each record is. Lists come in an envelope. */
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

/** Reads a path of the bank for the caller of a request: each contender in its own way. */
export interface BankContext {
  get<T>(path: string): Promise<T>;
}

/** What hangs on an account has to know it. */
type Within<T> = T & { readonly bankId: string };
type WithinAccount<T> = Within<T> & { readonly accountId: string };
interface First {
  readonly first?: number | null;
}

const connection = <T>(list: readonly T[], { first }: First) => ({
  nodes: first == null ? list : list.slice(0, first),
  totalCount: list.length,
});

/** Resolvers as one writes them by hand, over whatever reads the bank. */
export const resolvers = {
  Query: {
    bank: (_root: unknown, { bankId }: { bankId?: string }) => ({
      bankId: bankId ?? process.env.BANK_ID ?? '',
    }),
  },
  Bank: {
    async branches({ bankId }: Within<object>, _args: object, { get }: BankContext) {
      const { branches } = await get<{ branches: Branch[] }>(paths.branches(bankId));
      return connection(branches, {});
    },
    async account({ bankId }: Within<object>, { accountId }: { accountId: string }, { get }: BankContext) {
      const { accounts } = await get<{ accounts: Account[] }>(paths.account(bankId, accountId));
      const account = accounts.find(({ id }) => id === accountId);
      return account && { ...account, bankId, accountId };
    },
  },
  Branch: { branchId: ({ id }: Branch) => id },
  Address: {
    line1: ({ line_1 }: Branch['address']) => line_1,
    line2: ({ line_2 }: Branch['address']) => line_2,
    line3: ({ line_3 }: Branch['address']) => line_3,
  },
  Account: {
    owners: ({ bankId, owners }: Within<Account>, _args: object, { get }: BankContext) =>
      Promise.all(owners.map((id) => get<Customer>(paths.customer(bankId, id)))),
    async otherAccounts({ bankId, accountId }: WithinAccount<object>, args: First, { get }: BankContext) {
      const path = paths.otherAccounts(bankId, accountId);
      return connection((await get<{ otherAccounts: OtherAccount[] }>(path)).otherAccounts, args);
    },
    async transactionRequests(
      { bankId, accountId }: WithinAccount<object>,
      args: First,
      { get }: BankContext,
    ) {
      const path = paths.transactionRequests(bankId, accountId);
      const requests = (await get<{ 'transaction-requests': TransactionRequest[] }>(path))[
        'transaction-requests'
      ];
      return connection(
        requests.map((request) => ({ ...request, bankId, accountId })),
        args,
      );
    },
  },
  Customer: { legalName: ({ legal_name }: Customer) => legal_name },
  OtherAccount: { otherAccountId: ({ id }: OtherAccount) => id, iban: ({ IBAN }: OtherAccount) => IBAN },
  AccountHolder: { isAlias: ({ is_alias }: OtherAccount['holder']) => is_alias },
  TransactionRequest: {
    transactions: (
      { bankId, accountId, transaction_ids }: WithinAccount<TransactionRequest>,
      _args: object,
      { get }: BankContext,
    ) =>
      Promise.all(
        transaction_ids.split(',').map((id) => get<Transaction>(paths.transaction(bankId, accountId, id))),
      ),
  },
  Transaction: { transactionId: ({ id }: Transaction) => id },
};

/** The headers of a request that the bank wants to see. */
export const credentialHeaders = ['ocp-apim-subscription-key', 'auth-provider-name', 'auth-id'] as const;
