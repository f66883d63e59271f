import {
  type Account,
  type Branch,
  bankId,
  bankWith,
  type Customer,
  type OtherAccount,
  type Transaction,
  type TransactionRequest,
  viewId,
} from '../bank/records.ts';
import { accountCounts, branchCounts, q1, q2, q3, q4 } from '../shapes.ts';

/** One caller's GET of a path below the banks, parsed. */
type Get = <T>(path: string) => Promise<T>;

/** What is written by hand for one query: its calls, and the `data` of its answer. */
export type Answer = (get: Get) => Promise<unknown>;

const branches =
  (bank: string): Answer =>
  async (get) => {
    const list = await get<{ branches: Branch[] }>(`${bank}/branches`);
    const nodes = list.branches.map(({ id, name, address }) => ({
      branchId: id,
      name,
      address: { city: address.city },
    }));
    return { bank: { branches: { nodes } } };
  };

const accountAt = (accountId: string) => `${bankId}/accounts/${accountId}/${viewId}`;

async function readAccount(get: Get, accountId: string): Promise<Account> {
  const { accounts } = await get<{ accounts: Account[] }>(`${accountAt(accountId)}/views`);
  const found = accounts.find(({ id }) => id === accountId);
  if (found === undefined) throw new Error(`no ${accountId}`);
  return found;
}

const readOtherAccounts = (get: Get, accountId: string) =>
  get<{ otherAccounts: OtherAccount[] }>(`${accountAt(accountId)}/other_accounts`);

/** Customers, each asked for once. */
function customersOf(get: Get) {
  const asked = new Map<string, Promise<Customer>>();
  return (ids: readonly string[]) =>
    Promise.all(
      ids.map((id) => {
        const customer = asked.get(id) ?? get<Customer>(`${bankId}/customers/${id}`);
        asked.set(id, customer);
        return customer;
      }),
    );
}

const nameOf = ({ legal_name }: Customer) => ({ legalName: legal_name });
const moneyOf = ({ amount, currency }: Account['balance']) => ({ amount: String(amount), currency });
const counterpartyOf = ({ IBAN, holder }: OtherAccount) => ({ iban: IBAN, holder: { name: holder.name } });

const accounts =
  (count: number): Answer =>
  async (get) => {
    const customers = customersOf(get);
    const bank: Record<string, unknown> = {};
    await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        // The answer's order is the query's.
        bank[`a${index}`] = null;
        const id = `account-${index}`;
        const others = readOtherAccounts(get, id);
        const { label, balance, owners } = await readAccount(get, id);
        const [named, { otherAccounts }] = await Promise.all([customers(owners), others]);
        bank[`a${index}`] = {
          label,
          balance: moneyOf(balance),
          owners: named.map(nameOf),
          otherAccounts: { nodes: otherAccounts.map(counterpartyOf) },
        };
      }),
    );
    return { bank };
  };

const nested: Answer = async (get) => {
  const id = 'alice-current';
  const others = readOtherAccounts(get, id);
  const requested = get<{ 'transaction-requests': TransactionRequest[] }>(
    `${accountAt(id)}/transaction-requests`,
  );
  const customers = readAccount(get, id).then(async (record) => ({
    ...record,
    owners: await customersOf(get)(record.owners),
  }));
  const requests = requested.then((list) =>
    Promise.all(
      list['transaction-requests'].slice(0, 1).map(async ({ status, transaction_ids }) => ({
        status,
        transactions: await Promise.all(
          transaction_ids.split(',').map(async (transactionId) => {
            const { details } = await get<Transaction>(
              `${accountAt(id)}/transactions/${transactionId}/transaction`,
            );
            return { transactionId, details: { value: { amount: String(details.value.amount) } } };
          }),
        ),
      })),
    ),
  );
  const [{ label, balance, owners }, { otherAccounts }, nodes] = await Promise.all([
    customers,
    others,
    requests,
  ]);
  return {
    bank: {
      account: {
        label,
        balance: moneyOf(balance),
        owners: owners.map(nameOf),
        otherAccounts: {
          totalCount: otherAccounts.length,
          nodes: otherAccounts.slice(0, 1).map(counterpartyOf),
        },
        transactionRequests: { nodes },
      },
    },
  };
};

/** By the text of the query. */
export const answers: ReadonlyMap<string, Answer> = new Map<string, Answer>([
  ...branchCounts.map((count): [string, Answer] => [q1(count).query, branches(bankWith(count))]),
  ...accountCounts.map((count): [string, Answer] => [q2(count).query, accounts(count)]),
  [q3.query, async () => ({ __typename: 'Query' })],
  [q4.query, nested],
]);
