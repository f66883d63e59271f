import type { StoreStatus } from '../payments/store.ts';
import { formatAge } from './payments/payment-table.ts';

/** What the start says of the payment store, in one line: how much it holds, or, loudly, that it misses records. */
export function describeState(status: StoreStatus | null, loss: string | null, now: number): string {
  if (loss !== null)
    return `*** PAYMENTS ARE REFUSED *** ${loss} Reads go on. See docs/payments.md, "A store that lost records".`;
  if (status === null) return 'Payment records: the store does not answer at the moment.';
  const { records, pending, unknown, newestAt } = status;
  if (records === 0 || newestAt === null) return 'Payment records: none.';
  const open = pending + unknown === 0 ? '' : `; ${pending} PENDING, ${unknown} UNKNOWN`;
  return `Payment records: ${records}, the newest ${formatAge(now - newestAt)} old${open}.`;
}
