import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { liveHeap } from '../../test/long/live-heap.ts';
import { freePort } from '../../test/support/loopback.ts';
import type { Bench } from '../bench.ts';
import { bankql, limit } from '../contenders.ts';
import { askOnce, fire, requestsOf } from '../load/fire.ts';
import { memoryOf } from '../load/kernel.ts';
import { checkedAnswer, quantile } from '../measure.ts';
import { q2, q3 } from '../shapes.ts';
import { firstWarmUpSeconds } from './interleave.ts';

/** bankql's resident memory in megabytes, and the spread of its latencies. */
export type MemoryResult = Awaited<ReturnType<typeof measureMemory>>;

const idleConnections = 10_000;
/** The number of connections that are opened at the same time. */
const openedAtOnce = 50;

/** The memory of connections that have had one request and are idle. */
async function measureIdle(bench: Bench): Promise<number> {
  const inspectPort = await freePort();
  await using running = await bench.open(bankql, { NODE_OPTIONS: `--inspect=127.0.0.1:${inspectPort}` });
  const { port, pid } = running;
  const held = async () => {
    // `liveHeap` is called because it collects the garbage.
    await liveHeap(inspectPort);
    return memoryOf(pid).now;
  };
  const requests = requestsOf(q3.query, port);
  const expected = await askOnce(port, q3.query);
  await fire({ port, requests, connections: openedAtOnce, seconds: 1, expected });
  const before = await held();
  const sockets: Socket[] = [];
  try {
    while (sockets.length < idleConnections) {
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

/** Section C: Q2 over 64 connections for a while, and 10,000 idle connections. */
export async function measureMemory(bench: Bench) {
  const shape = q2();
  const { seconds, memorySeconds } = bench.options;
  await using reference = await bench.open(limit);
  const limitAnswer = await askOnce(reference.port, shape.query);
  await using running = await bench.open(bankql);
  const { port, pid } = running;
  bench.bank.reset();
  const { expected } = await checkedAnswer(running, shape, limitAnswer);
  const load = { port, requests: requestsOf(shape.query, port), connections: 64, expected };
  // A process that has compiled nothing yet cannot serve the first burst, and answers 503.
  await fire({ ...load, connections: 8, seconds });
  await fire({ ...load, seconds: firstWarmUpSeconds });
  const samples: number[] = [];
  const sampling = setInterval(() => samples.push(memoryOf(pid).now), 1000);
  const { latencies } = await fire({ ...load, seconds: memorySeconds }).finally(() =>
    clearInterval(sampling),
  );
  return {
    // The memory during the load of Q2, from the first second to the last.
    firstMb: samples[0] ?? Number.NaN,
    lastMb: samples.at(-1) ?? Number.NaN,
    mostMb: Math.max(...samples),
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    // The memory of all idle connections together, after a garbage collection.
    idleMb: await measureIdle(bench),
  };
}
