import type { PaymentEvent, PaymentRecord } from '../../payments/payment-record.ts';
import type { LoggedAttempt } from './from-log.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/**
 * Records as a table for a terminal, one record a line. Ids are cut to the length at which they still differ.
 */
export function paymentTable(records: readonly LoggedAttempt[], now: number): string {
  const idLength = uniqueLength(records.map(({ id }) => id));
  const columns: Readonly<Record<string, (record: LoggedAttempt) => string>> = {
    id: ({ id }) => id.slice(0, idLength),
    state: ({ state, damaged }) => (damaged ? `${state} (damaged)` : state),
    created: ({ createdAt }) => isoTime(createdAt),
    age: ({ createdAt }) => formatAge(now - createdAt),
    operation: ({ operation }) => operation || '-',
    'from -> to': ({ bankId, accountId, toBankId, toAccountId }) =>
      `${bankId || '-'}/${accountId} -> ${toBankId ?? '-'}/${toAccountId ?? '-'}`,
    amount: ({ amount, currency }) => (amount === null ? '-' : `${amount} ${currency ?? ''}`),
    trackId: ({ trackId }) => trackId,
    code: ({ code }) => code ?? '-',
    status: ({ status }) => String(status ?? '-'),
    caller: ({ caller }) => caller.slice(0, 8),
  };
  const head = Object.keys(columns);
  const rows = records.map((record) => Object.values(columns).map((cellOf) => printable(cellOf(record))));
  const lines = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)));
  return lines
    .map(
      (cells) =>
        `${cells
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** One record, one field a line, without its history (paymentHistory). */
export function paymentLines({ history, ...fields }: PaymentRecord): string {
  const times: ReadonlySet<string> = new Set(['createdAt', 'updatedAt', 'leaseUntil']);
  return (
    Object.entries(fields)
      // A damaged record lacks some fields, and so does one that was made from a log.
      .filter(([, value]) => value !== null && value !== '')
      .map(
        ([field, value]) =>
          `${field}: ${times.has(field) ? isoTime(Number(value)) : printable(String(value))}\n`,
      )
      .join('')
  );
}

export const paymentJson = (records: readonly PaymentRecord[]): string =>
  `${printable(JSON.stringify(records, null, 2), /[^\P{C}\n]/gu)}\n`;

/** Escapes control characters as in JSON, because a text that a client chose may contain commands for the terminal. */
export const printable = (text: string, characters = /\p{C}/gu) =>
  text.replace(characters, (found) =>
    found
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );

function uniqueLength(ids: readonly string[]): number {
  for (let length = 12; length < 64; length += 4) {
    if (new Set(ids.map((id) => id.slice(0, length))).size === ids.length) return length;
  }
  return 64;
}

export function formatAge(ms: number): string {
  if (ms >= day) return `${Math.floor(ms / day)} d ${Math.floor((ms % day) / hour)} h`;
  if (ms >= hour) return `${Math.floor(ms / hour)} h ${Math.floor((ms % hour) / minute)} min`;
  if (ms >= minute) return `${Math.floor(ms / minute)} min`;
  return `${Math.max(0, Math.floor(ms / second))} s`;
}

export const isoTime = (time: number) => new Date(time).toISOString();

/** The history of a payment: a line for each change of its state, oldest first. */
export function paymentHistory({ history }: PaymentRecord): string {
  return history
    .map((event) => `${isoTime(event.at)}  ${event.state.padEnd(8)}  ${printable(tell(event))}\n`)
    .join('');
}

function tell(event: PaymentEvent): string {
  const { state, replica, requestId, status, code, bankText, settledBy, recoveredBy } = event;
  if (settledBy !== undefined) return `settled by ${settledBy}`;
  if (recoveredBy !== undefined) return `its record was lost, and made again from a log by ${recoveredBy}`;
  if (state === 'PENDING')
    return `recorded, to be sent${said('by', replica)}${said('for request', requestId)}`;
  if (status === undefined && code === undefined && bankText === undefined)
    return state === 'UNKNOWN' ? 'its lease ended, and how it ended was not recorded' : 'recorded';
  const answer = status === undefined ? 'the bank did not answer' : `the bank answered ${status}`;
  return `${answer}${said('told as', code)}${bankText === undefined ? '' : `: ${bankText}`}`;
}

const said = (word: string, what: string | undefined) => (what === undefined ? '' : `, ${word} ${what}`);
