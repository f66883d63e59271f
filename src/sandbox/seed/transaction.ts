import type { Transaction, TransactionMetadata } from '../../contract/transaction.ts';
import type { Database } from '../database.ts';
import { add, negate } from '../decimal.ts';
import { addToStatement, type StatementLine } from '../statement.ts';
import { uuidOf } from '../uuid.ts';
import { seededAccounts } from './account.ts';
import type { Ago } from './clock.ts';
import { payeesOf } from './other-account.ts';

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

/** What an account paid and got, oldest first: four times it pays, then it gets about as much. */
function valuesOf(
  account: { readonly currency: string },
  count: number,
  below: (n: number) => number,
): string[] {
  const values: string[] = [];
  let paid = '0';
  for (let step = 0; step < count; step++) {
    const units = BigInt(400 + below(11_000));
    // Yen have no smaller unit.
    const text =
      account.currency === 'JPY' ? `${units}` : `${units / 100n}.${String(units % 100n).padStart(2, '0')}`;
    const value = step % 5 === 4 ? add(negate(paid), text) : negate(text);
    paid = step % 5 === 4 ? '0' : add(paid, value);
    values.push(value);
  }
  return values;
}

/** Writes the history of every account. */
export function seedTransactions(database: Database, ago: Ago): void {
  const below = generator(20_250_106);
  const last = Date.parse(ago(daysSince, '08:30'));
  seededAccounts.forEach((account, accountIndex) => {
    const [employer, ...payees] = payeesOf(accountIndex);
    const values = valuesOf(account, account.history, below);
    const lines: StatementLine[] = [];
    // The history ends with the account's balance.
    let balance = values.reduce((rest, value) => add(rest, negate(value)), account.amount);
    values.forEach((amount, step) => {
      balance = add(balance, amount);
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
          value: { currency: account.currency, amount },
          new_balance: { currency: account.currency, amount: balance },
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
      lines.push({ transactionId: id, at });
    });
    addToStatement(database, account.id, ...lines);
  });
}
