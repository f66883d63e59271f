import { progress } from '../../test/long/progress.ts';
import type { Bench } from '../bench.ts';
import { bankql } from '../contenders.ts';
import { askOnce } from '../load/fire.ts';
import { requestsOf } from '../load/requests.ts';
import { q1 } from '../shapes.ts';

/** From the start of the process, in milliseconds, sorted. */
export interface StartResult {
  /** To the first answer of all, which asks the bank for nothing. */
  readonly firstAnswerMs: readonly number[];
  /** To the first answer with data of the bank. */
  readonly firstDataMs: readonly number[];
}

/** G: how long bankql takes to be there. */
export async function measureStart(bench: Bench): Promise<StartResult> {
  const firstAnswerMs: number[] = [];
  const firstDataMs: number[] = [];
  bench.bank.set({});
  for (let index = 0; index < bench.options.repeats; index++) {
    progress(`start ${index + 1} of ${bench.options.repeats}`);
    const started = performance.now();
    await using running = await bench.open(bankql);
    firstAnswerMs.push(performance.now() - started);
    const [request = Buffer.alloc(0)] = requestsOf(q1().query, running.port, 1);
    await askOnce(running.port, request);
    firstDataMs.push(performance.now() - started);
  }
  const sorted = (list: number[]) => list.sort((a, b) => a - b);
  return { firstAnswerMs: sorted(firstAnswerMs), firstDataMs: sorted(firstDataMs) };
}
