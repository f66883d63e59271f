import type { PaymentEvent, PaymentOutcome, PaymentRecord } from './payment-record.ts';

/**
 * The payment protocol: what an event does to the record of an idempotency key. Its functions are pure: stores, the
 * service and the tests of all interleavings use them. docs/architecture.md draws the protocol.
 *
 * Two rules keep a payment from being sent twice:
 * - The request is sent only by the attempt whose record was stored, and only while its lease lasts.
 * - A key becomes free only from PENDING. Before a process tells a client that an outcome is unknown, it writes this to the
 *   record. From then on, late proof that nothing was sent makes the payment REJECTED; the key stays in use.
 */

/** A record, and whether the attempt that began it may still write its outcome. */
export interface HeldPayment {
  readonly record: PaymentRecord;
  readonly awaited: boolean;
}

export type ProtocolEvent =
  /** A client asks to pay. `record` is PENDING. */
  | { readonly kind: 'begin'; readonly record: PaymentRecord }
  /** The record was lost, and an operator has found the attempt in a log. `record` contains the details from the log. */
  | {
      readonly kind: 'found in a log';
      readonly record: PaymentRecord;
      readonly by: string;
      readonly at: number;
    }
  /** The bank answered, or no answer came to a request that may have reached it. */
  | {
      readonly kind: 'ended';
      readonly trackId: string;
      readonly outcome: PaymentOutcome;
      readonly at: number;
    }
  /** There is proof that the attempt executed nothing: it was not sent, or the bank did not accept the credentials. */
  | { readonly kind: 'taken back'; readonly trackId: string; readonly at: number }
  /** The record is read for a client or an operator. */
  | { readonly kind: 'asked about'; readonly at: number }
  /** An operator records whether the bank executed the payment. */
  | {
      readonly kind: 'settled';
      readonly state: 'DONE' | 'REJECTED';
      readonly by: string;
      readonly at: number;
    }
  /** Finished records that were last changed before this time have expired. */
  | { readonly kind: 'retention over'; readonly before: number };

/** The outcome of an attempt whose lease is over, in the answer to a client and in the record. */
const leaseEnded = {
  state: 'UNKNOWN',
  code: 'OUTCOME_UNKNOWN',
  message:
    'The payment may have been sent: bankql recorded that it was about to send it, and not how that ended.',
} as const;

/** The outcome of an attempt whose record was lost. The process that made the attempt may still know how it ended. */
export const recordLost = {
  ...leaseEnded,
  message: 'The payment may have been executed: its record was lost, and only a log names it.',
} as const;

/**
 * The outcome of an attempt that executed nothing, although a client may have been told that the payment may
 * have been sent.
 */
const executedNothing = {
  state: 'REJECTED',
  answer: null,
  code: 'BANK_REJECTED',
  status: null,
  message:
    'The payment was not executed, and is never sent under this idempotency key. Unless it was paid under another key since, pay again under a new one.',
  bankText: null,
} as const satisfies PaymentOutcome;

/**
 * Whether a stored attempt may still be sent. `endsBy`: the latest time at which its request ends. After the end of its
 * lease, clients may have been told that its outcome is unknown, and may have paid in another way.
 */
export const maySend = ({ state, leaseUntil }: PaymentRecord, endsBy: number): boolean =>
  state === 'PENDING' && endsBy < leaseUntil;

/** The record of a key after an event; null if it is deleted; undefined if the event does not change it. */
export function advance(held: HeldPayment | null, event: ProtocolEvent): HeldPayment | null | undefined {
  switch (event.kind) {
    case 'begin':
      return held === null ? begin(event.record) : undefined;
    case 'found in a log': {
      if (held !== null) return undefined;
      const { record, by, at } = event;
      return changed(begin(record), recordLost, { state: 'UNKNOWN', at, recoveredBy: by }, true);
    }
    case 'ended':
      return isAwaited(held, event.trackId) ? ended(held, event.outcome, event.at) : undefined;
    case 'taken back': {
      if (!isAwaited(held, event.trackId)) return undefined;
      return held.record.state === 'PENDING' ? null : ended(held, executedNothing, event.at);
    }
    case 'asked about': {
      if (held?.record.state !== 'PENDING' || held.record.leaseUntil > event.at) return undefined;
      return changed(held, leaseEnded, { state: 'UNKNOWN', at: event.at }, true);
    }
    case 'settled': {
      const { state, by, at } = event;
      if (held?.record.state !== 'UNKNOWN' || held.record.settledBy !== null) return undefined;
      // The code and the message are removed, because they describe an unknown outcome, and a replay would return them.
      const change = { state, code: null, message: null, settledBy: by };
      return changed(held, change, { state, at, settledBy: by }, false);
    }
    case 'retention over': {
      if (held?.record.state !== 'DONE' && held?.record.state !== 'REJECTED') return undefined;
      return held.record.updatedAt < event.before ? null : undefined;
    }
  }
}

function begin(record: PaymentRecord): HeldPayment {
  const { createdAt: at, replica, requestId } = record;
  const began = {
    state: 'PENDING',
    at,
    replica: replica ?? undefined,
    requestId: requestId ?? undefined,
  } as const;
  return { record: { ...record, history: [began] }, awaited: true };
}

const isAwaited = (held: HeldPayment | null, trackId: string): held is HeldPayment =>
  held?.awaited === true && held.record.trackId === trackId;

function ended(held: HeldPayment, outcome: PaymentOutcome, at: number): HeldPayment {
  const { state, answer, code, status, message, bankText } = outcome;
  const known = { status: status ?? undefined, code: code ?? undefined, bankText: bankText ?? undefined };
  return changed(held, { state, answer, code, status, message, bankText }, { state, at, ...known }, false);
}

function changed(
  { record }: HeldPayment,
  change: Partial<PaymentRecord>,
  event: PaymentEvent,
  awaited: boolean,
): HeldPayment {
  const history = record.history.concat(event);
  return { record: { ...record, ...change, history, updatedAt: event.at }, awaited };
}
