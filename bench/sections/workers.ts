import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { initStore } from '../../src/payments/stores/open-store.ts';
import { progress } from '../../test/long/progress.ts';
import type { Bench } from '../bench.ts';
import { bankql } from '../contenders.ts';
import { callers, requestsOf, requestsWith } from '../load/requests.ts';
import { shapes, titleOf } from '../shapes.ts';
import { median, openBurstsOf } from './bursts.ts';

/** Processor time per request in microseconds, of two processes that share nothing and of two workers. */
export interface WorkersResult {
  readonly title: string;
  readonly processes: number;
  readonly workers: number;
}

const turns = 12;
/** Two on one core need twice the time to be warm. */
const warmUpSeconds = 6;
/** So long that the new connections of a burst, which the primary hands to its workers, do not count. */
const seconds = 1;

const payment = `mutation Pay($key: String!) { makeTransaction(input: {
  accountId: "alice-current", idempotencyKey: $key, value: { amount: "1.25", currency: "EUR" },
  to: { bankId: "BENCHCY2", accountId: "account-1" }
}) { replayed payment { status } } }`;

/** More than a worker executes in a second. */
const paymentsPerSecond = 10_000;

/** No two requests have the same key, and there are enough for so many seconds. */
function paymentsFor(port: number, seconds: number): readonly Buffer[] {
  const batch = randomUUID();
  return requestsWith(
    (caller) => JSON.stringify({ query: payment, variables: { key: `${batch}-${caller}` } }),
    port,
    Math.max(callers, Math.ceil(paymentsPerSecond * seconds)),
  );
}

/**
 * H: what two workers cost each other. The load needs one of the two cores, so that two workers cannot have one each:
 * they share the other one, as do two processes that share nothing, which would serve twice as much with two cores.
 */
export async function measureWorkers(bench: Bench): Promise<WorkersResult[]> {
  const { bank, options } = bench;
  const folder = await mkdtemp(join(tmpdir(), 'bankql-workers-'));
  const open = async (name: string, workers: number) => {
    const url = `sqlite:${join(folder, `${name}.db`)}`;
    await initStore(url);
    return bench.open(bankql, { WORKERS: String(workers), STATE_URL: url });
  };
  bank.set({});
  try {
    await using first = await open('first', 1);
    await using second = await open('second', 1);
    await using both = await open('both', 2);
    const kinds = [
      ...shapes.map((shape) => {
        const requests = new Map(
          [first, second, both].map(({ port }) => [port, requestsOf(shape.query, port)]),
        );
        return { title: titleOf(shape), requestsFor: (port: number) => requests.get(port) ?? [] };
      }),
      { title: 'a payment', requestsFor: paymentsFor },
    ];
    const results: WorkersResult[] = [];
    for (const { title, requestsFor } of kinds) {
      const group = { requestsFor, warmUpSeconds, seconds };
      const processes = await openBurstsOf({ ...group, servers: [first, second] });
      const workers = await openBurstsOf({ ...group, servers: [both] });
      const times = { processes: [] as number[], workers: [] as number[] };
      for (let turn = 0; turn < Math.min(turns, 2 * options.rounds); turn++) {
        progress(`${title}, workers, turn ${turn + 1}`);
        // Each is first as often as the other.
        if (turn % 2 === 0) times.processes.push(await processes());
        times.workers.push(await workers());
        if (turn % 2 === 1) times.processes.push(await processes());
      }
      results.push({ title, processes: median(times.processes), workers: median(times.workers) });
    }
    return results;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
