import { pino } from 'pino';
import { expect, test, vi } from 'vitest';
import type { Order } from '../../../src/commands/workers/messages.ts';
import { Supervisor, type WorkerEvents } from '../../../src/commands/workers/supervisor.ts';
import { quietFor, turns, untilFound } from '../../support/waits.ts';

interface FakeWorker extends WorkerEvents {
  readonly orders: Order[];
  isSilent: boolean;
}

/** A supervisor over workers that do what the test says. */
function supervise(workers: number, backoffMs = 0) {
  const forked: FakeWorker[] = [];
  const lines: { readonly msg: string }[] = [];
  const onCrash = vi.fn();
  const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const supervisor = new Supervisor({
    workers,
    logger,
    onCrash,
    backoffMs,
    fork(events) {
      const orders: Order[] = [];
      const worker = { ...events, orders, isSilent: false, send: (order: Order) => void orders.push(order) };
      forked.push(worker);
      return worker;
    },
  });
  /** The nth worker that was forked, once it is. */
  const nth = (n: number) => untilFound(() => forked[n]);
  const ready = async (...which: number[]) => {
    for (const n of which) (await nth(n)).onReady({ url: `url ${n}`, stateLine: '' });
  };
  return { supervisor, forked, lines, onCrash, nth, ready };
}

test('the first worker starts alone, and then the others; all have to serve', async () => {
  const { supervisor, forked, ready } = supervise(3);
  const started = supervisor.start();
  await turns();
  expect(forked).toHaveLength(1);
  await ready(0, 1);
  expect(supervisor.ready).toBe(2);
  await ready(2);
  expect(await started).toEqual({ url: 'url 0', stateLine: '' });
});

test('where the first cannot start, the start fails with its words, and no other is tried', async () => {
  const { supervisor, forked, nth, lines } = supervise(2);
  const started = supervisor.start();
  const first = await nth(0);
  first.onFailed('the port is taken');
  first.onExit(1);
  await expect(started).rejects.toThrow(/^the port is taken$/);
  expect(forked).toHaveLength(1);
  expect(lines).toEqual([]);
});

test('a worker that ends without a word is named by how it ended', async () => {
  const { supervisor, nth } = supervise(2);
  const started = supervisor.start();
  (await nth(0)).onExit('SIGKILL');
  await expect(started).rejects.toThrow('A worker ended (SIGKILL) before it served.');
});

test('a worker that ends is replaced, logged and counted', async () => {
  const { supervisor, ready, nth, lines, onCrash } = supervise(2);
  const started = supervisor.start();
  await ready(0, 1);
  await started;
  (await nth(1)).onExit('SIGSEGV');
  expect(supervisor.ready).toBe(1);
  await ready(2);
  expect(supervisor.ready).toBe(2);
  expect(onCrash).toHaveBeenCalledTimes(1);
  await expect
    .poll(() => lines)
    .toMatchObject([
      { level: 50, how: 'SIGSEGV', msg: 'a worker ended: another takes its place' },
      { level: 30, msg: 'another worker has taken its place' },
    ]);
});

test('a worker that is silent is not running, and is not replaced', async () => {
  const { supervisor, forked, ready, nth } = supervise(2);
  const started = supervisor.start();
  await ready(0, 1);
  await started;
  const silent = await nth(1);
  silent.isSilent = true;
  expect([supervisor.ready, supervisor.running]).toEqual([2, 1]);
  silent.isSilent = false;
  expect(supervisor.running).toBe(2);
  expect(forked).toHaveLength(2);
});

test('one that ends again and again waits ever longer, and does not spin', async () => {
  const { supervisor, forked, ready, nth } = supervise(2, 40);
  const started = supervisor.start();
  await ready(0, 1);
  await started;
  const forkedAt: number[] = [];
  for (let n = 1; n <= 4; n++) {
    (await nth(n)).onExit(1);
    await ready(n + 1);
    forkedAt.push(performance.now());
  }
  // At once, then after one unit, two, four: never earlier, however late the machine is.
  const waits = forkedAt.slice(1).map((at, n) => at - (forkedAt[n] ?? 0));
  for (const [n, wait] of waits.entries()) expect(wait).toBeGreaterThanOrEqual(40 * 2 ** n - 2);
  expect(forked).toHaveLength(6);
});

test('where none serves and none can start, it gives up with the words of the last one', async () => {
  const { supervisor, forked, ready, nth, lines } = supervise(1);
  const gaveUp = expect(supervisor.ended).rejects.toThrow(/^the manifest is gone$/);
  const started = supervisor.start();
  await ready(0);
  await started;
  (await nth(0)).onExit('SIGKILL');
  for (let n = 1; n <= 3; n++) {
    const worker = await nth(n);
    worker.onFailed('the manifest is gone');
    worker.onExit(1);
  }
  await gaveUp;
  await quietFor(20);
  expect(forked).toHaveLength(4);
  expect(lines.filter(({ msg }) => msg === 'a worker cannot start')).toHaveLength(3);
});

test('as long as one serves, it goes on trying', async () => {
  const { supervisor, ready, nth } = supervise(2);
  const started = supervisor.start();
  await ready(0);
  for (let n = 1; n <= 8; n++) (await nth(n)).onExit(1);
  await started;
  await ready(9);
  expect(supervisor.ready).toBe(2);
});

test('replaced one after the other: an old one ends only when its new one serves', async () => {
  const { supervisor, forked, ready, nth, lines } = supervise(2);
  const started = supervisor.start();
  await ready(0, 1);
  await started;
  const replaced = supervisor.replace();
  await nth(2);
  expect(forked.map(({ orders }) => orders)).toEqual([[], [], []]);
  await ready(2);
  await nth(3);
  expect(forked.map(({ orders }) => orders)).toEqual([['retire'], [], [], []]);
  // It ends as it was told, which is no crash.
  forked[0]?.onExit(0);
  await ready(3);
  await replaced;
  expect(forked.map(({ orders }) => orders)).toEqual([['retire'], ['retire'], [], []]);
  expect(supervisor.ready).toBe(2);
  expect(lines.map(({ msg }) => msg)).toEqual(['SIGUSR2: every worker is a new one']);
});

test('where a new one cannot start, those that serve go on', async () => {
  const { supervisor, forked, ready, nth, lines } = supervise(2);
  const started = supervisor.start();
  await ready(0, 1);
  await started;
  const replaced = supervisor.replace();
  const fresh = await nth(2);
  fresh.onFailed('LIMIT_DEPTH=x cannot be used');
  fresh.onExit(1);
  await replaced;
  expect(forked.map(({ orders }) => orders)).toEqual([[], [], []]);
  expect(supervisor.ready).toBe(2);
  expect(lines).toMatchObject([{ level: 50, reason: 'LIMIT_DEPTH=x cannot be used' }]);
});

test('one that ends while it is being replaced is not replaced twice', async () => {
  const { supervisor, forked, ready, nth } = supervise(1);
  const started = supervisor.start();
  await ready(0);
  await started;
  const replaced = supervisor.replace();
  await nth(1);
  forked[0]?.onExit('SIGKILL');
  await ready(1);
  await replaced;
  await quietFor(20);
  expect(forked).toHaveLength(2);
  expect(supervisor.ready).toBe(1);
});

test('it stops all of them, those that are about to start and those that end too, and says where one did not end in order', async () => {
  const { supervisor, forked, ready, nth } = supervise(1);
  const started = supervisor.start();
  await ready(0);
  await started;
  const replaced = supervisor.replace();
  await nth(1);
  const stopped = supervisor.stop();
  expect(forked.map(({ orders }) => orders)).toEqual([['stop'], ['stop']]);
  forked[1]?.onExit(0);
  forked[0]?.onExit('SIGKILL');
  await expect(stopped).rejects.toThrow('Workers ended with SIGKILL.');
  await replaced;
  await quietFor(20);
  expect(forked).toHaveLength(2);
});
