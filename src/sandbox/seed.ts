import type { Transaction, TransactionMetadata } from '../contract/transaction.ts';
import { createDatabase, type Database } from './database.ts';
import { bankId } from './identity.ts';
import { amountOf, centsOf } from './money.ts';
import { payeeOf, payeeRef } from './payee.ts';
import {
  branches,
  messageRows,
  metadata,
  otherAccountsOf,
  payeesOf,
  products,
  seededAccounts,
  seededCustomers,
} from './seed-data.ts';
import { addToStatement, requestUrl, type TransferStatus, transfer, uuidOf } from './transfer.ts';

const day = 86_400_000;

/** A time of day (UTC), `days` days before the start, as an ISO 8601 text. */
type Ago = (days: number, time?: string) => string;

/** `now`: the start, in milliseconds since 1970. */
const agoFrom =
  (now: number): Ago =>
  (days, time = '09:00') =>
    `${new Date(now - days * day).toISOString().slice(0, 10)}T${time}:00.000Z`;

/** The database that the bank starts with: the same time gives the same records. */
export function seededDatabase(now: number): Database {
  const database = createDatabase();
  const ago = agoFrom(now);
  for (const [id, customer] of Object.entries(seededCustomers)) database.customers.put(id, customer);
  for (const branch of branches) database.branches.put(branch.id, branch);
  for (const product of products) database.products.put(product.id, product);
  for (const entry of metadata) database.metadata.put(entry.id, null, entry);
  for (const [index, { id, account }] of seededAccounts.entries()) {
    database.accounts.put(id, account);
    for (const other of otherAccountsOf(index)) database.otherAccounts.put(id, other.id ?? null, other);
  }
  for (const [customerId, rows] of Object.entries(messageRows)) {
    for (const [days, time, from_department, from_person, message] of rows)
      database.messages.put(customerId, null, {
        message,
        from_department,
        from_person,
        date: ago(days, time),
      });
  }
  seedTransactions(database, ago);
  seedTransactionRequests(database, ago);
  return database;
}

const notes: readonly TransactionMetadata[] = [
  { comments: 'Thanks!', narrative: 'Monthly', tags: 'home,monthly', where: 'Nicosia' },
  { comments: 'Καλό μήνα', tags: 'σπίτι', where: 'Λευκωσία' },
  { comments: 'Спасибо', narrative: 'По договору', where: 'София' },
  { comments: 'ありがとう', tags: '本,旅行', where: '東京' },
  { comments: 'شكرًا', where: 'القاهرة' },
  { comments: '🙂 merci', tags: 'été' },
];

const descriptions = ['Salary', 'Ενοίκιο', 'Покупка', '本と雑誌', 'بقالة', 'Fahrkarte', 'Prime annuelle'];

const hour = 3_600_000;
/** How many days before the start the histories end; the transfers of the seeded requests come after them. */
const daysSince = 13;

/** A deterministic random generator (mulberry32). */
function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** The cents that an account paid and received, oldest first: four payments, then a credit of about their sum. */
function valuesOf(count: number, below: (n: number) => number): bigint[] {
  const values: bigint[] = [];
  let paid = 0n;
  for (let step = 0; step < count; step++) {
    const cents = BigInt(400 + below(11_000));
    const isIncome = step % 5 === 4;
    values.push(isIncome ? cents + paid : -cents);
    paid = isIncome ? 0n : paid + cents;
  }
  return values;
}

function seedTransactions(database: Database, ago: Ago): void {
  const below = generator(20_250_106);
  const last = Date.parse(ago(daysSince, '08:30'));
  seededAccounts.forEach((account, accountIndex) => {
    const [employer, ...payees] = payeesOf(accountIndex);
    const { currency } = account;
    const values = valuesOf(account.history, below);
    // The history ends with the account's balance.
    let balance = values.reduce((rest, value) => rest - value, centsOf('', account.amount, currency));
    const lines = values.map((value, step) => {
      balance += value;
      const id = database.nextId('tx');
      const posted = last - (accountIndex + (values.length - 1 - step) * 53) * hour;
      const at = new Date(posted).toISOString();
      const incoming = step % 5 === 4;
      const transaction: Transaction = {
        id,
        uuid: uuidOf(id),
        this_account: account.id,
        other_account: (incoming ? employer : payees[step % payees.length])?.id,
        details: {
          type: incoming ? 'SALARY' : step % 2 === 0 ? 'SEPA' : 'CARD',
          status: 'COMPLETED',
          description: descriptions[incoming ? 0 : 1 + (step % (descriptions.length - 1))],
          value: { currency, amount: amountOf(value, currency) },
          new_balance: { currency, amount: amountOf(balance, currency) },
          posted: at,
          posted_by_user_id: account.account.owners?.[0],
          posted_by_ip_address: '192.0.2.10',
          completed: new Date(posted + 2 * hour).toISOString(),
          approved_by_user_id: account.account.owners?.[0],
          approved_by_ip_address: '192.0.2.10',
          ...(step % 8 === 3 && { paused_by_user_id: 'fraud-desk', paused_by_ip_address: '198.51.100.7' }),
        },
        // Some transactions have no metadata.
        metadata: step % 7 === 6 ? undefined : notes[(accountIndex + step) % notes.length],
      };
      database.transactions.put(account.id, id, transaction);
      return { transactionId: id, at };
    });
    addToStatement(database, account.id, ...lines);
  });
}

/**
 * A request's customer, its accounts (from, to), amount and purpose; its status; how many days before the start it was
 * made; and how many days before the start its transfers were made, which have its status: a standing order has
 * several.
 */
type RequestRow = readonly [
  ...who: readonly [caller: string, fromId: string, toId: string],
  ...what: readonly [amount: string, description: string],
  ...state:
    | readonly [status: 'INITIATED' | 'CANCELLED' | 'FAILED', asked: number]
    | readonly [status: TransferStatus, asked: number, made: readonly number[]],
];

/** In the order of their ids. Dates go up from transfer to transfer of an account. */
const requestRows: readonly RequestRow[] = [
  ['alice', 'alice-current', 'bob-current', '25.00', 'Τρεις δόσεις', 'COMPLETED', 120, [12, 11, 10]],
  ['alice', 'alice-current', 'alice-savings', '100.00', 'Διακοπές', 'COMPLETED', 9, [9]],
  ['alice', 'alice-current', 'omar-current', '1500.50', 'هدية', 'INITIATED', 8],
  ['alice', 'alice-savings', 'alice-current', '75.25', 'Back to everyday', 'COMPLETED', 8, [8, 7]],
  ['bob', 'bob-current', 'alice-current', '40.10', 'За билетите', 'COMPLETED', 6, [6, 5]],
  ['bob', 'bob-current', 'carol-current', '75.25', 'Declined by the payee', 'FAILED', 5],
  ['carol', 'family-joint', 'carol-current', '200.00', '家賃', 'COMPLETED', 4, [4]],
  ['alice', 'alice-current', 'payee-electricity', '118.40', 'Ρεύμα', 'FAILED', 3, [3]],
  ['alice', 'alice-current', 'payee-rail', '64.90', 'Wien und zurück', 'PENDING', 1, [1]],
  ['alice', 'alice-current', 'payee-landlord', '650.00', 'Ενοίκιο', 'CANCELLED', 2],
  ['bob', 'bob-current', 'supplier-001', '240.00', 'Фактура 17', 'COMPLETED', 4, [4]],
  ['bob', 'bob-current', 'supplier-002', '85.50', 'Фактура 18', 'COMPLETED', 3, [3]],
  ['bob', 'bob-current', 'supplier-003', '2400.00', 'Фактура 19', 'INITIATED', 3],
  ['bob', 'bob-current', 'supplier-004', '130.00', 'Фактура 20', 'CANCELLED', 2],
  ['bob', 'bob-current', 'payee-closed', '99.95', 'Returned: the account is closed', 'FAILED', 2, [2]],
  ['bob', 'bob-current', 'payee-slow', '310.20', 'Фактура 21', 'PENDING', 1, [1]],
  ['carol', 'family-joint', 'payee-slow', '450.00', 'New boiler', 'PENDING', 1, [1]],
  ['alice', 'family-joint', 'alice-savings', '1200.00', 'Διακοπές', 'INITIATED', 1],
  ['omar', 'omar-current', 'payee-closed', '700.00', 'إيجار', 'FAILED', 2, [2]],
];

/** Writes the transaction requests and makes the transfers that they led to, as the bank itself would. */
function seedTransactionRequests(database: Database, ago: Ago): void {
  for (const [caller, fromId, toId, amount, description, ...state] of requestRows) {
    const [status, asked, made = []] = state;
    const payee = payeeOf(database, fromId, { account_id: toId });
    const order = { fromId, payee, currency: 'EUR', cents: centsOf('', amount, 'EUR') };
    const transactionIds =
      state.length === 3 &&
      state[2].map((days) => {
        const text = { type: 'SANDBOX_TAN', description, caller, at: ago(days) };
        return transfer(database, order, text, { status: state[0] }).id;
      });
    const id = database.nextId('request');
    const isOpen = status === 'INITIATED' || status === 'PENDING';
    database.transactionRequests.put(fromId, id, {
      description,
      resource_url: requestUrl(fromId, id),
      status,
      ...(transactionIds && { transaction_ids: transactionIds.join(',') }),
      start_date: ago(asked),
      ...(!isOpen && { end_date: ago(made.at(-1) ?? asked) }),
      ...(status === 'INITIATED' && { challenge: 'SANDBOX_TAN' }),
      from: { account_id: fromId, bank_id: bankId },
      body: { to: payeeRef(payee), value: { currency: 'EUR', amount } },
    });
  }
}
