import { describe, expect, test } from 'vitest';
import { Gate, type GateEntry } from '../../src/bank/gate.ts';
import { createCallers } from '../support/callers.ts';

interface Asked extends GateEntry {
  readonly id: string;
}

/**
 * A gate, and what happened to its calls, in order. A call that entered: its id, and the caller for whom it counts if
 * another caller added it. A refused call: its id, and the refused caller.
 */
function gateOf(max: number, maxWaiting = Number.POSITIVE_INFINITY) {
  const gate = new Gate({ max, maxWaiting });
  const callerOf = createCallers();
  const entered: string[] = [];
  const refused: string[] = [];
  const inProgress: Asked[] = [];
  let count = 0;
  const ask = (
    caller: string,
    { operation = 'read', peer = caller, failsAtOnce = false, throws = false } = {},
  ) => {
    const id = `${caller}${++count}`;
    const call: Asked = {
      id,
      operation: { id: operation },
      waitsFor: [],
      places: [],
      countedAs: callerOf(caller, peer),
      enter() {
        const { name } = call.countedAs;
        entered.push(name === caller ? id : `${id} as ${name}`);
        if (throws) throw new Error(`${id} cannot enter`);
        if (failsAtOnce) gate.leave(call);
        else inProgress.push(call);
      },
      refuse: ({ name }) => void refused.push(`${id} of ${name}`),
    };
    gate.ask(call, callerOf(caller, peer));
    return call;
  };
  const join = (call: Asked, caller: string, peer = caller) => gate.join(call, callerOf(caller, peer));
  const leave = () => {
    const [call] = inProgress.splice(0, 1);
    if (call !== undefined) gate.leave(call);
  };
  return { gate, callerOf, entered, refused, ask, join, leave };
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

  test('half are for the unverified callers of one address, however many names they send', () => {
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

  test('if only one call may run at a time, any caller’s may', () => {
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

  test('wait for their turn however many callers wait: nobody’s call is refused', () => {
    const { entered, refused, ask, leave } = gateOf(16);
    for (let login = 0; login < 100; login++) times(20, () => ask(`login-${login}-`));
    ask('single');
    let turns = 0;
    for (; !entered.some((id) => id.startsWith('single')); turns++) leave();
    // While the single read waits, each of the 100 other callers gets at most one turn.
    expect(turns).toBeLessThanOrEqual(101);
    times(2001, leave);
    expect([entered.length, refused]).toEqual([2001, []]);
  });

  test('of one caller are served by operation in turn', () => {
    const { entered, ask, leave } = gateOf(1);
    ask('a', { operation: 'first' });
    for (const operation of ['one', 'one', 'one', 'two', 'two']) ask('a', { operation });
    times(5, leave);
    expect(entered).toEqual(['a1', 'a2', 'a5', 'a3', 'a6', 'a4']);
  });

  test('of callers of one remote address take the turns of one caller, and these callers take them in turn', () => {
    const { entered, ask, leave } = gateOf(1);
    ask('first');
    for (const claimed of ['x', 'x', 'y', 'z']) ask(claimed, { peer: '192.0.2.1' });
    times(2, () => ask('proven'));
    times(6, leave);
    expect(entered).toEqual(['first1', 'x2', 'proven6', 'y4', 'proven7', 'z5', 'x3']);
  });

  test('are looked at only if a place of their bank operation is free, however many callers wait', () => {
    const { gate, ask, leave } = gateOf(8);
    const peer = '192.0.2.1';
    const looked: string[] = [];
    times(3, () => ask('first', { operation: 'saturated', peer }));
    for (let nth = 0; nth < 100; nth++) {
      const call = ask(`caller-${nth}-`, { operation: 'saturated', peer });
      const { operation } = call;
      const get = () => {
        looked.push(call.id);
        return operation;
      };
      Object.defineProperty(call, 'operation', { get });
    }
    leave();
    expect(new Set(looked)).toEqual(new Set(['caller-0-4']));
    expect(gate.held).toBe(3);
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

  test('go on after one whose entry throws, which gives its place back', () => {
    const { gate, entered, ask, leave } = gateOf(1);
    ask('a');
    ask('b', { throws: true });
    ask('c');
    expect(leave).toThrow('b2 cannot enter');
    expect([gate.held, entered]).toEqual([1, ['a1', 'b2', 'c3']]);
    leave();
    expect(gate.held).toBe(0);
    expect(() => ask('d', { throws: true })).toThrow('d4 cannot enter');
    ask('e');
    expect([gate.held, entered.at(-1)]).toEqual([1, 'e5']);
  });
});

describe('if too many calls wait', () => {
  test('the caller with the most waiting calls is refused one, and a first call never before another’s tenth', () => {
    const { refused, ask } = gateOf(1, 20);
    ask('first');
    times(20, () => ask('greedy'));
    for (let login = 0; login < 10; login++) ask(`quiet-${login}-`);
    expect(refused).toHaveLength(10);
    expect(refused.every((call) => call.endsWith(' of greedy'))).toBe(true);
    ask('greedy');
    expect(refused.at(-1)).toBe('greedy32 of greedy');
  });

  test('a call of equal callers that has just asked is the one', () => {
    const { refused, ask } = gateOf(1, 2);
    for (const caller of ['first', 'a', 'b', 'c']) ask(caller);
    expect(refused).toEqual(['c4 of c']);
  });

  test('a shared call is refused only for the greedy caller', () => {
    const { entered, refused, ask, join, leave } = gateOf(1, 4);
    ask('first');
    times(2, () => ask('greedy'));
    const shared = ask('greedy');
    join(shared, 'quiet');
    ask('late');
    expect(refused).toEqual(['greedy4 of greedy']);
    times(4, leave);
    expect(entered).toEqual(['first1', 'greedy2', 'greedy4 as quiet', 'late5', 'greedy3']);
  });
});

describe('a call that several callers wait for', () => {
  test('enters at once, and counts there, if one of them has room', () => {
    const { gate, entered, ask, join } = gateOf(8);
    times(4, () => ask('greedy'));
    const shared = ask('greedy');
    expect(gate.held).toBe(4);
    join(shared, 'quiet');
    expect([gate.held, entered.at(-1)]).toEqual([5, 'greedy5 as quiet']);
    // The shared call takes one of the four places of `quiet`.
    times(4, () => ask('quiet', { operation: 'other' }));
    expect(gate.held).toBe(8);
    gate.leave(shared);
    expect([gate.held, shared.places]).toEqual([8, []]);
    gate.leave(shared);
    expect(gate.held).toBe(8);
  });

  test('enters in the turn of whichever comes first, once', () => {
    const { gate, entered, ask, join, leave } = gateOf(1);
    ask('first');
    times(3, () => ask('greedy'));
    join(ask('greedy'), 'quiet');
    times(3, leave);
    expect(entered).toEqual(['first1', 'greedy2', 'greedy5 as quiet', 'greedy3']);
    times(3, leave);
    expect([gate.held, entered.length]).toEqual([0, 5]);
  });

  test('waits on while one of them waits, and is counted as one', () => {
    const { gate, callerOf, entered, ask, join, leave } = gateOf(1);
    ask('first');
    const shared = ask('a');
    for (const caller of ['b', 'b', 'c']) join(shared, caller);
    expect(gate.usage).toMatchObject([{ waiting: 1, waits: 1 }]);
    for (const name of ['a', 'c', 'c']) gate.part(shared, callerOf(name));
    leave();
    expect(entered).toEqual(['first1', 'a2 as b']);
    join(shared, 'd');
    leave();
    expect([gate.held, entered.length, gate.usage[0]?.waiting]).toEqual([0, 2, 0]);
  });

  test('leaves the gate with the last of them', () => {
    const { gate, callerOf, entered, ask, join, leave } = gateOf(1);
    ask('first');
    const shared = ask('a');
    join(shared, 'b');
    for (const name of ['a', 'b']) gate.part(shared, callerOf(name));
    leave();
    expect([gate.cancel(shared), gate.held, entered]).toEqual([false, 0, ['first1']]);
  });
});

test('public reads of 1,000 invented banks keep no place of a caller with private reads', () => {
  const { entered, ask } = gateOf(8);
  times(1000, () => ask('greedy', { operation: 'getBranches' }));
  times(4, () => ask('quiet', { operation: 'getCustomer' }));
  expect(entered.slice(4)).toEqual(['quiet1001', 'quiet1002', 'quiet1003', 'quiet1004']);
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
