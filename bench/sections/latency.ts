import { progress } from '../../test/long/progress.ts';
import type { Bench } from '../bench.ts';
import { bankql, type Contender, limit } from '../contenders.ts';
import { askOnce } from '../load/fire.ts';
import { requestsOf } from '../load/requests.ts';
import { type Shape, shapes, titleOf } from '../shapes.ts';

/** What an operation takes beyond the calls that have to wait for each other, in milliseconds. */
export interface LatencyResult {
  readonly contender: Contender;
  readonly shape: Shape;
  readonly delayMs: number;
  /** Sorted. */
  readonly overheadsMs: readonly number[];
}

/** Requests of the first kind compile what they run through, and open the connections. */
const warmUps = 50;

/** F: one request at a time, over a bank that takes its time. */
export async function measureLatency(bench: Bench): Promise<LatencyResult[]> {
  const { bank, options } = bench;
  const results: LatencyResult[] = [];
  for (const contender of [limit, bankql]) {
    await using running = await bench.open(contender);
    for (const shape of shapes.filter(({ chain }) => chain > 0)) {
      const requests = requestsOf(shape.query, running.port);
      const ask = async (index: number) =>
        (await askOnce(running.port, requests[index % requests.length] ?? Buffer.alloc(0))).ms;
      bank.set({});
      for (let index = 0; index < warmUps; index++) await ask(index);
      for (const delayMs of options.delaysMs) {
        progress(`${titleOf(shape)}, ${contender.name}, a bank that takes ${delayMs} ms`);
        bank.set({ latencyMs: delayMs });
        const overheads: number[] = [];
        for (let index = 0; index < options.repeats * 2; index++)
          overheads.push((await ask(index)) - shape.chain * delayMs);
        results.push({ contender, shape, delayMs, overheadsMs: overheads.sort((a, b) => a - b) });
      }
    }
  }
  bank.set({});
  return results;
}
