import { advance, type HeldPayment, type ProtocolEvent } from '../../src/payments/protocol.ts';
import type { PaymentState } from '../../src/payments/store.ts';
import { done, pending, rejected, start, unknown } from '../payments/stores/store-conformance.ts';

/**
 * The state of a key in a store.
 * - `FREE`: no record.
 * - `PENDING`: stored before the request leaves; it may have been sent.
 * - `LEASE_OVER`: told as UNKNOWN, because the attempt did not record its end in time. It still may.
 * - `UNKNOWN`, `DONE`, `REJECTED`: how the attempt ended.
 */
export type KeyState = 'FREE' | 'LEASE_OVER' | PaymentState;

export function keyState(held: HeldPayment | null): KeyState {
  if (held === null) return 'FREE';
  const { state } = held.record;
  return state === 'UNKNOWN' && held.awaited ? 'LEASE_OVER' : state;
}

/** What a key's record is in each state, of an attempt whose lease ends at `leaseUntil`. */
const { trackId, leaseUntil } = pending();

const held = (event: ProtocolEvent, before: HeldPayment | null): HeldPayment => {
  const next = advance(before, event);
  if (next == null) throw new Error('no record');
  return next;
};
const begun = held({ kind: 'begin', record: pending() }, null);

export const keyStates: Readonly<Record<KeyState, HeldPayment | null>> = {
  FREE: null,
  PENDING: begun,
  LEASE_OVER: held({ kind: 'asked about', at: leaseUntil }, begun),
  UNKNOWN: held({ kind: 'ended', trackId, outcome: unknown, at: start + 1 }, begun),
  DONE: held({ kind: 'ended', trackId, outcome: done, at: start + 1 }, begun),
  REJECTED: held({ kind: 'ended', trackId, outcome: rejected, at: start + 1 }, begun),
};

/** Every event, in words, as a caller of the attempt itself or somebody else may cause it. */
export const protocolEvents: readonly (readonly [string, ProtocolEvent])[] = [
  ['begin', { kind: 'begin', record: pending() }],
  ['found in a log', { kind: 'found in a log', record: pending(), by: 'Ada', at: start + 2 }],
  ['answered: accepted', { kind: 'ended', trackId, outcome: done, at: start + 2 }],
  ['answered: refused', { kind: 'ended', trackId, outcome: rejected, at: start + 2 }],
  ['answered: neither', { kind: 'ended', trackId, outcome: unknown, at: start + 2 }],
  ['answer lost', { kind: 'ended', trackId, outcome: unknown, at: start + 2 }],
  ['taken back', { kind: 'taken back', trackId, at: start + 2 }],
  ['asked about, after the lease', { kind: 'asked about', at: leaseUntil }],
  ['settled as done', { kind: 'settled', state: 'DONE', by: 'Ada', at: start + 3 }],
  ['settled as rejected', { kind: 'settled', state: 'REJECTED', by: 'Ada', at: start + 3 }],
  ['retention over', { kind: 'retention over', before: Number.MAX_SAFE_INTEGER }],
];

/** The state in which an event leaves a key. */
export function stateAfter(state: KeyState, event: ProtocolEvent): KeyState {
  const next = advance(keyStates[state], event);
  return next === undefined ? state : keyState(next);
}

/** The protocol as a diagram: each event that changes a state. */
export function protocolDiagram(): string {
  const arrows = Object.keys(keyStates).flatMap((name) => {
    const from = name as KeyState;
    const targets = Map.groupBy(protocolEvents, ([, event]) => stateAfter(from, event));
    return [...targets].flatMap(([to, events]) =>
      to === from ? [] : `  ${from} --> ${to}: ${events.map(([words]) => words).join(' / ')}`,
    );
  });
  return ['stateDiagram-v2', '  [*] --> FREE', ...arrows].join('\n');
}
