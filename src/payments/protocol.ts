import type { PaymentEvent, PaymentOutcome, PaymentRecord, PaymentState } from './store.ts';

/**
 * The payment protocol: what an event does to the record of an idempotency key. A pure function, which stores, the service
 * and the simulation all use; docs/payment-protocol.md draws it.
 *
 * Two rules keep a payment from being sent twice:
 * - The request is sent only by the attempt whose record was stored, and only while its lease lasts.
 * - A key becomes free only from PENDING. A process that tells a client that an outcome is unknown writes that to the
 *   record first, and from then on late proof that nothing was sent is an end, not a release.
 */

/**
 * The state of a key in a store.
 * - `FREE`: no record.
 * - `PENDING`: stored before the request leaves; it may have been sent.
 * - `LEASE_OVER`: told as UNKNOWN, because the attempt did not record its end in time. It still may.
 * - `UNKNOWN`, `DONE`, `REJECTED`: how the attempt ended.
 */
export type KeyState = 'FREE' | 'LEASE_OVER' | PaymentState;

/** A record, and whether the attempt that began it may still write its end. */
export interface HeldPayment {
  readonly record: PaymentRecord;
  readonly awaited: boolean;
}

export type ProtocolEvent =
  /** A client asks to pay. `record` is PENDING. */
  | { readonly kind: 'begin'; readonly record: PaymentRecord }
  /** The attempt is about to be sent, which takes until `endsBy` at most. */
  | { readonly kind: 'sent'; readonly trackId: string; readonly endsBy: number }
  /** The bank answered. */
  | AttemptEnd<'answered'>
  /** The request may have reached the bank, and no answer came. */
  | AttemptEnd<'answer lost'>
  /** There is proof that the attempt executed nothing: it was not sent, or the bank did not accept the credentials. */
  | { readonly kind: 'taken back'; readonly trackId: string; readonly at: number }
  | { readonly kind: 'lease over'; readonly at: number }
  /** Somebody reads the record, to tell a client or an operator what it says. */
  | { readonly kind: 'asked about'; readonly at: number }
  /** A client receives what the record says. */
  | { readonly kind: 'told' }
  /** An operator says what the bank did. */
  | {
      readonly kind: 'settled';
      readonly state: 'DONE' | 'REJECTED';
      readonly by: string;
      readonly at: number;
    }
  /** Finished records that were last changed before this time have been kept for long enough. */
  | { readonly kind: 'retention over'; readonly before: number };

interface AttemptEnd<Kind extends string> {
  readonly kind: Kind;
  readonly trackId: string;
  readonly outcome: PaymentOutcome;
  readonly at: number;
}

/** What has to be done besides writing the record. */
type Effect =
  | 'send it'
  | 'do not send it'
  | 'take it back'
  | 'say that there is no payment'
  | 'say that it has begun'
  | 'say that it may have been executed'
  | 'say that it was done'
  | 'say that it was rejected';

interface Transition {
  /** The record from now on; null if it is deleted; undefined if it stays as it is. */
  readonly next?: HeldPayment | null;
  readonly effects: readonly Effect[];
}

/** The outcome, in the answer to a client and in the record, once the lease of an attempt is over. */
const leaseEnded = {
  state: 'UNKNOWN',
  code: 'OUTCOME_UNKNOWN',
  message:
    'The payment may have been sent: bankql recorded that it was about to send it, and not how that ended.',
} as const;

/** The end of an attempt that executed nothing, after somebody may have been told that it may have been sent. */
const executedNothing = {
  state: 'REJECTED',
  answer: null,
  code: 'BANK_REJECTED',
  status: null,
  message:
    'The payment was not executed, and is never sent under this idempotency key. Unless it was paid under another key since, pay again under a new one.',
  bankText: null,
} as const satisfies PaymentOutcome;

export function keyState(held: HeldPayment | null): KeyState {
  if (held === null) return 'FREE';
  const { state } = held.record;
  return state === 'UNKNOWN' && held.awaited ? 'LEASE_OVER' : state;
}

/** What an event does to a key's record. */
export function advance(held: HeldPayment | null, event: ProtocolEvent): Transition {
  switch (event.kind) {
    case 'begin': {
      if (held !== null) return unchanged;
      const { record } = event;
      const { createdAt: at, replica, requestId } = record;
      const began = {
        state: 'PENDING',
        at,
        replica: replica ?? undefined,
        requestId: requestId ?? undefined,
      } as const;
      return { next: { record: { ...record, history: [began] }, awaited: true }, effects: [] };
    }
    case 'sent': {
      if (held?.record.trackId !== event.trackId || held.record.state !== 'PENDING')
        return { effects: ['do not send it'] };
      return { effects: [event.endsBy < held.record.leaseUntil ? 'send it' : 'take it back'] };
    }
    case 'answered':
    case 'answer lost': {
      if (!isAwaited(held, event.trackId)) return unchanged;
      return { next: ended(held, event.outcome, event.at), effects: [whatIsTold[event.outcome.state]] };
    }
    case 'taken back': {
      if (!isAwaited(held, event.trackId)) return unchanged;
      if (held.record.state === 'PENDING') return { next: null, effects: [] };
      return { next: ended(held, executedNothing, event.at), effects: [] };
    }
    case 'lease over':
    case 'asked about': {
      if (held?.record.state !== 'PENDING' || held.record.leaseUntil > event.at) return unchanged;
      return { next: changed(held, leaseEnded, { state: 'UNKNOWN', at: event.at }, true), effects: [] };
    }
    case 'told':
      return { effects: [whatIsTold[keyState(held)]] };
    case 'settled': {
      const { state, by, at } = event;
      if (held?.record.state !== 'UNKNOWN' || held.record.settledBy !== null) return unchanged;
      // The code and the message were about not knowing, and would be replayed.
      const change = { state, code: null, message: null, settledBy: by };
      return { next: changed(held, change, { state, at, settledBy: by }, false), effects: [] };
    }
    case 'retention over': {
      if (held?.record.state !== 'DONE' && held?.record.state !== 'REJECTED') return unchanged;
      return held.record.updatedAt < event.before ? { next: null, effects: [] } : unchanged;
    }
  }
}

const unchanged: Transition = { effects: [] };

const whatIsTold = {
  FREE: 'say that there is no payment',
  PENDING: 'say that it has begun',
  LEASE_OVER: 'say that it may have been executed',
  UNKNOWN: 'say that it may have been executed',
  DONE: 'say that it was done',
  REJECTED: 'say that it was rejected',
} as const satisfies Record<KeyState, Effect>;

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
