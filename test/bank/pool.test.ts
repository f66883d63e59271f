import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Identity } from '../../src/bank/credentials.ts';
import { type Crowd, FairPool, type PoolSession } from '../../src/bank/pool.ts';

/** No operation is held back. */
const noBulkheads = { share: 1, quickMs: 1000, slowMs: 4000 };

/** A caller whose name is proven. */
const proven = (name: string): Identity => ({ name, group: name });

test('tells who waits when a quarter as many callers do as there are resources, when one leaves, and when fewer do again', () => {
  const told: string[] = [];
  let made = 0;
  const onCrowded = (crowd: Crowd | null) =>
    void told.push(
      crowd === null ? 'none' : ['a', 'b', 'c', 'd'].filter((each) => crowd.isWaiting(each)).join(''),
    );
  const pool = new FairPool<number>(8, () => ++made, { ...noBulkheads, onCrowded });
  const ask = (caller: string) =>
    pool.acquire({
      caller: proven(caller),
      operation: 'read',
      suits: null,
      onAcquired() {},
      onOverloaded() {},
    });
  // However many calls of one caller wait.
  for (let n = 0; n < 14; n++) ask('a');
  expect(told).toEqual([]);
  const other = ask('b');
  expect(told).toEqual(['ab']);
  ask('c');
  if (other !== null) pool.cancel(other);
  expect(told).toEqual(['ab', 'ac']);
  // The newcomer goes first.
  pool.release(1);
  expect(told).toEqual(['ab', 'ac', 'none']);
  ask('d');
  expect(told).toEqual(['ab', 'ac', 'none', 'ad']);
  for (let n = 0; n < 7; n++) pool.release((n % 8) + 1);
  expect(told).toEqual(['ab', 'ac', 'none', 'ad', 'none']);
});

/** A turnstile, and who was let in, to which place. */
function turnstileOf(places: number) {
  let made = 0;
  const turnstile = new FairPool<number>(places, () => ++made, noBulkheads);
  const inside: { readonly caller: string; readonly place: number }[] = [];
  const ask = (caller: string) =>
    turnstile.acquire({
      caller: proven(caller),
      operation: 'read',
      suits: null,
      onOverloaded() {},
      onAcquired: (place) => void inside.push({ caller, place }),
    });
  return { turnstile, inside, ask, made: () => made };
}

test('the last connections are for callers that hold little, also among those that wait', () => {
  let made = 0;
  const pool = new FairPool<number>(16, () => ++made, { ...noBulkheads, reserve: 1 / 8 });
  const served: string[] = [];
  const held: number[] = [];
  const ask = (caller: string) =>
    pool.acquire({
      caller: proven(caller),
      operation: 'read',
      suits: null,
      onOverloaded() {},
      onAcquired(connection) {
        served.push(caller);
        held.push(connection);
      },
    });
  for (let n = 0; n < 20; n++) ask('greedy');
  expect([served.length, pool.held]).toEqual([14, 14]);
  expect(ask('newcomer')).toBeNull();
  expect(ask('newcomer')).toBeNull();
  expect(pool.held).toBe(16);
  ask('newcomer');
  // What the greedy caller gives back stays in the reserve: the newcomer, which holds two of sixteen, holds much now.
  for (let n = 0; n < 2; n++) pool.release(held.shift() ?? 0);
  expect(served.slice(14)).toEqual(['newcomer', 'newcomer']);
  pool.release(held.pop() ?? 0);
  expect(served.slice(16)).toEqual(['newcomer']);
  while (held.length > 0) pool.release(held.shift() ?? 0);
  expect([served.length, pool.held]).toEqual([23, 0]);
});

test('as many as there are places go in at once; the next goes in where one leaves, at once', () => {
  const { turnstile, inside, ask } = turnstileOf(2);
  expect([ask('a'), ask('a')]).toEqual([null, null]);
  expect(ask('b')).not.toBeNull();
  expect(inside).toEqual([
    { caller: 'a', place: 1 },
    { caller: 'a', place: 2 },
  ]);
  turnstile.release(1);
  expect(inside.slice(2)).toEqual([{ caller: 'b', place: 1 }]);
});

test('a place is made when it is needed first, and the one that was used last is used first', () => {
  const { turnstile, inside, ask, made } = turnstileOf(9);
  for (let turn = 0; turn < 3; turn++) {
    ask('a');
    turnstile.release(1);
  }
  expect(made()).toBe(1);
  ask('a');
  ask('a');
  turnstile.release(1);
  turnstile.release(2);
  ask('a');
  expect([inside.at(-1)?.place, made()]).toEqual([2, 2]);
});

test('callers are let in by turns, whoever asked for more', () => {
  const { turnstile, inside, ask } = turnstileOf(1);
  ask('noisy');
  for (let count = 0; count < 5; count++) ask('noisy');
  for (const caller of ['quiet', 'other', 'quiet']) ask(caller);
  for (let left = 8; left > 0; left--) turnstile.release(1);
  expect(inside.slice(1).map(({ caller }) => caller)).toEqual([
    'quiet',
    'other',
    'noisy',
    'quiet',
    'noisy',
    'noisy',
    'noisy',
    'noisy',
  ]);
});

test('who gave up is not let in later, and takes no place', () => {
  const { turnstile, inside, ask } = turnstileOf(1);
  ask('a');
  const waits = [ask('a'), ask('b'), ask('b'), ask('c')];
  for (const wait of [waits[0], waits[2], waits[3]]) if (wait) turnstile.cancel(wait);
  for (let left = 3; left > 0; left--) turnstile.release(1);
  expect(inside.map(({ caller }) => caller)).toEqual(['a', 'b']);
});

test('whatever happens, each place has one visitor at most, nobody waits while one is free, and none is lost', () => {
  const step = fc.record({ what: fc.constantFrom('ask', 'leave', 'give up'), who: fc.nat(3) });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3 }), fc.array(step, { maxLength: 60 }), (places, steps) => {
      let made = 0;
      const turnstile = new FairPool<number>(places, () => ++made, noBulkheads);
      const used = new Map<number, number>();
      const waits = new Map<number, ReturnType<typeof turnstile.acquire>>();
      const asked: number[] = [];
      for (const [nth, { what, who }] of steps.entries()) {
        const [place] = [...used.keys()].slice(who);
        const [waiting] = [...waits.keys()].slice(who);
        if (what === 'ask') {
          asked.push(nth);
          const onAcquired = (given: number) => {
            expect(used.has(given)).toBe(false);
            used.set(given, nth);
            waits.delete(nth);
          };
          const wait = turnstile.acquire({
            caller: { name: `caller ${who}`, group: `group ${who % 2}` },
            operation: `operation ${nth % 2}`,
            suits: null,
            onOverloaded() {},
            onAcquired,
          });
          if (wait !== null) waits.set(nth, wait);
        } else if (what === 'give up' && waiting !== undefined) {
          const wait = waits.get(waiting);
          if (wait) turnstile.cancel(wait);
          waits.delete(waiting);
        } else if (what === 'leave' && place !== undefined) {
          used.delete(place);
          turnstile.release(place);
        }
        expect(used.size).toBeLessThanOrEqual(places);
        if (waits.size > 0) expect(used.size).toBe(places);
      }
      while (used.size > 0) {
        const [place] = used.keys();
        if (place === undefined) break;
        used.delete(place);
        turnstile.release(place);
      }
      expect(waits.size).toBe(0);
    }),
    { seed: 20_261_120, numRuns: 500 },
  );
});

/** A pool whose clock the test moves, and what became of its requests. */
function timedPool(places: number, waitMs: number) {
  let now = 0;
  let made = 0;
  const ticks = new Set<() => void>();
  const clock = {
    now: () => now,
    every(_: number, tick: () => void) {
      ticks.add(tick);
      return () => void ticks.delete(tick);
    },
  };
  const pool = new FairPool<number>(places, () => ++made, { ...noBulkheads, waitMs, clock });
  const served: { readonly caller: string; readonly place: number; readonly at: number }[] = [];
  const refused: string[] = [];
  const ask = (caller: string, session: PoolSession | null = null, group = caller) =>
    pool.acquire({
      caller: { name: caller, group },
      operation: 'read',
      suits: null,
      session,
      onAcquired: (place) => void served.push({ caller, place, at: now }),
      onOverloaded: () => void refused.push(caller),
    });
  return {
    pool,
    served,
    refused,
    ask,
    /** Time passes as it does while the event loop turns. */
    pass(ms: number) {
      for (const end = now + ms; now < end; ) {
        now = Math.min(end, now + 25);
        for (const tick of [...ticks]) tick();
      }
    },
    /** Time passes without a turn of the event loop; the timers that are due come first, as in Node. */
    stall(ms: number) {
      now += ms;
      for (const tick of [...ticks]) tick();
    },
    isTicking: () => ticks.size > 0,
  };
}

describe('time for which a request waits', () => {
  test('is limited, and ends in a refusal', () => {
    const { served, refused, ask, pass, isTicking } = timedPool(1, 250);
    ask('a');
    pass(110);
    ask('b');
    pass(240);
    expect(refused).toEqual([]);
    pass(50);
    expect(refused).toEqual(['b']);
    expect([served.length, isTicking()]).toEqual([1, false]);
  });

  test('does not pass while the event loop stalls: what came free is served after it', () => {
    const { pool, served, refused, ask, pass, stall } = timedPool(1, 250);
    ask('a');
    ask('b');
    pass(100);
    stall(250);
    stall(250);
    expect(refused).toEqual([]);
    pool.release(1);
    expect(served.map(({ caller }) => caller)).toEqual(['a', 'b']);
  });

  test('passes again after a stall', () => {
    const { refused, ask, pass, stall } = timedPool(1, 250);
    ask('a');
    ask('b');
    stall(10_000);
    pass(175);
    expect(refused).toEqual([]);
    pass(25);
    expect(refused).toEqual(['b']);
  });

  test('ends for some requests at a time: to refuse thousands at once would hold up all others', () => {
    const { refused, ask, pass } = timedPool(1, 250);
    for (let nth = 0; nth < 81; nth++) ask('a');
    pass(250);
    expect(refused).toHaveLength(32);
    pass(25);
    expect(refused).toHaveLength(64);
    pass(25);
    expect(refused).toHaveLength(80);
  });

  test('ends for all requests of an operation together: none is served after another was refused', () => {
    const { pool, served, refused, ask, pass } = timedPool(1, 250);
    const operation: PoolSession = { isServed: null };
    ask('holder');
    for (let nth = 0; nth < 150; nth++) ask('a', operation);
    pass(125);
    ask('b');
    // It asks for more, as after a read that another operation shared with it.
    ask('a', operation);
    pass(125);
    expect(refused).toHaveLength(150);
    pool.release(1);
    expect(served.map(({ caller }) => caller)).toEqual(['holder', 'b']);
    pool.release(1);
    expect(refused).toHaveLength(151);
    expect(pool.held).toBe(0);
  });

  test('is not limited once another request of the same operation was served: none is refused when half is done', () => {
    const { pool, served, refused, ask, pass } = timedPool(2, 250);
    const [operation, late]: PoolSession[] = [{ isServed: null }, { isServed: null }];
    for (let nth = 0; nth < 6; nth++) ask('a', operation);
    for (let nth = 0; nth < 3; nth++) ask('b', late);
    pass(1000);
    expect(refused).toEqual(['b', 'b', 'b']);
    pass(1000);
    for (let nth = 0; nth < 6; nth++) pool.release((nth % 2) + 1);
    expect(served.map(({ caller }) => caller)).toEqual(Array(6).fill('a'));
  });
});

describe('a caller that begins to wait', () => {
  test('goes before a hundred that have been served since they wait, whatever they wait for', () => {
    const { pool, served, ask } = timedPool(10, 1e9);
    for (let call = 0; call < 20; call++) for (let login = 0; login < 100; login++) ask(`login ${login}`);
    const serve = (count: number) => {
      for (let nth = 0; nth < count; nth++) pool.release((nth % 10) + 1);
    };
    serve(150);
    ask('newcomer');
    const before = served.length;
    serve(1);
    expect(served[before]?.caller).toBe('newcomer');
    ask('newcomer');
    serve(200);
    const turns = served.slice(before + 1).map(({ caller }) => caller);
    // Its second request waits like everybody else's.
    expect(turns.indexOf('newcomer')).toBeGreaterThan(50);
  });

  test('goes before them also if another newcomer came since the last one was served: between two of these goes one of the others', () => {
    const { pool, served, ask } = timedPool(10, 1e9);
    for (let call = 0; call < 20; call++) for (let login = 0; login < 100; login++) ask(`login ${login}`);
    const serve = (count: number) => {
      for (let nth = 0; nth < count; nth++) pool.release((nth % 10) + 1);
    };
    serve(150);
    for (const newcomer of ['n1', 'n2', 'n3']) ask(newcomer);
    const before = served.length;
    serve(5);
    const turns = served.slice(before).map(({ caller }) => (caller.startsWith('n') ? caller : 'login'));
    expect(turns).toEqual(['n1', 'login', 'n2', 'login', 'n3']);
  });

  test('waits behind those that have not been served, in the order of arrival', () => {
    const { pool, served, ask } = timedPool(1, 1e9);
    for (const caller of ['holder', 'a', 'b', 'c']) ask(caller);
    for (let nth = 0; nth < 3; nth++) pool.release(1);
    expect(served.map(({ caller }) => caller)).toEqual(['holder', 'a', 'b', 'c']);
  });

  test('goes behind them if it holds what they wait for', () => {
    const { pool, served, ask } = timedPool(2, 1e9);
    for (const caller of ['greedy', 'greedy', 'greedy', 'modest']) ask(caller);
    pool.release(1);
    expect(served.at(-1)?.caller).toBe('modest');
  });

  test('goes first only once until another was served: newcomers starve nobody', () => {
    const { pool, served, ask } = timedPool(1, 1e9);
    for (const caller of ['holder', 'a', 'b', 'a', 'b']) ask(caller);
    for (let turn = 0; turn < 40; turn++) {
      ask(`new ${2 * turn}`);
      ask(`new ${2 * turn + 1}`);
      pool.release(1);
    }
    const callers = served.map(({ caller }) => caller);
    expect([callers.lastIndexOf('a'), callers.lastIndexOf('b')].every((last) => last > 2)).toBe(true);
  });

  test('gains nothing by ceasing to wait and beginning again', () => {
    const { pool, served, ask } = timedPool(1, 1e9);
    const patient = ['b', 'c', 'd'];
    for (const caller of ['holder', ...patient, ...patient, ...patient]) ask(caller);
    for (let turn = 0; turn < 8; turn++) {
      ask('back again');
      pool.release(1);
    }
    const count = served.filter(({ caller }) => caller === 'back again').length;
    expect(count).toBeLessThanOrEqual(3);
    expect(count).toBeGreaterThan(0);
  });

  test('has turns with the other names of its group only: one that invents names gets no more than others', () => {
    const { pool, served, ask } = timedPool(8, 1e9);
    let invented = 0;
    const invent = () => ask(`invented ${invented++}`, null, 'peer of the inventor');
    for (let nth = 0; nth < 150; nth++) invent();
    // Whatever of them is served, another name takes its place.
    const serve = (count: number) => {
      for (let nth = 0; nth < count; nth++) {
        pool.release((nth % 8) + 1);
        invent();
      }
    };
    serve(80);
    let before = served.length;
    ask('victim');
    serve(1);
    expect(served[before]?.caller).toBe('victim');
    // Not only the first time, and not only one at a time.
    before = served.length;
    for (let nth = 0; nth < 10; nth++) ask('victim');
    serve(24);
    const own = served.slice(before).filter(({ caller }) => caller === 'victim');
    expect(own.length).toBeGreaterThanOrEqual(10);
  });

  test('has turns with the other names of its group only, also after a caller whose name is that of the group has left', () => {
    const { pool, served, ask } = timedPool(1, 1e9);
    ask('holder');
    for (let round = 0; round < 10; round++) {
      const nameless = ask('peer');
      for (let nth = 0; nth < 10; nth++) ask(`claim ${round}`, null, 'peer');
      if (nameless !== null) pool.cancel(nameless);
    }
    for (let nth = 0; nth < 20; nth++) ask('victim');
    for (let nth = 0; nth < 40; nth++) pool.release(1);
    const own = served.filter(({ caller }) => caller === 'victim');
    expect(own.length).toBeGreaterThanOrEqual(19);
  });

  test('goes first in its group too', () => {
    const { pool, served, ask } = timedPool(10, 1e9);
    for (let call = 0; call < 20; call++)
      for (let login = 0; login < 100; login++) ask(`login ${login}`, null, 'peer');
    const serve = (count: number) => {
      for (let nth = 0; nth < count; nth++) pool.release((nth % 10) + 1);
    };
    serve(150);
    ask('newcomer', null, 'peer');
    const before = served.length;
    serve(1);
    expect(served[before]?.caller).toBe('newcomer');
  });
});
