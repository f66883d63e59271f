import { bankId, bankWith, type Json } from '../bank/records.ts';
import { accountCounts, branchCounts, q1, q2, q3, q4 } from '../shapes.ts';
import { paths } from './bank-schema.ts';

/** Reads a path as one caller, and parses the answer. */
type Get = (path: string) => Promise<Json>;

/** The hand-written function for one query: it makes the calls, and returns the `data` of the answer. */
export type Answer = (get: Get) => Promise<unknown>;

const branches =
  (bank: string): Answer =>
  async (get) => {
    const list = await get(paths.branches(bank));
    const nodeOf = ({ id, name, address: { city } }: Json) => ({ branchId: id, name, address: { city } });
    return { bank: { branches: { nodes: list.branches.map(nodeOf) } } };
  };

/** Reads customers, each once. */
function customersOf(get: Get) {
  const asked = new Map<string, Promise<Json>>();
  return (ids: readonly string[]) =>
    Promise.all(
      ids.map((id) => {
        const customer = asked.get(id) ?? get(paths.customer(bankId, id));
        asked.set(id, customer);
        return customer;
      }),
    );
}

/** Reads an account, its owners and all counterparties. */
async function readAccount(get: Get, id: string, customers: ReturnType<typeof customersOf>) {
  const others = get(paths.otherAccounts(bankId, id));
  const { accounts } = await get(paths.account(bankId, id));
  const { label, balance, owners } = accounts.find((account: Json) => account.id === id);
  const [named, { otherAccounts }] = await Promise.all([customers(owners), others]);
  const { amount, currency } = balance;
  const account = {
    label,
    balance: { amount: String(amount), currency },
    owners: named.map(({ legal_name }) => ({ legalName: legal_name })),
  };
  return { account, otherAccounts };
}

const counterpartyOf = ({ IBAN, holder }: Json) => ({ iban: IBAN, holder: { name: holder.name } });

const accounts =
  (count: number): Answer =>
  async (get) => {
    const customers = customersOf(get);
    const entries = Array.from({ length: count }, async (_, index) => {
      const { account, otherAccounts } = await readAccount(get, `account-${index}`, customers);
      const nodes = otherAccounts.map(counterpartyOf);
      return [`a${index}`, { ...account, otherAccounts: { nodes } }] as const;
    });
    return { bank: Object.fromEntries(await Promise.all(entries)) };
  };

async function readTransaction(get: Get, accountId: string, transactionId: string) {
  const { details } = await get(paths.transaction(bankId, accountId, transactionId));
  return { transactionId, details: { value: { amount: String(details.value.amount) } } };
}

async function readFirstRequest(get: Get, accountId: string) {
  const list = await get(paths.transactionRequests(bankId, accountId));
  const [{ status, transaction_ids }] = list['transaction-requests'];
  const ids: string[] = transaction_ids.split(',');
  return { status, transactions: await Promise.all(ids.map((id) => readTransaction(get, accountId, id))) };
}

const nested: Answer = async (get) => {
  const id = 'alice-current';
  const [{ account, otherAccounts }, request] = await Promise.all([
    readAccount(get, id, customersOf(get)),
    readFirstRequest(get, id),
  ]);
  const nodes = otherAccounts.slice(0, 1).map(counterpartyOf);
  return {
    bank: {
      account: {
        ...account,
        otherAccounts: { totalCount: otherAccounts.length, nodes },
        transactionRequests: { nodes: [request] },
      },
    },
  };
};

/** The functions by the text of the query. */
export const answers: ReadonlyMap<string, Answer> = new Map<string, Answer>([
  ...branchCounts.map((count): [string, Answer] => [q1(count).query, branches(bankWith(count))]),
  ...accountCounts.map((count): [string, Answer] => [q2(count).query, accounts(count)]),
  [q3.query, async () => ({ __typename: 'Query' })],
  [q4.query, nested],
]);
