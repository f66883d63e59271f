import type { PaymentEvent, PaymentRecord } from '../../payments/store.ts';
import { isoTime, printable } from './payment-table.ts';

/** What became of a payment, a line for each change of its state, oldest first. */
export function paymentHistory({ history }: PaymentRecord): string {
  if (history.length === 0) return 'Its story was not recorded: an earlier version of bankql wrote it.\n';
  return history
    .map((event) => `${isoTime(event.at)}  ${event.state.padEnd(8)}  ${printable(tell(event))}\n`)
    .join('');
}

function tell(event: PaymentEvent): string {
  const { state, replica, requestId, status, code, bankText, settledBy } = event;
  if (settledBy !== undefined) return `settled by ${settledBy}`;
  if (state === 'PENDING')
    return `recorded, to be sent${said('by', replica)}${said('for request', requestId)}`;
  if (status === undefined && code === undefined && bankText === undefined)
    return state === 'UNKNOWN' ? 'its lease ended, and how it ended was not recorded' : 'recorded';
  const answer = status === undefined ? 'the bank did not answer' : `the bank answered ${status}`;
  return `${answer}${said('told as', code)}${bankText === undefined ? '' : `: ${bankText}`}`;
}

const said = (word: string, what: string | undefined) => (what === undefined ? '' : `, ${word} ${what}`);
