import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { progress } from '../../test/long/progress.ts';
import type { Bench } from '../bench.ts';
import { bankql } from '../contenders.ts';
import { callers, requestsOf, requestsWith } from '../load/requests.ts';
import { shapes, titleOf } from '../shapes.ts';
import { median, neverLate, openBurstsOf } from './bursts.ts';

/** Processor time per request in microseconds, of one worker and of two. */
export interface WorkersResult {
  readonly title: string;
  readonly one: number;
  readonly two: number;
}

const turns = 12;
/** How long each worker is asked before it is measured. Two of them share a core, and need twice the time. */
const warmUpSeconds = 3;

const payment = `mutation Pay($key: String!) { makeTransaction(input: {
  accountId: "alice-current", idempotencyKey: $key, value: { amount: "1.25", currency: "EUR" },
  to: { bankId: "BENCHCY2", accountId: "account-1" }
}) { status replayed } }`;

/** More than a worker executes in a second. */
const paymentsPerSecond = 10_000;

/** No two requests have the same key, and there are enough for so many seconds. */
function paymentsAt(port: number): (seconds: number) => readonly Buffer[] {
  let batch = 0;
  return (seconds) => {
    batch++;
    return requestsWith(
      (caller) => JSON.stringify({ query: payment, variables: { key: `bench-${port}-${batch}-${caller}` } }),
      port,
      Math.max(callers, Math.ceil(paymentsPerSecond * seconds)),
    );
  };
}

/**
 * H: what a second worker costs. The load needs one of the two cores, so that two workers cannot be kept busy beside it:
 * their throughput is derived from the processor time of a request.
 */
export async function measureWorkers(bench: Bench): Promise<WorkersResult[]> {
  const { bank, options } = bench;
  const folder = await mkdtemp(join(tmpdir(), 'bankql-workers-'));
  const open = (workers: number) =>
    bench.open(bankql, {
      ...neverLate,
      WORKERS: String(workers),
      STATE_URL: `sqlite:${join(folder, `${workers}.db`)}`,
    });
  bank.set({});
  try {
    await using one = await open(1);
    await using two = await open(2);
    const kinds = [
      ...shapes.map((shape) => ({
        title: titleOf(shape),
        at: (port: number) => {
          const requests = requestsOf(shape.query, port);
          return () => requests;
        },
      })),
      { title: 'a payment', at: paymentsAt },
    ];
    const results: WorkersResult[] = [];
    for (const { title, at } of kinds) {
      const bursts = [
        await openBurstsOf(one, at(one.port), warmUpSeconds),
        await openBurstsOf(two, at(two.port), 2 * warmUpSeconds),
      ] as const;
      const times: [number[], number[]] = [[], []];
      for (let turn = 0; turn < Math.min(turns, 2 * options.rounds); turn++) {
        progress(`${title}, workers, turn ${turn + 1}`);
        for (const which of turn % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const))
          times[which].push(await bursts[which]());
      }
      results.push({ title, one: median(times[0]), two: median(times[1]) });
    }
    return results;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
