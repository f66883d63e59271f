import { bankId, bankWith } from '../bank/records.ts';
import { accountCounts, branchCounts, q1, q2, q3, q4 } from '../shapes.ts';
import { paths } from './bank-schema.ts';

// biome-ignore lint/suspicious/noExplicitAny: what JSON.parse makes of an answer of the bank.
export type Json = any;

/** Reads a path as one caller, parsed. */
type Get = (path: string) => Promise<Json>;

/** What is written by hand for one query: its calls, and the `data` of its answer. */
export type Answer = (get: Get) => Promise<unknown>;

const branches =
  (bank: string): Answer =>
  async (get) => {
    const list = await get(paths.branches(bank));
    const nodes = list.branches.map(({ id, name, address }: Json) => ({
      branchId: id,
      name,
      address: { city: address.city },
    }));
    return { bank: { branches: { nodes } } };
  };

async function readAccount(get: Get, accountId: string): Promise<Json> {
  const { accounts } = await get(paths.account(bankId, accountId));
  const found = accounts.find(({ id }: Json) => id === accountId);
  if (found === undefined) throw new Error(`no ${accountId}`);
  return found;
}

/** Customers, each asked for once. */
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

const nameOf = ({ legal_name }: Json) => ({ legalName: legal_name });
const moneyOf = ({ amount, currency }: Json) => ({ amount: String(amount), currency });
const counterpartyOf = ({ IBAN, holder }: Json) => ({ iban: IBAN, holder: { name: holder.name } });

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
        const others = get(paths.otherAccounts(bankId, id));
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

async function readTransaction(get: Get, accountId: string, transactionId: string) {
  const { details } = await get(paths.transaction(bankId, accountId, transactionId));
  return { transactionId, details: { value: { amount: String(details.value.amount) } } };
}

const nested: Answer = async (get) => {
  const id = 'alice-current';
  const others = get(paths.otherAccounts(bankId, id));
  const requested = get(paths.transactionRequests(bankId, id));
  const account = readAccount(get, id).then(async (record) => ({
    ...record,
    owners: await customersOf(get)(record.owners),
  }));
  const requests = requested.then((list) =>
    Promise.all(
      list['transaction-requests'].slice(0, 1).map(async ({ status, transaction_ids }: Json) => {
        const ids: string[] = transaction_ids.split(',');
        const transactions = await Promise.all(ids.map((each) => readTransaction(get, id, each)));
        return { status, transactions };
      }),
    ),
  );
  const [{ label, balance, owners }, { otherAccounts }, nodes] = await Promise.all([
    account,
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
