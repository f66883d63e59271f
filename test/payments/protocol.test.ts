import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { maySend, type ProtocolEvent } from '../../src/payments/protocol.ts';
import {
  type KeyState,
  keyStates,
  protocolDiagram,
  protocolEvents,
  stateAfter,
} from '../support/protocol-diagram.ts';

const states = Object.keys(keyStates) as KeyState[];

test('docs/architecture.md shows the protocol as it is', () => {
  const page = readFileSync(new URL('../../docs/architecture.md', import.meta.url), 'utf8');
  expect(page).toContain(`\`\`\`mermaid\n${protocolDiagram()}\n\`\`\``);
});

test('a key that may have been told as unknown never becomes free, whatever happens until its end is too old', () => {
  const reached = new Set<KeyState>(['LEASE_OVER', 'UNKNOWN']);
  for (const state of reached)
    for (const [, event] of protocolEvents)
      if (event.kind !== 'retention over') reached.add(stateAfter(state, event));
  expect([...reached].sort()).toEqual(['DONE', 'LEASE_OVER', 'REJECTED', 'UNKNOWN']);
});

test('an end stays, and what may have been sent is never forgotten', () => {
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
