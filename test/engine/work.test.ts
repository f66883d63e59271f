import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type DataLoader from 'dataloader';
import { beforeAll, expect, test, vi } from 'vitest';
import { prepareAnswers } from '../../bench/bank/answers.ts';
import { bankId } from '../../bench/bank/records.ts';
import { type Shape, shapes } from '../../bench/shapes.ts';
import { createBankClient } from '../../src/bank/client.ts';
import { createPaymentService } from '../../src/payments/service.ts';
import { createMemoryStore } from '../../src/payments/stores/memory-store.ts';
import { createBankqlYoga } from '../../src/server/yoga.ts';
import { slices } from '../../src/slices.ts';
import { bankDefaults } from '../support/bankql.ts';
import { startRecordingBank } from '../support/recording-bank.ts';

/**
 * What one request takes, counted: it is the same on every machine, and stands in bench/README.md. A change that
 * takes more fails here, however fast the machine is; one that takes less has to say so there.
 */
interface Work {
  readonly calls: number;
  readonly batches: number;
  readonly promises: number;
}

const counted = vi.hoisted(() => ({ batches: 0, reads: 0, promises: 0 }));

vi.mock('dataloader', async (importOriginal) => {
  const { default: Original } = await importOriginal<{ default: typeof DataLoader }>();
  return {
    default: class<K, V, C> extends Original<K, V, C> {
      constructor(read: DataLoader.BatchLoadFn<K, V>, options?: DataLoader.Options<K, V, C>) {
        super((keys) => {
          counted.batches++;
          counted.reads += keys.length;
          return read(keys);
        }, options);
      }
    },
  };
});

const page = join(import.meta.dirname, '../../bench/README.md');
const command = 'UPDATE_WORK=1 npx vitest run test/engine/work.test.ts';
const isUpdate = process.env.UPDATE_WORK === '1';
const [begin, end] = ['<!-- work:begin -->', '<!-- work:end -->'];
/** How much more than is measured the page may say. */
const mostSlack = 1.05;

/** Of the request that is measured: the bank lives in this process too, and makes promises of its own. */
const measured = new AsyncLocalStorage<true>();
const promises = createHook({
  init(_id, type) {
    if (type === 'PROMISE' && measured.getStore()) counted.promises++;
  },
});

/**
 * Which answer comes first is up to the machine, and decides which reads make up a batch. Here they come one by one, in
 * the order of their paths: each when all that was asked for has arrived, and the one before has been taken in.
 */
function oneByOne() {
  const waiting: { readonly path: string; readonly answer: () => void }[] = [];
  let arrived = 0;
  let isOut = false;
  const look = () => {
    if (isOut || waiting.length === 0 || arrived < counted.reads) return;
    isOut = true;
    waiting
      .sort((one, other) => (one.path < other.path ? -1 : 1))
      .shift()
      ?.answer();
  };
  counted.reads = 0;
  return {
    turn: (path: string) =>
      new Promise<void>((answer) => {
        arrived++;
        waiting.push({ path, answer });
        look();
      }),
    taken: () =>
      void setImmediate(() => {
        isOut = false;
        look();
      }),
  };
}

async function workOf({ query }: Shape): Promise<Work[]> {
  await using bank = await startRecordingBank();
  const answers = prepareAnswers();
  const { turn, taken } = oneByOne();
  bank.otherwise(async ({ path }) => {
    await turn(path);
    const [, body = ''] = answers.get(path)?.whole.toString().split('\r\n\r\n') ?? [];
    return { status: body === '' ? 404 : 200, body };
  });
  const client = createBankClient({
    ...bankDefaults,
    baseUrl: bank.url,
    retryShare: 0.1,
    breakerThreshold: 0.5,
    onCall: taken,
  });
  const engine = createBankqlYoga({
    bank: client,
    payments: createPaymentService({
      bank: client,
      store: await createMemoryStore({ retentionMs: 1000 }),
      leaseMs: 1000,
      audit: () => {},
    }),
    defaults: { bankId, viewId: 'owner' },
    limits: { timeoutMs: 20_000, restCalls: 50 },
    answerLimits: { values: 100_000, bytes: 16 * 1024 * 1024 },
    documentCacheBytes: 64 * 1024 * 1024,
    documentLimits: { tokens: 2000, depth: 15, aliases: 30, rootFields: 20, directives: 20, fields: 500 },
    introspection: true,
    unexpected: (error) => {
      throw error;
    },
  });
  const ask = () =>
    engine.execute(
      { query },
      {
        credentials: { subscriptionKey: 'k', authProviderName: 'p', authId: 'a' },
        signal: () => new AbortController().signal,
      },
    );
  const works: Work[] = [];
  // What is prepared, connected and kept by the first requests is there for the others.
  for (let round = -5; round < 5; round++) {
    const before = { ...counted, calls: bank.calls.length };
    const { data, errors } = await measured.run(true, ask);
    expect(errors).toBeUndefined();
    expect(data).not.toBeNull();
    if (round >= 0)
      works.push({
        calls: bank.calls.length - before.calls,
        batches: counted.batches - before.batches,
        promises: counted.promises - before.promises,
      });
  }
  await client.close();
  return works;
}

const titleOf = ({ name }: Shape) => name.toUpperCase();
const rowOf = (shape: Shape, { calls, batches, promises }: Work) =>
  `| ${titleOf(shape)} | ${calls} | ${batches} | ${promises} |`;

function documented(shape: Shape): Work | undefined {
  const table = readFileSync(page, 'utf8').split(begin)[1]?.split(end)[0] ?? '';
  const row = table.split('\n').find((line) => line.startsWith(`| ${titleOf(shape)} |`));
  if (row === undefined) return undefined;
  const [calls = 0, batches = 0, promises = 0] = row.split('|').slice(2).map(Number);
  return { calls, batches, promises };
}

function write(rows: readonly string[]): void {
  const table = [
    begin,
    '',
    '| query | REST calls | loader batches | promises |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
    end,
  ].join('\n');
  const text = readFileSync(page, 'utf8');
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (after === undefined) throw new Error(`${page} has no ${begin} … ${end}`);
  writeFileSync(page, `${before}${table}${after}`);
}

const works = new Map<Shape, readonly Work[]>();
// An operation that waits for time makes more promises.
beforeAll(() => void vi.spyOn(slices, 'hasTime', 'get').mockReturnValue(true));
beforeAll(async () => {
  promises.enable();
  for (const shape of shapes) works.set(shape, await workOf(shape));
  promises.disable();
  if (isUpdate)
    write(
      shapes.flatMap((shape) => {
        const [work] = works.get(shape) ?? [];
        return work === undefined ? [] : [rowOf(shape, work)];
      }),
    );
});

test.each(shapes.map((shape) => [titleOf(shape), shape] as const))(
  '%s takes what bench/README.md says, each time',
  (title, shape) => {
    const [work, ...others] = works.get(shape) ?? [];
    if (work === undefined) throw new Error('nothing was measured');
    for (const other of others) expect(other).toEqual(work);
    expect(work.calls).toBe(shape.calls);

    const said = documented(shape);
    if (said === undefined) throw new Error(`bench/README.md has no row for ${title}: run ${command}`);
    for (const what of ['calls', 'batches', 'promises'] as const) {
      const [is, may] = [work[what], said[what]];
      expect(
        is,
        `${title} takes ${is} ${what}, and bench/README.md says ${may}: take less, or, where that is what the change is worth, run ${command}`,
      ).toBeLessThanOrEqual(may);
      expect(
        may,
        `${title} takes ${is} ${what} only, and bench/README.md says ${may}: run ${command}`,
      ).toBeLessThanOrEqual(is * mostSlack);
    }
  },
);
