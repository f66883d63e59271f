import type { Logger } from 'pino';
import type { StoreEvent } from '../payments/store-event.ts';

/** What the log says of a store's own news. */
const storeEvents = {
  loss: { level: 'error', message: 'the payment store has lost records: payments are refused, reads go on' },
  'loss-accepted': { level: 'warn', message: 'an operator accepted that the payment store lost records' },
  purge: { level: 'warn', message: 'more than a tenth of all payment records are over their time' },
  'clocks-differ': {
    level: 'error',
    message:
      "bankql's clock differs from that of the payment store, or jumped ahead: no record expires until they agree",
  },
  'clocks-agree': { level: 'info', message: 'the clocks of the payment store agree again' },
  'mark-failed': { level: 'error', message: "the payment store's high-water mark cannot be written" },
  'record-unreadable': {
    level: 'error',
    message: 'the stored record of a payment is damaged: answers that need it fail, other payments go on',
  },
  'mark-written-again': { level: 'info', message: "the payment store's high-water mark is written again" },
} as const satisfies Record<
  StoreEvent['kind'],
  { readonly level: 'info' | 'warn' | 'error'; readonly message: string }
>;

export function logStoreEvent(logger: Logger, event: StoreEvent): void {
  const { level, message } = storeEvents[event.kind];
  logger[level](event, message);
}
