import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { TransportFailure } from '../../src/bank/transport.ts';
import { createTurnstile } from '../../src/bank/turnstile.ts';

const reasonOf = (work: Promise<unknown>) =>
  work.then(
    () => 'let in',
    (failure: TransportFailure) => `${failure.reason}, ${failure.sent ? 'sent' : 'not sent'}`,
  );

test('as many as there are places go in at once; the next waits until one leaves', async () => {
  const turnstile = createTurnstile({ places: 2, waitMs: 1000 });
  const leaveFirst = await turnstile.enter('a', 1000);
  await turnstile.enter('a', 1000);
  let third = false;
  const waiting = turnstile.enter('b', 1000).then(() => {
    third = true;
  });
  await turn();
  expect([third, turnstile.inside]).toEqual([false, 2]);
  leaveFirst();
  await waiting;
  expect([third, turnstile.inside]).toEqual([true, 2]);
});

test('leaving twice frees one place', async () => {
  const turnstile = createTurnstile({ places: 1, waitMs: 20 });
  const leave = await turnstile.enter('a', 1000);
  leave();
  leave();
  await turnstile.enter('a', 1000);
  expect(await reasonOf(turnstile.enter('a', 1000))).toBe('overloaded, not sent');
});

test('callers are let in by turns, whoever asked for more', async () => {
  const turnstile = createTurnstile({ places: 1, waitMs: 1000 });
  let leave = await turnstile.enter('noisy', 1000);
  const order: string[] = [];
  const ask = (caller: string) =>
    turnstile.enter(caller, 1000).then((next) => {
      order.push(caller);
      leave = next;
    });
  const all = [...Array.from({ length: 5 }, () => ask('noisy')), ask('quiet'), ask('other'), ask('quiet')];
  for (let left = all.length; left > 0; left--) {
    leave();
    await turn();
  }
  await Promise.all(all);
  expect(order).toEqual(['noisy', 'quiet', 'other', 'noisy', 'quiet', 'noisy', 'noisy', 'noisy']);
});

test('who waits too long, or leaves, is not let in later, and takes no place', async () => {
  const turnstile = createTurnstile({ places: 1, waitMs: 20 });
  const leave = await turnstile.enter('a', 1000);
  const leaving = new AbortController();
  const outcomes = [
    reasonOf(turnstile.enter('a', 1000)),
    reasonOf(turnstile.enter('a', 5)),
    reasonOf(turnstile.enter('b', 1000, leaving.signal)),
    reasonOf(turnstile.enter('b', 1000, AbortSignal.abort())),
  ];
  leaving.abort();
  expect(await Promise.all(outcomes)).toEqual([
    'overloaded, not sent',
    'overloaded, not sent',
    'cancelled, not sent',
    'cancelled, not sent',
  ]);
  leave();
  expect(turnstile.inside).toBe(0);
});
