import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { progress } from '../../test/long/progress.ts';
import { freePort } from '../../test/support/loopback.ts';
import type { Bench } from '../bench.ts';
import { bankql, limit } from '../contenders.ts';
import { askOnce, fire } from '../load/fire.ts';
import { memoryOf } from '../load/kernel.ts';
import { requestsOf } from '../load/requests.ts';
import { checkedAnswer, type Running } from '../measure.ts';
import { q2, q3 } from '../shapes.ts';
import { type Inspector, inspect, inspectable } from './inspector.ts';
import { firstWarmUpSeconds } from './interleave.ts';

/** bankql's memory under load, in megabytes, and how evenly it answers. */
export interface MemoryResult {
  readonly seconds: number;
  /** Resident memory, each second. */
  readonly samples: readonly number[];
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Of the garbage collector: pauses per second, their share of the time, and the longest. */
  readonly pausesPerSecond: number;
  readonly pausedShare: number;
  readonly longestPauseMs: number;
  /** What connections that have answered one request and wait for another hold together, after a garbage collection. */
  readonly idleConnections: number;
  readonly idleMb: number;
}

const idleConnections = 10_000;
/** Connections that are opened at the same time. */
const openedAtOnce = 50;

async function measureIdle({ port, process }: Running, { post }: Inspector): Promise<number> {
  const held = async () => {
    await post('HeapProfiler.collectGarbage');
    return memoryOf(process.pid).now;
  };
  const requests = requestsOf(q3.query, port);
  const { body: expected } = await askOnce(port, requests[0] ?? Buffer.alloc(0));
  await fire({ port, requests, connections: openedAtOnce, seconds: 1, expected });
  const before = await held();
  const sockets: Socket[] = [];
  try {
    while (sockets.length < idleConnections) {
      progress(`idle connections: ${sockets.length} of ${idleConnections}`);
      const opened = Array.from({ length: openedAtOnce }, () => connect(port, '127.0.0.1'));
      sockets.push(...opened);
      await Promise.all(
        opened.map(async (socket, index) => {
          socket.write(requests[index] ?? Buffer.alloc(0));
          const [answer] = await once(socket, 'data');
          if (!String(answer).startsWith('HTTP/1.1 200')) throw new Error(`answered ${answer}`);
        }),
      );
    }
    if (sockets.some(({ readyState }) => readyState !== 'open')) throw new Error('connections were closed');
    return (await held()) - before;
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

const watchPauses = `globalThis.pauses = [];
new (process.getBuiltinModule('node:perf_hooks').PerformanceObserver)((list) => {
  for (const { duration } of list.getEntries()) pauses.push(duration);
}).observe({ entryTypes: ['gc'] });`;

/** E: Q2 by 64 connections for a while, and 10,000 connections that do nothing. */
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
  await fire({ ...load, seconds: firstWarmUpSeconds });
  const samples: number[] = [];
  const sampling = setInterval(() => {
    samples.push(memoryOf(process.pid).now);
    progress(`memory: ${samples.length} of ${seconds} s`);
  }, 1000);
  try {
    const { latencies } = await fire({ ...load, seconds });
    const at = (share: number) => latencies[Math.floor(share * (latencies.length - 1))] ?? Number.NaN;
    clearInterval(sampling);
    return {
      seconds,
      samples,
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      ...(await measurePauses(bench, expected)),
      idleConnections,
      idleMb: await (async () => {
        await using fresh = await bench.open(bankql, { ...inspectable(await freePort()) });
        await using inspector = await inspect(fresh);
        return await measureIdle(fresh, inspector);
      })(),
    };
  } finally {
    clearInterval(sampling);
  }
}

/** In a process of its own: the inspector takes memory. */
async function measurePauses(bench: Bench, expected: Buffer) {
  await using running = await bench.open(bankql, inspectable(await freePort()));
  await using inspector = await inspect(running);
  const { port } = running;
  const load = { port, requests: requestsOf(q2().query, port), connections: 64, expected };
  await fire({ ...load, connections: 8, seconds: bench.options.seconds });
  await inspector.post('Runtime.evaluate', { expression: watchPauses });
  const { seconds } = await fire({ ...load, seconds: bench.options.memorySeconds / 3 });
  const { result } = await inspector.post<{ result: { value: readonly number[] } }>('Runtime.evaluate', {
    expression: 'pauses',
    returnByValue: true,
  });
  const pauses = result.value;
  return {
    pausesPerSecond: pauses.length / seconds,
    pausedShare: pauses.reduce((sum, each) => sum + each, 0) / 1000 / seconds,
    longestPauseMs: Math.max(0, ...pauses),
  };
}
