import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { OperationDeadline } from '../../../src/bank/resilience/operation-deadline.ts';
import { createUpdateQueue } from '../../../src/bank/resilience/update-queue.ts';

const patient = () => new OperationDeadline();

/** An update that ends when it is told to. */
function update(name: string, log: string[]) {
  const end = Promise.withResolvers<string>();
  const run = () => {
    log.push(name);
    return end.promise;
  };
  return { run, end };
}

test('updates of one record run in the order of their calls, those of others at once', async () => {
  const inTurn = createUpdateQueue(8);
  const log: string[] = [];
  const [a, b, c, other] = ['a', 'b', 'c', 'other'].map((name) => update(name, log));
  const all = [a, b, c].map((one) => inTurn('r', patient(), one?.run as never));
  const apart = inTurn('s', patient(), other?.run as never);
  await delay(1);
  expect(log).toEqual(['a', 'other']);
  // One that fails is over too.
  a?.end.reject(new Error('failed'));
  await expect(all[0]).rejects.toThrow('failed');
  await delay(1);
  expect(log).toEqual(['a', 'other', 'b']);
  b?.end.resolve('b');
  c?.end.resolve('c');
  other?.end.resolve('other');
  expect(await Promise.all([all[1], all[2], apart])).toEqual(['b', 'c', 'other']);
});

test('a client that leaves, and one that has no time left, is not run and holds up nobody', async () => {
  const inTurn = createUpdateQueue(8);
  const log: string[] = [];
  const [first, left, late, last] = ['first', 'left', 'late', 'last'].map((name) => update(name, log));
  const leaving = new AbortController();
  const running = inTurn('r', patient(), first?.run as never);
  const gone = inTurn('r', new OperationDeadline({ signal: leaving.signal }), left?.run as never);
  const tooLate = inTurn('r', new OperationDeadline({ deadline: performance.now() + 5 }), late?.run as never);
  const waiting = inTurn('r', patient(), last?.run as never);
  leaving.abort();
  await expect(gone).rejects.toMatchObject({ code: 'BANK_TIMEOUT' });
  await expect(tooLate).rejects.toMatchObject({ code: 'BANK_TIMEOUT' });
  first?.end.resolve('');
  last?.end.resolve('');
  await Promise.all([running, waiting]);
  expect(log).toEqual(['first', 'last']);
  await expect(inTurn('r', patient(), async () => 'free again')).resolves.toBe('free again');
});

test('more than may wait are OVERLOADED at once', async () => {
  const inTurn = createUpdateQueue(1);
  const log: string[] = [];
  const [first, second] = ['first', 'second'].map((name) => update(name, log));
  const both = [first, second].map((one) => inTurn('r', patient(), one?.run as never));
  await expect(inTurn('r', patient(), async () => {})).rejects.toMatchObject({ code: 'OVERLOADED' });
  first?.end.resolve('');
  second?.end.resolve('');
  await Promise.all(both);
  expect(log).toEqual(['first', 'second']);
});
