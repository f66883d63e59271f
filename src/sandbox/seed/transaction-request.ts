import type { Database } from '../database.ts';
import { bankId } from '../identity.ts';
import { requestUrl } from '../request-url.ts';
import { transfer } from '../transfer.ts';

/** One request: who asks, from and to which account, what, why, and how it went on. */
interface Row {
  readonly caller: string;
  readonly fromId: string;
  readonly toId: string;
  readonly amount: string;
  readonly description: string;
  /** The dates of the transfers that it led to, in 2025; a standing order has several. */
  readonly made: readonly string[];
  /** How it stands where no transfer was made. */
  readonly open?: { readonly status: string; readonly challenge?: string; readonly start_date: string };
}

const rows: readonly Row[] = [
  {
    caller: 'alice',
    fromId: 'alice-current',
    toId: 'bob-current',
    amount: '25.00',
    description: 'Τρεις δόσεις',
    made: ['04-07', '04-14', '04-21'],
  },
  {
    caller: 'alice',
    fromId: 'alice-current',
    toId: 'alice-savings',
    amount: '100.00',
    description: 'Διακοπές',
    made: ['04-22'],
  },
  {
    caller: 'alice',
    fromId: 'alice-current',
    toId: 'omar-current',
    amount: '1500.50',
    description: 'هدية',
    made: [],
    open: { status: 'INITIATED', challenge: 'SANDBOX_TAN', start_date: '2025-04-23T09:00:00.000Z' },
  },
  {
    caller: 'alice',
    fromId: 'alice-savings',
    toId: 'alice-current',
    amount: '75.25',
    description: 'Back to everyday',
    made: ['04-24', '04-25'],
  },
  {
    caller: 'bob',
    fromId: 'bob-current',
    toId: 'alice-current',
    amount: '40.10',
    description: 'За билетите',
    made: ['04-26', '05-03'],
  },
  {
    caller: 'bob',
    fromId: 'bob-current',
    toId: 'carol-current',
    amount: '75.25',
    description: 'Declined by the payee',
    made: [],
    open: { status: 'FAILED', start_date: '2025-04-27T09:00:00.000Z' },
  },
  {
    caller: 'carol',
    fromId: 'family-joint',
    toId: 'carol-current',
    amount: '200.00',
    description: '家賃',
    made: ['04-28'],
  },
];

const time = (date: string) => `2025-${date}T09:00:00.000Z`;

/** Writes the transaction requests and makes the transfers that they led to, as the bank itself would. */
export function seedTransactionRequests(database: Database): void {
  for (const { caller, fromId, toId, amount, description, made, open } of rows) {
    const value = { currency: 'EUR', amount };
    const transactionIds = made.map((date) =>
      transfer(
        database,
        { fromId, toId, ...value },
        { type: 'SANDBOX_TAN', description, caller, at: time(date) },
      ),
    );
    const [firstDate = '', lastDate = ''] = [made[0], made.at(-1)];
    const outcome = open ?? {
      status: 'COMPLETED',
      transaction_ids: transactionIds.join(','),
      start_date: time(firstDate),
      end_date: time(lastDate),
    };
    const id = database.nextId('request');
    database.transactionRequests.put(fromId, id, {
      description,
      resource_url: requestUrl(fromId, id),
      ...outcome,
      from: { account_id: fromId, bank_id: bankId },
      body: { to: { account_id: toId, bank_id: bankId }, value },
    });
  }
}
