import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Scheduler, WorkQueue } from '../../src/executor/scheduler.ts';

/** Pieces of work, each of which takes so long on a clock of its own. */
function scheduled(milliseconds: number) {
  let now = 0;
  const done: string[] = [];
  const scheduler = new Scheduler(() => now);
  const queueOf = (name: string, pieces: number) => {
    const queue = new WorkQueue(scheduler);
    for (let piece = 0; piece < pieces; piece++)
      queue.push(() => {
        now += milliseconds;
        done.push(name);
      });
    return queue;
  };
  return { queueOf, done: () => done.splice(0).join('') };
}

/** Waits until some work is done, and says how many iterations that took. */
async function someWork(done: () => string) {
  for (let iterations = 1; ; iterations++) {
    await turn();
    const work = done();
    if (work !== '') return { work, iterations };
  }
}

test('all work of an iteration takes 10 ms at most, whoever it belongs to; the next ones take none', async () => {
  const { queueOf, done } = scheduled(6);
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) queueOf(name, 2);
  expect(done()).toBe('');
  // The second piece ends behind the 10 ms.
  expect(await someWork(done)).toEqual({ work: 'ab', iterations: 1 });
  for (const expected of ['cd', 'ef', 'ab', 'cd', 'ef'])
    expect(await someWork(done)).toEqual({ work: expected, iterations: 17 });
});

test('who has many small pieces has as much time as others', async () => {
  const { queueOf, done } = scheduled(1);
  queueOf('a', 12);
  queueOf('b', 3);
  queueOf('c', 6);
  expect((await someWork(done)).work).toBe('aaaaabbbcc');
  expect((await someWork(done)).work).toBe('aaaaacccca');
  expect((await someWork(done)).work).toBe('a');
});

test('a queue whose pieces only resume others runs one of them, and nothing else in that iteration', async () => {
  const done: string[] = [];
  const scheduler = new Scheduler();
  const resuming = new WorkQueue(scheduler, { resumes: true });
  const other = new WorkQueue(scheduler);
  for (const name of ['a', 'b']) resuming.push(() => done.push(name));
  for (const name of ['1', '2']) other.push(() => done.push(name));
  const seen: string[] = [];
  while (done.length < 4) {
    await turn();
    if (done.join('') !== seen.at(-1)) seen.push(done.join(''));
  }
  expect(seen.filter(Boolean)).toEqual(['a', 'a12b']);
});

test('work that is pushed while its queue runs comes after what was there', async () => {
  const done: string[] = [];
  const queue = new WorkQueue(new Scheduler());
  queue.push(() => {
    done.push('first');
    queue.push(() => done.push('third'));
  });
  queue.push(() => done.push('second'));
  while (done.length < 3) await turn();
  expect(done).toEqual(['first', 'second', 'third']);
  // It can be used again when all is done.
  queue.push(() => done.push('fourth'));
  while (done.length < 4) await turn();
  expect(done[3]).toBe('fourth');
});

test('each queue runs in the context in which it was made', async () => {
  const request = new AsyncLocalStorage<string>();
  const scheduler = new Scheduler();
  const seen: (string | undefined)[] = [];
  for (const name of ['a', 'b'])
    request.run(name, () => new WorkQueue(scheduler).push(() => void seen.push(request.getStore())));
  new WorkQueue(scheduler).push(() => void seen.push(request.getStore()));
  while (seen.length < 3) await turn();
  expect(seen).toEqual(['a', 'b', undefined]);
});
