import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { advance, type HeldPayment, maySend, type ProtocolEvent } from '../../src/payments/protocol.ts';
import { type KeyState, keyState } from '../support/key-state.ts';
import { done, pending, rejected, start, unknown } from './store/store-conformance.ts';

/** The record of a key in each state, for an attempt whose lease ends at `leaseUntil`. */
const { trackId, leaseUntil } = pending();

const held = (event: ProtocolEvent, before: HeldPayment | null): HeldPayment => {
  const next = advance(before, event);
  if (next == null) throw new Error('no record');
  return next;
};
const begun = held({ kind: 'begin', record: pending() }, null);

const keyStates: Readonly<Record<KeyState, HeldPayment | null>> = {
  FREE: null,
  PENDING: begun,
  LEASE_OVER: held({ kind: 'asked about', at: leaseUntil }, begun),
  UNKNOWN: held({ kind: 'ended', trackId, outcome: unknown, at: start + 1 }, begun),
  DONE: held({ kind: 'ended', trackId, outcome: done, at: start + 1 }, begun),
  REJECTED: held({ kind: 'ended', trackId, outcome: rejected, at: start + 1 }, begun),
};

/** Every event, with a description. Some events come from the attempt itself, and some from others. */
const protocolEvents: readonly (readonly [string, ProtocolEvent])[] = [
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

/** The state of a key after an event. */
function stateAfter(state: KeyState, event: ProtocolEvent): KeyState {
  const next = advance(keyStates[state], event);
  return next === undefined ? state : keyState(next);
}

/** The protocol as a diagram, with each event that changes a state. */
function protocolDiagram(): string {
  const arrows = Object.keys(keyStates).flatMap((name) => {
    const from = name as KeyState;
    const targets = Map.groupBy(protocolEvents, ([, event]) => stateAfter(from, event));
    return [...targets].flatMap(([to, events]) =>
      to === from ? [] : `  ${from} --> ${to}: ${events.map(([words]) => words).join(' / ')}`,
    );
  });
  return ['stateDiagram-v2', '  [*] --> FREE', ...arrows].join('\n');
}

const states = Object.keys(keyStates) as KeyState[];

test('docs/architecture.md shows the protocol as it is', () => {
  const page = readFileSync(new URL('../../docs/architecture.md', import.meta.url), 'utf8');
  expect(page).toContain(`\`\`\`mermaid\n${protocolDiagram()}\n\`\`\``);
});

test('a key that may have been reported as unknown becomes free only after the retention of its outcome', () => {
  const reached = new Set<KeyState>(['LEASE_OVER', 'UNKNOWN']);
  for (const state of reached)
    for (const [, event] of protocolEvents)
      if (event.kind !== 'retention over') reached.add(stateAfter(state, event));
  expect([...reached].sort()).toEqual(['DONE', 'LEASE_OVER', 'REJECTED', 'UNKNOWN']);
});

test('the end of a payment stays until its retention is over, and a payment that may have been sent is never forgotten', () => {
  for (const state of ['DONE', 'REJECTED'] as const)
    for (const [words, event] of protocolEvents)
      expect([words, stateAfter(state, event)]).toEqual([
        words,
        event.kind === 'retention over' ? 'FREE' : state,
      ]);
  for (const state of ['PENDING', 'LEASE_OVER', 'UNKNOWN'] as const)
    expect(stateAfter(state, { kind: 'retention over', before: Number.MAX_SAFE_INTEGER })).toBe(state);
});

test('the request may be sent only while its attempt is PENDING, and within its lease', () => {
  const sending = (before: number) =>
    states.filter((state) => {
      const record = keyStates[state]?.record;
      return record !== undefined && maySend(record, record.leaseUntil - before);
    });
  expect([sending(1), sending(0)]).toEqual([['PENDING'], []]);
});

test('only the attempt itself may say how it ended', () => {
  for (const state of states)
    for (const [words, event] of protocolEvents) {
      if (!('trackId' in event)) continue;
      const another: ProtocolEvent = { ...event, trackId: 'another attempt' };
      expect([words, stateAfter(state, another)]).toEqual([words, state]);
    }
});
