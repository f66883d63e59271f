import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FairPool } from '../../../src/bank/http/fair-pool.ts';

/** No operation is held back. */
const noBulkheads = { share: 1, quickMs: 1000, slowMs: 4000 };

/** A turnstile, and who was let in, to which place. */
function turnstileOf(places: number) {
  let made = 0;
  const turnstile = new FairPool<number>(places, () => ++made, noBulkheads);
  const inside: { readonly caller: string; readonly place: number }[] = [];
  const ask = (caller: string) =>
    turnstile.acquire({
      caller,
      operation: 'read',
      suits: () => true,
      onAcquired: (place) => void inside.push({ caller, place }),
    });
  return { turnstile, inside, ask, made: () => made };
}

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
    'noisy',
    'quiet',
    'other',
    'noisy',
    'quiet',
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
            caller: `caller ${who}`,
            operation: `operation ${nth % 2}`,
            suits: () => true,
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
