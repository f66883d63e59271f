import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { StoreUnavailable } from '../../../../src/payments/store.ts';
import { openStore } from '../../../../src/payments/stores/open-store.ts';
import { inTimeMs } from '../../../support/in-time.ts';
import { testFolder } from '../../../support/test-folder.ts';
import { lateBy, until, untilFound } from '../../../support/waits.ts';
import { openSqlite } from '../opened-stores.ts';
import { done, pending, retentionMs, start, stored } from '../store-conformance.ts';

const root = testFolder();
const children: ChildProcess[] = [];
let files = 0;

const freshPath = () => join(root, `state-${++files}.db`);

const open = (path: string, timeoutMs = 60_000) => openSqlite(path, { timeoutMs });

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** A process that opens the store, says "ready", begins at each line it reads, and says what it got. */
const program = join(root, 'child.mjs');
writeFileSync(
  program,
  `import { createInterface } from 'node:readline';
  import { createSqliteStore } from ${JSON.stringify(new URL('../../../../src/payments/stores/sqlite/sqlite-store.ts', import.meta.url).href)};
  const [path, record, count] = process.argv.slice(2, 5).map((text) => JSON.parse(text));
  const store = await createSqliteStore({ path, retentionMs: ${retentionMs}, timeoutMs: 60_000 });
  process.stdout.write('ready\\n');
  for await (const line of createInterface({ input: process.stdin })) {
    if (line === 'close') break;
    const begins = Array.from({ length: count }, (_, n) =>
      store.begin({ ...record, trackId: process.pid + '-' + n }, record.createdAt));
    const stored = (await Promise.all(begins)).filter((answer) => answer === null);
    process.stdout.write(stored.length + '\\n');
  }
  if (process.argv[5] === 'leave') process.stdin.destroy();
  else await store.close();`,
);

interface Child {
  readonly process: ChildProcess;
  readonly say: (line: string) => void;
  readonly hear: () => Promise<string>;
}

function run(path: string, count: number, end = 'close'): Child {
  const args = [program, JSON.stringify(path), JSON.stringify(pending()), String(count), end];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  const lines: string[] = [];
  child.stdout.setEncoding('utf8').on('data', (text: string) => lines.push(...text.trim().split('\n')));
  return {
    process: child,
    say: (line) => child.stdin.write(`${line}\n`),
    hear: () => untilFound(() => lines.shift()),
  };
}

describe('one file for several', () => {
  test('two threads that begin one payment 200 times store it once', async () => {
    const path = freshPath();
    const stores = await Promise.all([open(path), open(path)]);
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) =>
        stores[n % 2 === 0 ? 0 : 1].begin(pending({ trackId: `attempt-${n}` }), start),
      ),
    );
    const stored = answers.filter((answer) => answer === null);
    expect(stored).toHaveLength(1);
    expect(new Set(answers.flatMap((answer) => answer?.trackId ?? [])).size).toBe(1);
  });

  test('processes that begin one payment 200 times store it once, from the making of the file on', async () => {
    const path = freshPath();
    const processes = Array.from({ length: 4 }, () => run(path, 50));
    expect(await Promise.all(processes.map((child) => child.hear()))).toEqual(Array(4).fill('ready'));
    for (const child of processes) child.say('go');
    const stored = await Promise.all(processes.map((child) => child.hear()));
    expect(stored.map(Number).reduce((sum, n) => sum + n)).toBe(1);
  });

  test('what a process stored is there after a SIGKILL', async () => {
    const path = freshPath();
    const child = run(path, 1);
    await child.hear();
    child.say('go');
    expect(await child.hear()).toBe('1');
    child.process.kill('SIGKILL');
    await once(child.process, 'exit');
    const store = await open(path);
    expect(await store.begin(pending(), start)).toMatchObject({ trackId: `${child.process.pid}-0` });
  });

  test('a store that nobody closed does not keep its process alive', async () => {
    const child = run(freshPath(), 1, 'leave');
    await child.hear();
    child.say('close');
    const [code] = await once(child.process, 'exit');
    expect(code).toBe(0);
  });
});

describe("another process's lock", () => {
  function lock(path: string): () => void {
    const other = new DatabaseSync(path);
    other.exec('BEGIN EXCLUSIVE');
    return () => other.close();
  }

  test('makes the store unavailable in time, while the event loop goes on, and for no longer', async () => {
    const path = freshPath();
    const store = await open(path, 500);
    const release = lock(path);
    let ticks = 0;
    const ticking = setInterval(() => ticks++, 5);
    const began = performance.now();
    const refused = await store.begin(pending(), start).catch((error: unknown) => error);
    const took = performance.now() - began;
    clearInterval(ticking);
    expect(refused).toBeInstanceOf(StoreUnavailable);
    expect(String(refused)).toMatch(
      /state-\d+\.db is not available: (another process has kept it locked|no answer)/,
    );
    expect(took).toBeLessThan(inTimeMs);
    // 80 would be all of them; frozen, there would be one or two.
    expect(ticks).toBeGreaterThan(5);
    release();
    expect(await store.begin(pending(), start)).toBeNull();
  });

  test('delays a start for longer than a payment', async () => {
    const path = freshPath();
    const release = lock(path);
    const born = once(process, 'worker');
    const opening = open(path, 1);
    opening.catch(() => {});
    const [thread]: Worker[] = await born;
    await once(thread as Worker, 'online');
    // Loading its code takes the thread some hundred milliseconds; then it tries.
    await lateBy(700);
    release();
    expect((await opening).loss).toBeNull();
  });

  test('delays a start that has opened the file as well', async () => {
    const path = freshPath();
    let release = () => {};
    const born = once(process, 'worker');
    const opening = open(path, 500);
    const [thread]: Worker[] = await born;
    const post = vi.spyOn(thread as Worker, 'postMessage');
    post.mockImplementation((message) => {
      // The process that has made the file writes its metadata now.
      if (message.method === 'writeMetadata') release = lock(path);
      Worker.prototype.postMessage.call(thread, message);
    });
    await until(() => post.mock.calls.some(([message]) => message.method === 'writeMetadata'));
    await lateBy(700);
    release();
    expect((await opening).loss).toBeNull();
  });

  test('makes payments wait for seconds at most', async () => {
    const path = freshPath();
    const store = await openStore(`sqlite:${path}`, { retentionMs });
    onTestFinished(() => store.close());
    const release = lock(path);
    await expect(store.begin(pending(), start)).rejects.toThrow(
      /another process has kept it locked for 3.2 s|no answer in 4000 ms/,
    );
    release();
  });

  test('delays a payment that it lets go of in time', async () => {
    const path = freshPath();
    const store = await open(path);
    const release = lock(path);
    const begun = store.begin(pending(), start);
    await lateBy(100);
    release();
    expect(await begun).toBeNull();
  });

  test('never lets a payment be stored that its caller gave up', async () => {
    const path = freshPath();
    const store = await open(path, 500);
    const release = lock(path);
    // The worker tries the first until 400 ms, and is at the second when both are given up at 500 ms.
    const begins = Array.from({ length: 5 }, (_, n) => store.begin(pending({ id: `p-${n}` }), start));
    const settled = await Promise.allSettled(begins);
    release();
    expect(settled.map(({ status }) => status)).toEqual(Array(5).fill('rejected'));
    expect(await store.search({ states: ['PENDING'] }, start)).toEqual([]);
  });
});

describe('a call that fails', () => {
  test('is taken back where it was stored after all', async () => {
    const store = await open(freshPath(), 500);
    vi.useFakeTimers({ toFake: ['setInterval', 'setImmediate'] });
    const begun = store.begin(pending(), start);
    // What the store does before it asks the worker takes microtasks only.
    for (let turn = 0; turn < 50; turn++) await null;
    // The worker stores it and answers; the timeout passes before the answer is read.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
    vi.advanceTimersByTime(551);
    vi.useRealTimers();
    await expect(begun).rejects.toThrow('no answer in 500 ms');
    await expect.poll(async () => await store.find(pending().id, start)).toBeNull();
    expect(await store.begin(pending({ trackId: 'attempt-2' }), start)).toBeNull();
  });

  test('because its thread died is followed by one with a new thread', async () => {
    const born = once(process, 'worker');
    const store = await open(freshPath());
    const [thread]: Worker[] = await born;
    await store.begin(pending(), start);
    const calls = Array.from({ length: 20 }, (_, n) => store.begin(pending({ id: `p-${n}` }), start));
    await thread?.terminate();
    const results = await Promise.allSettled(calls);
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(StoreUnavailable);
    }
    expect(await store.begin(pending({ trackId: 'attempt-2' }), start)).toEqual(stored());
    expect(await store.end({ id: pending().id, trackId: 'attempt-1', outcome: done, at: start })).toBe(true);
  });

  test('is one that came after close; what came before is finished', async () => {
    const path = freshPath();
    const store = await open(path);
    const begins = Array.from({ length: 50 }, (_, n) => store.begin(pending({ id: `p-${n}` }), start));
    const closed = store.close();
    await expect(store.find('p-0', start)).rejects.toThrow('it is closed');
    expect(await Promise.all(begins)).toEqual(Array(50).fill(null));
    await closed;
    expect(await (await open(path)).search({ states: ['PENDING'] }, start)).toHaveLength(50);
  });

  test('is one too many for a thread that does not answer', async () => {
    const store = await open(freshPath());
    const calls = Array.from({ length: 1_100 }, () => store.find('a', start));
    const results = await Promise.allSettled(calls);
    const refused = results.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(100);
  });
});
