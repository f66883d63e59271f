import { setImmediate as iteration } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { OperationDeadline } from '../../src/bank/operation-deadline.ts';
import { UpdateQueue } from '../../src/bank/update-queue.ts';
import { createCallers } from '../support/callers.ts';

const callerOf = createCallers();

/** Updates whose reads and writes the test ends. `log` lists the steps that have begun. */
function setUp() {
  const queue = new UpdateQueue();
  const log: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  const step = (name: string): Promise<string> => {
    log.push(name);
    const end = Promise.withResolvers<string>();
    ends.set(name, end);
    return end.promise;
  };
  return {
    log,
    /** Begins an update. The letter of its name identifies the record: r1 and r2 update the record r. */
    begin(name: string, { deadline = new OperationDeadline(), caller = 'caller' } = {}) {
      const running = queue.run(name[0] ?? '', {
        caller: callerOf(caller),
        deadline,
        read: () => step(`read ${name}`).then(() => name),
        write: () => step(`write ${name}`),
      });
      running.catch(() => {});
      return running;
    },
    /** Ends a step, and waits until the next step has begun. */
    async end(name: string, outcome: string | Error = name) {
      const end = ends.get(name);
      if (end === undefined) throw new Error(`${name} has not begun`);
      if (outcome instanceof Error) end.reject(outcome);
      else end.resolve(outcome);
      await iteration();
    },
  };
}

test('an update reads before it waits, and again if another one ended meanwhile', async () => {
  const { log, begin, end } = setUp();
  const [first, second, other] = ['r1', 'r2', 's1'].map((name) => begin(name));
  expect(log).toEqual(['read r1', 'read r2', 'read s1']);
  for (const name of ['r1', 's1', 'r2']) await end(`read ${name}`);
  expect(log.slice(3)).toEqual(['write r1', 'write s1']);
  await end('write r1');
  expect(log.slice(5)).toEqual(['read r2']);
  await end('read r2');
  await end('write r2');
  await end('write s1');
  expect(log.slice(6)).toEqual(['write r2']);
  expect(await Promise.all([first, second, other])).toEqual(['write r1', 'write r2', 'write s1']);
});

test('an update that did not wait reads again if another one began and ended during its read', async () => {
  const { log, begin, end } = setUp();
  const slow = begin('r1');
  begin('r2');
  await end('read r2');
  await end('write r2', new Error('the outcome is unknown'));
  await end('read r1');
  expect(log).toEqual(['read r1', 'read r2', 'write r2', 'read r1']);
  await end('read r1');
  await end('write r1');
  expect(await slow).toBe('write r1');
});

test('an update that was alone reads once', async () => {
  const { log, begin, end } = setUp();
  for (const name of ['r1', 'r2']) {
    const alone = begin(name);
    await end(`read ${name}`);
    await end(`write ${name}`);
    await alone;
  }
  expect(log).toEqual(['read r1', 'write r1', 'read r2', 'write r2']);
});

test('updates whose read fails delay nobody', async () => {
  const { log, begin, end } = setUp();
  const refused = Array.from({ length: 33 }, (_, n) => begin(`r-${n}`));
  const own = begin('r-own');
  await end('read r-own');
  expect(log.at(-1)).toBe('write r-own');
  await end('write r-own');
  expect(await own).toBe('write r-own');
  await end('read r-0', new Error('401'));
  await expect(refused[0]).rejects.toThrow('401');
  expect(log.filter((line) => line.startsWith('write'))).toEqual(['write r-own']);
});

test('callers are served in turn: many updates whose writes the bank refuses do not delay a single one of another', async () => {
  const { log, begin, end } = setUp();
  const names = ['a', 'b', 'c'].flatMap((caller) =>
    [1, 2, 3].map((n) => [`r-${caller}${n}`, caller] as const),
  );
  for (const [name, caller] of names) begin(name, { caller });
  const single = begin('r-single', { caller: 'single' });
  for (const [name] of [...names, ['r-single'] as const]) await end(`read ${name}`);
  const written = () => log.filter((line) => line.startsWith('write')).map((line) => line.slice(8));
  while (written().at(-1) !== 'c3') {
    const [name] = written().slice(-1);
    await end(`write r-${name}`, name === 'single' ? name : new Error('403'));
    const [last = ''] = log.slice(-1);
    if (last.startsWith('read')) await end(last);
  }
  expect(written()).toEqual(['a1', 'a2', 'b1', 'c1', 'single', 'a3', 'b2', 'c2', 'b3', 'c3']);
  expect(await single).toBe('single');
});

test('a caller who left with all waiting updates, and came back, is served once for each that still waits', async () => {
  const { log, begin, end } = setUp();
  const leaving = new OperationDeadline();
  begin('r1', { caller: 'other' });
  const gone = begin('r2', { deadline: leaving });
  for (const name of ['r1', 'r2']) await end(`read ${name}`);
  leaving.cancel();
  await expect(gone).rejects.toMatchObject({ code: 'BANK_TIMEOUT' });
  const back = begin('r3');
  await end('read r3');
  await end('write r1');
  await end('read r3');
  await end('write r3');
  expect(await back).toBe('write r3');
  expect(log.filter((line) => line.startsWith('write'))).toEqual(['write r1', 'write r3']);
});

test('a client that leaves, and one that has no time left, writes nothing and delays nobody', async () => {
  const { log, begin, end } = setUp();
  const leaving = new OperationDeadline();
  const running = begin('r1');
  const gone = begin('r2', { deadline: leaving });
  const tooLate = begin('r3', { deadline: new OperationDeadline({ deadline: performance.now() }) });
  const last = begin('r4');
  for (const name of ['r1', 'r2', 'r3', 'r4']) await end(`read ${name}`);
  await expect(tooLate).rejects.toMatchObject({ code: 'BANK_TIMEOUT' });
  leaving.cancel();
  await expect(gone).rejects.toMatchObject({ code: 'BANK_TIMEOUT' });
  await end('write r1');
  await end('read r4');
  await end('write r4');
  expect(await Promise.all([running, last])).toEqual(['write r1', 'write r4']);
  expect(log.filter((line) => line.startsWith('write'))).toEqual(['write r1', 'write r4']);
});

test('no update overwrites the change of another, in whatever order their steps end', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.nat(12), async (scheduler, count) => {
      const queue = new UpdateQueue();
      const record: number[] = [];
      const updates = Array.from({ length: count }, (_, n) =>
        queue
          .run('r', {
            caller: callerOf(`c${n % 3}`),
            deadline: new OperationDeadline(),
            read: () => scheduler.schedule(Promise.resolve()).then(() => [...record, n]),
            write: async (body) => {
              await scheduler.schedule(Promise.resolve());
              record.splice(0, record.length, ...body);
            },
          })
          .then(
            () => n,
            () => null,
          ),
      );
      const settled = Promise.all(updates);
      await scheduler.waitFor(settled);
      const written = (await settled).filter((n) => n !== null);
      expect(record.toSorted()).toEqual(written.toSorted());
    }),
    { numRuns: 200 },
  );
});
