import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as iteration } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Slices } from '../../src/load/slices.ts';
import { createCallers } from '../support/callers.ts';

const callerOf = createCallers();

/** Slices with a clock that only work advances, and the names of the completed work, in order. */
function createSlices() {
  let now = 1000;
  const slices = new Slices(() => now);
  const done: string[] = [];
  const work = (name: string, milliseconds: number) => () => {
    done.push(name);
    now += milliseconds;
    return name;
  };
  return {
    slices,
    done,
    work,
    begin: (caller: string, milliseconds: number, name = caller) =>
      slices.begin(callerOf(caller), work(name, milliseconds)),
    pass: (milliseconds: number) => {
      now += milliseconds;
    },
    /** Uses up the slice of time of this iteration. */
    useUp: () => void slices.begin(callerOf('nobody'), work('used up', 10)),
    /** The work of the next slices; each slice ends with `|`. */
    async slicesOf(count: number) {
      done.length = 0;
      for (let ended = 0; ended < count; ) {
        const { length } = done;
        await iteration();
        if (done.length === length) continue;
        done.push('|');
        ended++;
      }
      return done.join(' ');
    },
  };
}

test('work runs at once while its iteration of the event loop has used less than 10 ms, and waits afterwards', async () => {
  const { begin, done, slicesOf } = createSlices();
  expect(begin('a', 9)).toBe('a');
  expect(begin('b', 5)).toBe('b');
  const waiting = [begin('a', 6, 'c'), begin('a', 6, 'd'), begin('a', 6, 'e')];
  expect(done).toEqual(['a', 'b']);
  expect(await slicesOf(2)).toBe('c d | e |');
  expect(await Promise.all(waiting)).toEqual(['c', 'd', 'e']);
  expect(begin('a', 1)).toBe('a');
});

test('the caller that has used the least time goes next, however much the others ask for', async () => {
  const { begin, useUp, slicesOf } = createSlices();
  useUp();
  for (const milliseconds of [8, 8, 8]) void begin('long', milliseconds);
  for (const milliseconds of [3, 3, 3, 3]) void begin('short', milliseconds);
  expect(await slicesOf(3)).toBe('long short | short short long | short long |');
});

test('a caller that begins to wait goes next, but has no credit for the time in which it did not', async () => {
  const { begin, useUp, slicesOf } = createSlices();
  useUp();
  for (let each = 0; each < 5; each++) void begin('greedy', 10);
  expect(await slicesOf(2)).toBe('greedy | greedy |');
  for (let each = 0; each < 3; each++) void begin('quiet', 10);
  expect(await slicesOf(6)).toBe('greedy | quiet | greedy | quiet | greedy | quiet |');
});

test('the time of what a piece resumes counts as its own', async () => {
  const { begin, slices, work, useUp, slicesOf } = createSlices();
  useUp();
  void slices
    .wait({ caller: callerOf('resumes') })
    .then(() => {})
    .then(work('resumed', 7));
  void slices.wait({ caller: callerOf('resumes') }).then(work('second', 1));
  void begin('other', 2);
  void begin('other', 2);
  expect(await slicesOf(2)).toBe('resumed other other | second |');
});

test('work that takes longer than a slice is not interrupted; each iteration runs at least one step', async () => {
  const { begin, useUp, slicesOf } = createSlices();
  useUp();
  void begin('a', 200);
  void begin('b', 200);
  void begin('a', 200);
  expect(await slicesOf(3)).toBe('a | b | a |');
});

test.each([
  ['sixteen iterations of the event loop', 0, 16 + 1],
  ['iterations that take as long as a slice', 4, 3],
])('other events have %s between two slices', async (_what, milliseconds, expected) => {
  const { begin, pass, useUp, done } = createSlices();
  useUp();
  void begin('a', 10);
  void begin('a', 10);
  while (!done.includes('a')) await iteration();
  let iterations = 0;
  for (; done.at(-2) !== 'a'; iterations++) {
    pass(milliseconds);
    await iteration();
  }
  // This number includes the iteration in which the next slice begins.
  expect(iterations).toBe(expected);
});

test('work that fails fails for its caller, and the next goes on', async () => {
  const { begin, slices, useUp } = createSlices();
  const failing = () => {
    throw new Error('the work');
  };
  expect(() => slices.begin(callerOf('a'), failing)).toThrow('the work');
  useUp();
  const failed = expect(slices.begin(callerOf('a'), failing)).rejects.toThrow('the work');
  expect(await begin('b', 1)).toBe('b');
  await failed;
});

test('work runs in the asynchronous context in which it was asked for', async () => {
  const { slices, useUp } = createSlices();
  const requests = new AsyncLocalStorage<string>();
  useUp();
  const seen = ['one', 'two'].map((name) =>
    requests.run(name, () => slices.begin(callerOf('a'), () => requests.getStore())),
  );
  expect(await Promise.all(seen)).toEqual(['one', 'two']);
});

test('of the operations of a caller, the first goes on to its end before the next one; beginnings alternate with that', async () => {
  const { slices, begin, work, useUp, slicesOf } = createSlices();
  const operation = (name: string) => async () => {
    const own = { caller: callerOf('a') };
    for (let piece = 1; piece <= 3; piece++) await slices.wait(own).then(work(`${name}${piece}`, 1));
  };
  const begun = [operation('x')(), operation('y')()];
  useUp();
  begun.push((async () => slices.begin(callerOf('a'), operation('z')))());
  void begin('a', 1, 'last');
  expect(await slicesOf(1)).toBe('x1 last x2 x3 y1 y2 y3 z1 z2 z3 |');
  await Promise.all(begun);
});
