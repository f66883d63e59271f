import { setTimeout as delay } from 'node:timers/promises';
import { progress } from '../../test/long/progress.ts';
import type { Bench } from '../bench.ts';
import { bankql } from '../contenders.ts';
import { askOnce } from '../load/fire.ts';
import { requestsOf } from '../load/requests.ts';
import { q1 } from '../shapes.ts';

/** From the start of the process, in milliseconds, sorted. */
export interface StartTimes {
  /** To the first answer of all, which asks the bank for nothing. */
  readonly answer: readonly number[];
  /** To the first answer with data of the bank. */
  readonly data: readonly number[];
}

export interface StartResult {
  /** The first start of an installation: nothing is in Node's compile cache. */
  readonly first: StartTimes;
  /** A start after an earlier bankql has ended as operators end it, and kept its compiled code. */
  readonly again: StartTimes;
}

async function startOnce(bench: Bench, environment: Readonly<Record<string, string>>) {
  const started = performance.now();
  await using running = await bench.open(bankql, environment);
  const answer = performance.now() - started;
  const [request = Buffer.alloc(0)] = requestsOf(q1().query, running.port, 1);
  await askOnce(running.port, request);
  const data = performance.now() - started;
  // Node writes its cache where the process ends by itself.
  process.kill(running.process.pid, 'SIGTERM');
  while (!running.process.hasEnded()) await delay(10);
  return { answer, data };
}

/** D: how long bankql takes to be there. */
export async function measureStart(bench: Bench): Promise<StartResult> {
  const { repeats } = bench.options;
  bench.bank.reset();
  async function repeat(title: string, environment: Readonly<Record<string, string>>): Promise<StartTimes> {
    const times: Awaited<ReturnType<typeof startOnce>>[] = [];
    for (let index = 0; index < repeats; index++) {
      progress(`${title} start ${index + 1} of ${repeats}`);
      times.push(await startOnce(bench, environment));
    }
    const sorted = (list: number[]) => list.sort((a, b) => a - b);
    return { answer: sorted(times.map(({ answer }) => answer)), data: sorted(times.map(({ data }) => data)) };
  }
  const first = await repeat('first', { NODE_DISABLE_COMPILE_CACHE: '1' });
  await startOnce(bench, {});
  return { first, again: await repeat('later', {}) };
}
