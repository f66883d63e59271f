import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Gate, type GateEntry } from '../../src/bank/gate.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

interface Asked extends GateEntry {
  readonly id: string;
}

/** A gate, and what became of the calls that asked: the ids of those that are under way or were refused, in order. */
function gateOf(max: number) {
  const gate = new Gate({ max, waitMs: 250 });
  const entered: string[] = [];
  const refused: string[] = [];
  const underWay: Asked[] = [];
  let count = 0;
  const ask = (
    caller: string,
    { operation = 'read', peer = caller, session = null as GateEntry['session'], failsAtOnce = false } = {},
  ) => {
    const id = `${caller}${++count}`;
    const call: Asked = {
      id,
      operation: { id: operation },
      deadline: Number.POSITIVE_INFINITY,
      session,
      gate: null,
      enter() {
        entered.push(id);
        if (failsAtOnce) gate.leave(call);
        else underWay.push(call);
      },
      refuse: () => void refused.push(id),
    };
    gate.ask(call, { name: caller, group: peer });
    return call;
  };
  const leave = () => {
    const [call] = underWay.splice(0, 1);
    if (call !== undefined) gate.leave(call);
  };
  return { gate, entered, refused, ask, leave };
}

const times = <T>(count: number, act: () => T): T[] => Array.from({ length: count }, act);

describe('at most', () => {
  test('half of the calls are one caller’s: a quiet one goes at once, beside a greedy one', () => {
    const { gate, entered, ask } = gateOf(8);
    times(20, () => ask('greedy', { operation: `op-${Math.random()}` }));
    expect(gate.held).toBe(4);
    times(4, () => ask('quiet'));
    expect(entered.slice(4)).toEqual(['quiet21', 'quiet22', 'quiet23', 'quiet24']);
  });

  test('half are of one caller, of one bank operation too: a quiet caller of it goes at once', () => {
    const { entered, ask } = gateOf(8);
    times(20, () => ask('greedy'));
    times(2, () => ask('quiet'));
    expect(entered.slice(4)).toEqual(['quiet21', 'quiet22']);
  });

  test('three quarters are of one bank operation: those of others go at once, beside a slow one', () => {
    const { gate, entered, ask } = gateOf(8);
    for (let nth = 0; nth < 20; nth++) ask(`caller-${nth}-`, { operation: 'slow' });
    expect(gate.held).toBe(6);
    ask('caller', { operation: 'quick' });
    expect(entered.at(-1)).toBe('caller21');
  });

  test('half are of callers of one peer whom nobody vouches for, however many names they claim', () => {
    const { gate, entered, ask } = gateOf(8);
    for (let nth = 0; nth < 20; nth++) ask(`claimed-${nth}-`, { operation: `op-${nth}`, peer: '192.0.2.1' });
    expect(gate.held).toBe(4);
    ask('proven');
    ask('elsewhere', { operation: 'other', peer: '192.0.2.2' });
    expect(entered.slice(4)).toEqual(['proven21', 'elsewhere22']);
  });

  test('three quarters of such a half are of one bank operation: their other reads go at once, beside a slow one', () => {
    const { gate, entered, ask } = gateOf(8);
    for (let nth = 0; nth < 20; nth++) ask(`claimed-${nth}-`, { operation: 'slow', peer: '192.0.2.1' });
    expect(gate.held).toBe(3);
    ask('claimed', { operation: 'quick', peer: '192.0.2.1' });
    expect(entered.slice(3)).toEqual(['claimed21']);
  });

  test('half are one caller’s also after thousands of others have come and gone', () => {
    const { gate, ask } = gateOf(8);
    times(20, () => ask('greedy'));
    for (let nth = 0; nth < 5000; nth++) {
      const peer = `peer ${nth % 2000}`;
      ask(`passes ${nth} `, { operation: `op-${nth % 20}`, peer, failsAtOnce: true });
    }
    expect(gate.held).toBe(4);
    ask('greedy', { operation: 'other' });
    expect(gate.held).toBe(4);
  });

  test('one call goes where one at a time may, anybody’s', () => {
    const { gate, ask } = gateOf(1);
    ask('a');
    expect(gate.held).toBe(1);
  });
});

describe('calls that wait', () => {
  test('are let through in the order of their callers’ turns, as soon as one leaves', () => {
    const { entered, ask, leave } = gateOf(1);
    for (const caller of ['a', 'a', 'a', 'a', 'b', 'b', 'c']) ask(caller);
    times(6, leave);
    expect(entered).toEqual(['a1', 'a2', 'b5', 'c7', 'a3', 'b6', 'a4']);
  });

  test('do not wait for those that cannot go', () => {
    const { entered, ask, leave } = gateOf(4);
    times(4, () => ask('a', { operation: 'slow' }));
    times(4, () => ask('b', { operation: 'quick' }));
    expect(entered).toEqual(['a1', 'a2', 'b5', 'b6']);
    leave();
    expect(entered.slice(4)).toEqual(['a3']);
  });

  test('are refused after the wait, and forgotten', async () => {
    const { gate, entered, refused, ask, leave } = gateOf(1);
    ask('a');
    ask('b');
    await vi.advanceTimersByTimeAsync(249);
    expect(refused).toEqual([]);
    await vi.advanceTimersByTimeAsync(2);
    expect(refused).toEqual(['b2']);
    leave();
    expect([gate.held, entered]).toEqual([0, ['a1']]);
  });

  test('are not refused if one leaves in the turn of the event loop in which the wait ends', () => {
    const { entered, refused, ask, leave } = gateOf(1);
    ask('a');
    ask('b');
    vi.advanceTimersByTime(250);
    leave();
    vi.advanceTimersByTime(1);
    expect([entered, refused]).toEqual([['a1', 'b2'], []]);
  });

  test('wait on if another one of their operation was let through', async () => {
    const { entered, refused, ask, leave } = gateOf(1);
    const session = { isServed: false };
    ask('a', { session });
    ask('a', { session });
    ask('b', { session: { isServed: false } });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(refused).toEqual(['b3']);
    leave();
    expect(entered).toEqual(['a1', 'a2']);
  });

  test('can be cancelled, once', () => {
    const { gate, entered, ask, leave } = gateOf(1);
    ask('a');
    const waiting = ask('b');
    expect([gate.cancel(waiting), gate.cancel(waiting)]).toEqual([true, false]);
    leave();
    expect(entered).toEqual(['a1']);
  });

  test('may all fail at once, however many they are', () => {
    const { gate, entered, ask, leave } = gateOf(1);
    ask('a');
    times(20_000, () => ask('b', { failsAtOnce: true }));
    leave();
    expect([gate.held, entered.length]).toEqual([0, 20_001]);
  });
});

test('its usage tells what each bank operation takes, and what waits', () => {
  const { gate, ask, leave } = gateOf(2);
  ask('a', { operation: 'one' });
  ask('b', { operation: 'one' });
  ask('c', { operation: 'other' });
  expect(gate.usage).toMatchObject([
    { operation: 'one', taken: 1, waiting: 1, waits: 1 },
    { operation: 'other', taken: 1, waiting: 0, waits: 0 },
  ]);
  times(3, leave);
  expect(gate.usage.map(({ taken, waiting, waits }) => [taken, waiting, waits])).toEqual([
    [0, 0, 1],
    [0, 0, 0],
  ]);
});
