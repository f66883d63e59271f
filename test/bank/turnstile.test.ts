import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Cancel } from '../../src/bank/cancel.ts';
import { createTurnstile } from '../../src/bank/turnstile.ts';
import type { TransportFailure } from '../../src/bank/wire.ts';

const reasonOf = (work: Promise<unknown>) =>
  work.then(
    () => 'let in',
    (failure: TransportFailure) => `${failure.reason}, ${failure.sent ? 'sent' : 'not sent'}`,
  );

test('as many as there are places go in at once; the next waits until one leaves', async () => {
  const turnstile = createTurnstile({ places: 2, waitMs: 1000 });
  await turnstile.enter('a', 1000);
  await turnstile.enter('a', 1000);
  let third = false;
  const waiting = turnstile.enter('b', 1000).then(() => {
    third = true;
  });
  await turn();
  expect([third, turnstile.inside]).toEqual([false, 2]);
  turnstile.leave();
  await waiting;
  expect([third, turnstile.inside]).toEqual([true, 2]);
});

test('callers are let in by turns, whoever asked for more', async () => {
  const turnstile = createTurnstile({ places: 1, waitMs: 1000 });
  await turnstile.enter('noisy', 1000);
  const order: string[] = [];
  const ask = (caller: string) =>
    turnstile.enter(caller, 1000).then(() => {
      order.push(caller);
    });
  const all = [...Array.from({ length: 5 }, () => ask('noisy')), ask('quiet'), ask('other'), ask('quiet')];
  for (let left = all.length; left > 0; left--) {
    turnstile.leave();
    await turn();
  }
  await Promise.all(all);
  expect(order).toEqual(['noisy', 'quiet', 'other', 'noisy', 'quiet', 'noisy', 'noisy', 'noisy']);
});

test('who waits too long, or leaves, is not let in later, and takes no place', async () => {
  const turnstile = createTurnstile({ places: 1, waitMs: 20 });
  await turnstile.enter('a', 1000);
  const [leaving, left] = [new Cancel(), new Cancel()];
  left.raise();
  const outcomes = [
    reasonOf(turnstile.enter('a', 1000)),
    reasonOf(turnstile.enter('a', 5)),
    reasonOf(turnstile.enter('b', 1000, leaving)),
    reasonOf(turnstile.enter('b', 1000, left)),
  ];
  leaving.raise();
  expect(await Promise.all(outcomes)).toEqual([
    'overloaded, not sent',
    'overloaded, not sent',
    'cancelled, not sent',
    'cancelled, not sent',
  ]);
  turnstile.leave();
  expect(turnstile.inside).toBe(0);
});
