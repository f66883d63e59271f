import { progress } from '../../test/long/progress.ts';
import type { Bench } from '../bench.ts';
import { bankql, limit } from '../contenders.ts';
import { askOnce, fire } from '../load/fire.ts';
import { memoryOf } from '../load/kernel.ts';
import { requestsOf } from '../load/requests.ts';
import { checkedAnswer } from '../measure.ts';
import { q2 } from '../shapes.ts';

/** bankql's memory under load, in megabytes, and how evenly it answers. */
export interface MemoryResult {
  readonly seconds: number;
  /** Resident memory, each second. */
  readonly samples: readonly number[];
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** E: Q2 by 64 connections, for a minute. */
export async function measureMemory(bench: Bench): Promise<MemoryResult> {
  const shape = q2();
  const seconds = bench.options.memorySeconds;
  const right = await (async () => {
    await using reference = await bench.open(limit);
    const [request = Buffer.alloc(0)] = requestsOf(shape.query, reference.port, 1);
    return (await askOnce(reference.port, request)).body;
  })();
  await using running = await bench.open(bankql);
  const { port, process } = running;
  bench.bank.set({});
  const expected = await checkedAnswer(running, shape.query, shape, right);
  const load = { port, requests: requestsOf(shape.query, port), connections: 64, expected };
  // A process that has compiled nothing yet is late with the first burst, and says so with 503.
  await fire({ ...load, connections: 8, seconds: bench.options.seconds });
  const samples: number[] = [];
  const sampling = setInterval(() => {
    samples.push(memoryOf(process.pid).now);
    progress(`memory: ${samples.length} of ${seconds} s`);
  }, 1000);
  try {
    const { latencies } = await fire({ ...load, seconds });
    const at = (share: number) => latencies[Math.floor(share * (latencies.length - 1))] ?? Number.NaN;
    return { seconds, samples, p50Ms: at(0.5), p99Ms: at(0.99) };
  } finally {
    clearInterval(sampling);
  }
}
