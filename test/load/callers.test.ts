import { expect, test } from 'vitest';
import { Gate, type GateEntry } from '../../src/bank/gate.ts';
import { type Caller, Callers } from '../../src/load/callers.ts';

const self = (name: string) => ({ name, group: name });
/** Creates more callers than are kept while they are idle. */
const findMany = (callers: Callers) => {
  for (let nth = 0; nth < 5000; nth++) callers.find({ name: `other ${nth}`, group: `peer ${nth}` });
};

test('a caller is one object while it has a request, and is forgotten among many when it has none', () => {
  const callers = new Callers();
  const [held, idle] = [callers.find(self('held')), callers.find(self('idle'))];
  held.holders++;
  findMany(callers);
  expect([callers.find(self('held')) === held, callers.find(self('idle')) === idle]).toEqual([true, false]);
  held.holders--;
  findMany(callers);
  expect(callers.find(self('held'))).not.toBe(held);
});

test('the callers that one peer claims have one peer, for as long as anything holds one of them', () => {
  const callers = new Callers();
  const claimed = (name: string) => callers.find({ name, group: 'peer' });
  const first = claimed('first');
  first.holders++;
  findMany(callers);
  expect(claimed('second').peer).toBe(first.peer);
  expect(callers.find(self('peer')).peer).toBeNull();
});

test('a caller and its network address are known while a call waits at a gate or is in progress, even without a request', () => {
  const callers = new Callers();
  const gate = new Gate({ max: 1, maxWaiting: 10 });
  const callOf = (countedAs: Caller): GateEntry => ({
    operation: { id: 'read' },
    waitsFor: [],
    places: [],
    countedAs,
    enter() {},
    refuse() {},
  });
  const [a, b] = [callers.find(self('a')), callers.find({ name: 'b', group: 'peer' })];
  const [first, second] = [callOf(a), callOf(b)];
  gate.ask(first, a);
  gate.ask(second, b);
  expect([a.isIdle, b.isIdle]).toEqual([false, false]);
  gate.leave(first);
  expect([a.isIdle, b.isIdle, gate.held]).toEqual([true, false, 1]);
  findMany(callers);
  expect(callers.find({ name: 'b', group: 'peer' })).toBe(b);
  expect(callers.find({ name: 'c', group: 'peer' }).peer).toBe(b.peer);
  gate.leave(second);
  gate.leave(second);
  expect(b.isIdle).toBe(true);
});
