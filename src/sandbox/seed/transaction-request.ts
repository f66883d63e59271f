import type { Database } from '../database.ts';
import { bankId } from '../identity.ts';
import { payeeOf, payeeRef } from '../payee.ts';
import { requestUrl } from '../request-url.ts';
import { type TransferStatus, transfer } from '../transfer.ts';
import type { Ago } from './clock.ts';

/** Who asks, from and to which account, how much and why; how it stands, and the days before the start. */
type Row = {
  readonly who: readonly [caller: string, fromId: string, toId: string];
  readonly what: readonly [amount: string, description: string];
  /** When it was asked for. */
  readonly asked: number;
} & (
  | { readonly status: 'INITIATED' | 'CANCELLED' | 'FAILED'; readonly made?: never }
  /** When transfers were made, which have the status of the request; a standing order has several. */
  | { readonly status: TransferStatus; readonly made: readonly number[] }
);

/** In the order of their ids. Dates go up from transfer to transfer of an account. */
const rows: readonly Row[] = [
  {
    who: ['alice', 'alice-current', 'bob-current'],
    what: ['25.00', 'Τρεις δόσεις'],
    status: 'COMPLETED',
    asked: 120,
    made: [12, 11, 10],
  },
  {
    who: ['alice', 'alice-current', 'alice-savings'],
    what: ['100.00', 'Διακοπές'],
    status: 'COMPLETED',
    asked: 9,
    made: [9],
  },
  {
    who: ['alice', 'alice-current', 'omar-current'],
    what: ['1500.50', 'هدية'],
    status: 'INITIATED',
    asked: 8,
  },
  {
    who: ['alice', 'alice-savings', 'alice-current'],
    what: ['75.25', 'Back to everyday'],
    status: 'COMPLETED',
    asked: 8,
    made: [8, 7],
  },
  {
    who: ['bob', 'bob-current', 'alice-current'],
    what: ['40.10', 'За билетите'],
    status: 'COMPLETED',
    asked: 6,
    made: [6, 5],
  },
  {
    who: ['bob', 'bob-current', 'carol-current'],
    what: ['75.25', 'Declined by the payee'],
    status: 'FAILED',
    asked: 5,
  },
  {
    who: ['carol', 'family-joint', 'carol-current'],
    what: ['200.00', '家賃'],
    status: 'COMPLETED',
    asked: 4,
    made: [4],
  },
  {
    who: ['alice', 'alice-current', 'payee-electricity'],
    what: ['118.40', 'Ρεύμα'],
    status: 'FAILED',
    asked: 3,
    made: [3],
  },
  {
    who: ['alice', 'alice-current', 'payee-rail'],
    what: ['64.90', 'Wien und zurück'],
    status: 'PENDING',
    asked: 1,
    made: [1],
  },
  {
    who: ['alice', 'alice-current', 'payee-landlord'],
    what: ['650.00', 'Ενοίκιο'],
    status: 'CANCELLED',
    asked: 2,
  },
  {
    who: ['bob', 'bob-current', 'supplier-001'],
    what: ['240.00', 'Фактура 17'],
    status: 'COMPLETED',
    asked: 4,
    made: [4],
  },
  {
    who: ['bob', 'bob-current', 'supplier-002'],
    what: ['85.50', 'Фактура 18'],
    status: 'COMPLETED',
    asked: 3,
    made: [3],
  },
  {
    who: ['bob', 'bob-current', 'supplier-003'],
    what: ['2400.00', 'Фактура 19'],
    status: 'INITIATED',
    asked: 3,
  },
  {
    who: ['bob', 'bob-current', 'supplier-004'],
    what: ['130.00', 'Фактура 20'],
    status: 'CANCELLED',
    asked: 2,
  },
  {
    who: ['bob', 'bob-current', 'payee-closed'],
    what: ['99.95', 'Returned: the account is closed'],
    status: 'FAILED',
    asked: 2,
    made: [2],
  },
  {
    who: ['bob', 'bob-current', 'payee-slow'],
    what: ['310.20', 'Фактура 21'],
    status: 'PENDING',
    asked: 1,
    made: [1],
  },
  {
    who: ['carol', 'family-joint', 'payee-slow'],
    what: ['450.00', 'New boiler'],
    status: 'PENDING',
    asked: 1,
    made: [1],
  },
  {
    who: ['alice', 'family-joint', 'alice-savings'],
    what: ['1200.00', 'Διακοπές'],
    status: 'INITIATED',
    asked: 1,
  },
  {
    who: ['omar', 'omar-current', 'payee-closed'],
    what: ['700.00', 'إيجار'],
    status: 'FAILED',
    asked: 2,
    made: [2],
  },
];

/** Writes the transaction requests and makes the transfers that they led to, as the bank itself would. */
export function seedTransactionRequests(database: Database, ago: Ago): void {
  for (const row of rows) {
    const { status, asked, made = [] } = row;
    const [caller, fromId, toId] = row.who;
    const [amount, description] = row.what;
    const payee = payeeOf(database, fromId, { account_id: toId });
    const order = { fromId, payee, currency: 'EUR', amount };
    const transactionIds = row.made?.map((days) => {
      const text = { type: 'SANDBOX_TAN', description, caller, at: ago(days) };
      return transfer(database, order, text, { status: row.status }).id;
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
