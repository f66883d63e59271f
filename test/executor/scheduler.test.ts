import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  type ExpectedWork,
  newcomer,
  Scheduler,
  type TurnTaker,
  WorkQueue,
} from '../../src/executor/scheduler.ts';

/** Pieces of work, each of which takes so long on a clock of its own. */
function scheduled(milliseconds: number) {
  let now = 0;
  const done: string[] = [];
  const scheduler = new Scheduler(() => now);
  const queueOf = (name: string, pieces: number, taker?: TurnTaker, stage: 'finishing' | 'long' = 'long') => {
    const queue = new WorkQueue({ taker, scheduler, stage });
    for (let piece = 0; piece < pieces; piece++)
      queue.push(() => {
        now += milliseconds;
        done.push(name);
      });
    return queue;
  };
  const work = (name: string) => {
    now += milliseconds;
    done.push(name);
  };
  const pass = (ms: number) => {
    now += ms;
  };
  return { scheduler, queueOf, work, pass, done: () => done.splice(0).join('') };
}

/** Waits until some work is done, and says how many iterations that took. */
async function someWork(done: () => string) {
  for (let iterations = 1; ; iterations++) {
    await turn();
    const work = done();
    if (work !== '') return { work, iterations };
  }
}

/** The order in which all of it is done. */
async function allWork(done: () => string, pieces: number) {
  let work = '';
  while (work.length < pieces) work += (await someWork(done)).work;
  return work;
}

test('work takes 10 ms at most before other events have a pause; one that has begun ends before the next begins', async () => {
  const { queueOf, done } = scheduled(6);
  for (const name of ['a', 'b', 'c']) queueOf(name, 4);
  expect(done()).toBe('');
  // The second piece ends behind the 10 ms.
  expect(await someWork(done)).toEqual({ work: 'aa', iterations: 1 });
  for (const expected of ['aa', 'bb', 'bb', 'cc', 'cc'])
    expect(await someWork(done)).toEqual({ work: expected, iterations: 17 });
});

test('after a pause that took long, long work runs for a quarter of that time, up to 50 ms', async () => {
  const { queueOf, pass, done } = scheduled(5);
  queueOf('a', 24);
  expect((await someWork(done)).work).toBe('aa');
  pass(120);
  expect((await someWork(done)).work).toBe('a'.repeat(6));
  pass(1000);
  expect((await someWork(done)).work).toBe('a'.repeat(10));
  expect((await someWork(done)).work).toBe('aa');
});

test('what ends an answer comes before what is being built, and that before what has not begun', async () => {
  const { queueOf, done } = scheduled(6);
  const begun = queueOf('a', 3);
  queueOf('b', 2);
  expect((await someWork(done)).work).toBe('aa');
  queueOf('j', 2, undefined, 'finishing');
  expect(await allWork(done, 5)).toBe('jjabb');
  // What waits for the bank keeps its place.
  queueOf('c', 4);
  const { work } = await someWork(done);
  begun.push(() => queueOf('d', 1));
  expect(work + (await allWork(done, 5 - work.length))).toBe('ccccd');
});

test('the caller that has taken the fewest turns comes first', async () => {
  const { queueOf, done } = scheduled(10);
  const [greedy, other, late] = [newcomer(), newcomer(), newcomer()];
  greedy.work = 30;
  other.work = 25;
  for (let operation = 0; operation < 3; operation++) queueOf('g', 1, greedy);
  for (let operation = 0; operation < 3; operation++) queueOf('o', 1, other);
  // Each takes 64 turns.
  expect(await allWork(done, 2)).toBe('og');
  queueOf('l', 1, late);
  expect(await allWork(done, 5)).toBe('logog');
});

test('of callers that took equally many turns, the one whose work took less in earlier executions comes first', async () => {
  const { scheduler, done, work } = scheduled(10);
  const [long, short]: ExpectedWork[] = [{ turns: null }, { turns: null }];
  const push = (name: string, expectedWork: ExpectedWork | undefined, pieces: number) => {
    const queue = new WorkQueue({ expectedWork, scheduler });
    for (let piece = 0; piece < pieces; piece++) queue.push(() => work(name));
  };
  push('l', long, 3);
  push('s', short, 1);
  expect(await allWork(done, 4)).toBe('llls');
  // A piece counts as at most 64 turns, since its time may be that of a garbage collection.
  expect([long, short]).toEqual([{ turns: 192 }, { turns: 64 }]);
  push('l', long, 3);
  push('s', short, 1);
  expect(await allWork(done, 4)).toBe('slll');
  // One that is ended early does not make it look short.
  push('l', long, 1);
  await allWork(done, 1);
  expect(long).toEqual({ turns: 144 });
});

test('a caller is expected to ask for as much as it did last, whatever others ask for with the same document', async () => {
  const { scheduler, done, work } = scheduled(10);
  const expectedWork: ExpectedWork = { turns: 5000 };
  const [modest, greedy] = [newcomer(), newcomer()];
  modest.lastWork = 10;
  greedy.lastWork = 200;
  for (const [name, taker] of Object.entries({ g: greedy, n: newcomer(), m: modest }))
    new WorkQueue({ taker, expectedWork, scheduler }).push(() => work(name));
  expect(await allWork(done, 3)).toBe('mgn');
});

test('a caller that asks for long work now and then comes before those that ask for as much all the time', async () => {
  const { queueOf, done } = scheduled(1);
  const busy = Array.from({ length: 10 }, newcomer);
  const seldom = newcomer();
  const askAll = (pieces: number) => {
    for (const taker of busy) queueOf('b', pieces, taker);
  };
  askAll(40);
  // 40 of the 400 pieces are a fair share, of 320 turns each.
  for (let served = 0; served < 200; ) served += (await someWork(done)).work.length;
  askAll(40);
  queueOf('s', 4, seldom);
  // The execution that has begun ends first.
  expect((await allWork(done, 60)).indexOf('ssss')).toBeLessThan(40);
});

test('callers that keep coming, each for the first time, do not keep one with longer work waiting', async () => {
  const { scheduler, done, work } = scheduled(1);
  const push = (name: string, expectedWork: ExpectedWork) => {
    const queue = new WorkQueue({ expectedWork, scheduler });
    for (let piece = 0; piece < 10; piece++)
      queue.push(() => {
        work(name);
        if (piece === 9 && name === 'n') push('n', { turns: null });
      });
  };
  for (let caller = 0; caller < 5; caller++) push('n', { turns: null });
  push('l', { turns: 5000 });
  let all = '';
  while (!all.includes('l') && all.length < 2000) all += (await someWork(done)).work;
  expect(all).toContain('l');
});

test('work whose size is known counts before it is done', async () => {
  const { scheduler, done, work } = scheduled(1);
  const push = (name: string, milliseconds?: number) =>
    new WorkQueue({ taker: newcomer(), scheduler }).push(() => work(name), milliseconds);
  push('l', 3);
  push('s', 1);
  push('n');
  expect(await allWork(done, 3)).toBe('nsl');
});

test('executions of callers that had long work begin after those of others that wait', async () => {
  const { scheduler, queueOf, done, work } = scheduled(5);
  const [heavy, light] = [newcomer(), { ...newcomer(), owed: 39 }];
  queueOf('l', 1, heavy);
  expect(await allWork(done, 1)).toBe('l');
  expect(heavy.owed).toBe(40);
  // They use up the time of this iteration.
  for (let n = 0; n < 2; n++) void scheduler.begin(newcomer(), () => work('x'));
  void scheduler.begin(heavy, () => work('h'));
  void scheduler.begin(light, () => work('b'));
  expect(done()).toBe('xx');
  expect(await allWork(done, 2)).toBe('bh');
});

test('long work that a caller has had does not delay the beginning of its executions if nobody waits', async () => {
  const { scheduler, queueOf, done, work } = scheduled(10);
  const [caller, other] = [newcomer(), newcomer()];
  for (const taker of [caller, other]) queueOf('l', 20, taker);
  expect(await allWork(done, 20)).toBe('l'.repeat(20));
  void scheduler.begin(caller, () => work('b'));
  expect(done()).toBe('b');
});

test('an execution that has begun goes on before others, unless theirs are shorter', async () => {
  const { scheduler, queueOf, done, work } = scheduled(10);
  const caller = newcomer();
  const push = (name: string, pieces: number, taker?: TurnTaker) => {
    const queue = new WorkQueue({ taker, expectedWork: { turns: 200 }, scheduler });
    for (let piece = 0; piece < pieces; piece++) queue.push(() => work(name));
  };
  push('f', 4, caller);
  push('s', 2);
  expect(await allWork(done, 1)).toBe('f');
  // Its caller takes more turns meanwhile.
  caller.work += 80;
  expect(await allWork(done, 1)).toBe('f');
  queueOf('x', 2);
  expect(await allWork(done, 6)).toBe('xxffss');
});

test('work that does not go on before others once some of it is done waits for its next turn each time', async () => {
  const { scheduler, done, work } = scheduled(10);
  for (const name of ['f', 's']) {
    const queue = new WorkQueue({ taker: newcomer(), goesOn: false, scheduler });
    for (let piece = 0; piece < 3; piece++) queue.push(() => work(name));
  }
  expect(await allWork(done, 6)).toBe('fsfsfs');
});

test('the time of what a piece resumes counts as its own', async () => {
  const { queueOf, done, work } = scheduled(4);
  const resuming = queueOf('', 0);
  for (const name of ['a', 'b'])
    resuming.push(
      () =>
        void Promise.resolve().then(async () => {
          await null;
          work(name.repeat(2));
          work(name);
        }),
    );
  queueOf('c', 1);
  expect(await someWork(done)).toEqual({ work: 'aaabbb', iterations: 1 });
  expect(await someWork(done)).toEqual({ work: 'c', iterations: 17 });
});

test('work that is pushed while its queue runs comes after what was there', async () => {
  const done: string[] = [];
  const queue = new WorkQueue();
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
    request.run(name, () => new WorkQueue({ scheduler }).push(() => void seen.push(request.getStore())));
  new WorkQueue({ scheduler }).push(() => void seen.push(request.getStore()));
  while (seen.length < 3) await turn();
  expect(seen).toEqual(['a', 'b', undefined]);
});

test('a caller that asks for little begins at once, and one that asks for more takes turns with others', async () => {
  const { scheduler, done, work } = scheduled(0);
  const [noisy, quiet, other]: TurnTaker[] = [newcomer(), newcomer(), newcomer()];
  const begin = (name: string, taker: TurnTaker = newcomer()) =>
    void scheduler.begin(taker, () => work(name));
  for (let n = 0; n < 12; n++) begin('n', noisy);
  for (let n = 0; n < 19; n++) begin('o', other);
  begin('q', quiet);
  // While one waits, half of the turns that another takes pass for both.
  expect(done()).toBe(`${'n'.repeat(9)}${'o'.repeat(17)}q`);
  // Those that wait are not overtaken by later ones of the same caller.
  begin('l', noisy);
  expect(done()).toBe('');
  // One that has not had a turn does not wait for those that have.
  begin('x');
  expect(done()).toBe('x');
  expect(await allWork(done, 6)).toBe('nnnloo');
  for (let iteration = 0; iteration < 3; iteration++) {
    await turn();
    begin('n', noisy);
    begin('x');
    expect(done()).toBe('nx');
  }
});

test('an execution takes turns for its time, up to a bound', async () => {
  const { scheduler, done, work } = scheduled(3);
  const [slow, other] = [newcomer(), newcomer()];
  const begin = (name: string, taker: TurnTaker) => scheduler.begin(taker, () => work(name));
  void begin('s', slow);
  expect(slow.owed).toBe(24);
  const second = begin('s', slow);
  void begin('o', other);
  expect(done()).toBe('so');
  await second;
  expect(done()).toBe('s');
  // A pause, such as that of a garbage collection, is not held against it.
  void scheduler.begin(newcomer(), () => work('x'));
  const paused = newcomer();
  await turn();
  void scheduler.begin(paused, () => {
    for (let n = 0; n < 100; n++) work('p');
  });
  expect(paused.owed).toBe(64);
});

test('an execution with many REST calls takes as many turns', async () => {
  const { scheduler, done, work } = scheduled(1);
  const heavy = Array.from({ length: 10 }, newcomer);
  const light = newcomer();
  let lights = 0;
  const begin = (name: string, taker: TurnTaker, calls: number) =>
    void scheduler.begin(taker, () => {
      for (let turns = 0; turns <= calls; turns++) work(name);
      taker.owed += calls;
    });
  const beginHeavy = () => {
    for (const taker of heavy) begin('h', taker, 20);
  };
  beginHeavy();
  // The first one takes longer than executions may begin without waiting in one iteration of the event loop.
  expect(done()).toBe('h'.repeat(21));
  for (let n = 0; n < 3; n++) beginHeavy();
  expect(done()).toBe('');
  // Each of them takes 85 turns, when its caller begins the next one, and the light one takes 9: less than a tenth of what five do.
  let begun = 0;
  for (; begun < 10; begun += (await someWork(done)).work.length / 21);
  for (; begun < 30; begun += (await someWork(done)).work.length / 21) {
    for (; lights < begun / 5 - 2; lights++) {
      begin('l', light, 0);
      expect(done()).toBe('l');
    }
  }
  expect(lights).toBeGreaterThanOrEqual(4);
});

test('a caller with one request comes before one with many, though that one has taken fewer turns', async () => {
  const { scheduler, done, work } = scheduled(6);
  const many = { ...newcomer(), requests: 3 };
  const one = { ...newcomer(), beginnings: 50 };
  const begin = (name: string, taker: TurnTaker) => void scheduler.begin(taker, () => work(name));
  // Nobody else begins at once in this iteration of the event loop.
  for (let n = 0; n < 2; n++) begin('x', newcomer());
  expect(done()).toBe('xx');
  begin('m', many);
  begin('o', one);
  expect(await allWork(done, 2)).toBe('om');
});

test('callers of a large group come after the others', async () => {
  const { scheduler, done, work } = scheduled(6);
  const begin = (name: string, taker: TurnTaker) => void scheduler.begin(taker, () => work(name));
  for (let n = 0; n < 2; n++) begin('x', newcomer());
  for (let n = 0; n < 5; n++) begin('i', { ...newcomer(), isOfLargeGroup: true });
  begin('v', { ...newcomer(), beginnings: 10 });
  expect(done()).toBe('xx');
  expect(await allWork(done, 6)).toBe('viiiii');
});

test('while connections are too few, executions of callers whose calls wait do not begin; others and long work do', async () => {
  const { scheduler, queueOf, done, work } = scheduled(0);
  const heavy = { ...newcomer(), name: 'heavy', owed: 100, requests: 3 };
  const single = { ...newcomer(), owed: 200 };
  const begin = (name: string, taker: TurnTaker) => void scheduler.begin(taker, () => work(name));
  scheduler.onCrowded(crowdOf('heavy'));
  begin('x', newcomer());
  for (let n = 0; n < 3; n++) begin('h', heavy);
  begin('s', single);
  queueOf('l', 3);
  expect(done()).toBe('x');
  expect(await allWork(done, 4)).toBe('slll');
  for (let iterations = 0; iterations < 40; iterations++) await turn();
  expect(done()).toBe('');
  begin('x', newcomer());
  expect(done()).toBe('x');
  scheduler.onCrowded(null);
  expect(await allWork(done, 3)).toBe('hhh');
});

/** The calls of one caller wait for connections. */
const crowdOf = (waiting: string) => ({ isWaiting: (caller: string) => caller === waiting });

/** A scheduler in which executions of `heavy` wait if connections are too few. */
function waitsForConnections() {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { scheduler } = scheduled(0);
  void scheduler.begin(newcomer(), () => {});
  return { scheduler, heavy: { ...newcomer(), name: 'heavy', owed: 100, requests: 2 } };
}

test('an execution that has waited a second for connections is refused, unless there are enough by then', async () => {
  const { scheduler, heavy } = waitsForConnections();
  const begin = () => scheduler.begin(heavy, (isLate) => (isLate ? 'refused' : 'begun'));
  scheduler.onCrowded(crowdOf('heavy'));
  const first = begin();
  vi.advanceTimersByTime(600);
  const second = begin();
  vi.advanceTimersByTime(400);
  expect(await first).toBe('refused');
  scheduler.onCrowded(null);
  vi.advanceTimersByTime(600);
  expect(await second).toBe('begun');
  expect(vi.getTimerCount()).toBe(0);
});

test('of executions that have waited for too long together, 16 are refused in an iteration of the event loop', async () => {
  const { scheduler, heavy } = waitsForConnections();
  scheduler.onCrowded(crowdOf('heavy'));
  let refused = 0;
  const refuse = (isLate: boolean) => {
    if (isLate) refused++;
  };
  const all = Array.from({ length: 40 }, () => scheduler.begin(heavy, refuse));
  vi.advanceTimersByTime(1000);
  const counts: number[] = [];
  for (let iteration = 0; iteration < 4; iteration++) {
    counts.push(refused);
    await turn();
  }
  expect(counts).toEqual([0, 16, 32, 40]);
  await Promise.all(all);
});

test('an execution begins once no call of its caller waits any more, though connections are still too few', async () => {
  const { scheduler, heavy } = waitsForConnections();
  scheduler.onCrowded(crowdOf('heavy'));
  const waiting = scheduler.begin(heavy, (isLate) => (isLate ? 'refused' : 'begun'));
  // It has had its turn, and nobody else asks for one.
  for (let iterations = 0; iterations < 40; iterations++) await turn();
  scheduler.onCrowded(crowdOf('another'));
  expect(await waiting).toBe('begun');
  expect(vi.getTimerCount()).toBe(0);
});

test('an execution whose client leaves, or that is refused, waits no longer; nothing of it is kept', async () => {
  const { scheduler, heavy } = waitsForConnections();
  scheduler.onCrowded(crowdOf('heavy'));
  const client = new AbortController();
  const begun: boolean[] = [];
  const begin = () =>
    scheduler.begin(
      heavy,
      (isLate) => void begun.push(isLate),
      () => client.signal,
    );
  const left = [begin(), begin()];
  client.abort();
  await Promise.all(left);
  expect([begun, heavy.waiting, vi.getTimerCount()]).toEqual([[false, false], null, 0]);
  // Those who have waited may catch up on turns.
  heavy.owed = 1000;
  void scheduler.begin(newcomer(), () => {});
  const late = scheduler.begin(heavy, (isLate) => void begun.push(isLate));
  expect(heavy.waiting).not.toBeNull();
  vi.advanceTimersByTime(1000);
  await late;
  expect([begun, heavy.waiting, vi.getTimerCount()]).toEqual([[false, false, true], null, 0]);
});

test('executions begin before long ones go on, and what fails at its beginning fails for its caller', async () => {
  const { scheduler, queueOf, done, work } = scheduled(6);
  queueOf('long', 6);
  await turn();
  expect(done()).toBe('longlong');
  const caller: TurnTaker = newcomer();
  expect(scheduler.begin(caller, () => 'at once')).toBe('at once');
  caller.owed += 10;
  const begun = scheduler.begin(caller, () => work('short'));
  const failed = scheduler.begin(caller, () => {
    throw new Error('no');
  });
  await expect(failed).rejects.toThrow('no');
  await begun;
  expect(done()).toMatch(/^short/);
});

test('queues are served in order, in whatever order they come', async () => {
  const { scheduler, done, work } = scheduled(0);
  void scheduler.begin(newcomer(), () => work('first'));
  expect(done()).toBe('first');
  const takers = Array.from({ length: 50 }, (_, index) => ({
    ...newcomer(),
    beginnings: 100 + ((index * 37) % 50),
  }));
  for (const taker of takers) {
    const name = String.fromCharCode(taker.beginnings);
    void scheduler.begin(taker, () => work(name));
  }
  const all = await allWork(done, 50);
  expect(all).toBe([...all].sort().join(''));
});

test('beginnings that never end do not keep long executions waiting', async () => {
  const { scheduler, queueOf, done, work } = scheduled(10);
  const greedy = newcomer();
  const beginMore = () => {
    while (greedy.waiting === null) void scheduler.begin(greedy, () => work('b'));
    for (let n = 0; n < 3; n++) void scheduler.begin(greedy, () => work('b'));
  };
  beginMore();
  done();
  queueOf('l', 3);
  let all = '';
  while (all.length < 8) {
    all += (await someWork(done)).work;
    beginMore();
    done();
  }
  expect(all).toBe('blblblbb');
});
