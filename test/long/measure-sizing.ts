import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { cpuOf, memoryOf } from '../../bench/load/kernel.ts';
import { q1, q2, q3, q4, type Shape, titleOf } from '../../bench/shapes.ts';
import { startLoad } from './memory/load.ts';
import { startTarget } from './memory/target.ts';

/**
 * `npm run bench:sizing [-- --seconds N]`: prints the figures from which docs/operate.md computes sizes, as tables: memory at
 * rest, for documents and for requests in progress, processor time for Q1 to Q4, and the cores for a thousand requests a second
 * and more. Other work on the machine affects processor time least, but does affect it.
 */
const { values } = parseArgs({ options: { seconds: { type: 'string', default: '10' } } });
const seconds = Number(values.seconds);
const say = (line: string) => process.stdout.write(`${line}\n`);
if (!(seconds > 0)) {
  say('Give --seconds as a number above 0.');
  process.exit(2);
}

/** The number of documents, which all fit into the document cache. */
const texts = 300;
const underWay = 200;
/** The delay of the bank, in milliseconds, while requests in progress are counted. */
const latencyMs = 3000;
/** The planned load of a core. */
const busy = 0.6;
const shapes = [q1(), q2(), q3, q4];

const untilSent = async (load: ReturnType<typeof startLoad>, count: number) => {
  while (load.sent() < count) await delay(20);
  await load.stop();
};
const startFew = (url: string, shape: Shape, uniquePercent = 0) =>
  startLoad({ url, connections: 8, uniquePercent, shape });

/** Measures memory: resident and heap memory at rest, and the additional heap memory for documents and requests, in megabytes. */
async function measureMemory() {
  // Requests that wait for the bank must not be refused, or wait for their turn.
  await using target = await startTarget({
    BANK_CONNECTIONS: String(14 * underWay),
    BANK_TIMEOUT_MS: '20000',
  });
  const { url, pid } = target;
  await delay(2000);
  const resident = memoryOf(pid).now;
  const heap = await target.liveHeap();
  // Compilation and connections do not count as memory of documents.
  await untilSent(startFew(url, q4), 500);
  const before = await target.liveHeap();
  await untilSent(startFew(url, q4, 100), texts);
  const withDocuments = await target.liveHeap();

  const load = () => startLoad({ url, connections: underWay, uniquePercent: 0 });
  // The connections to the bank stay open.
  await untilSent(load(), 2 * underWay);
  const idle = await target.liveHeap();
  target.bank.reset(latencyMs);
  const waiting = load();
  await delay(latencyMs / 2);
  const busyHeap = await target.liveHeap();
  await waiting.stop();
  return {
    resident,
    heap,
    perThousandDocuments: ((withDocuments - before) / texts) * 1000,
    perHundredRequests: ((busyHeap - idle) / underWay) * 100,
  };
}

/** Measures the processor time of a request in milliseconds, including the kernel's time for its connections. */
async function measureProcessor(): Promise<ReadonlyMap<Shape, number>> {
  await using target = await startTarget();
  const { url, pid } = target;
  const milliseconds = new Map<Shape, number>();
  for (const shape of shapes) {
    const load = startFew(url, shape);
    await delay((seconds / 2) * 1000);
    const answered = load.outcomes()['200'] ?? 0;
    const cpu = cpuOf(pid);
    await delay(seconds * 1000);
    milliseconds.set(shape, (cpuOf(pid) - cpu) / 1000 / ((load.outcomes()['200'] ?? 0) - answered));
    await load.stop();
    const others = Object.keys(load.outcomes()).filter((outcome) => outcome !== '200');
    if (others.length > 0) throw new Error(`${titleOf(shape)} is answered ${others.join(', ')}`);
  }
  return milliseconds;
}

const memory = await measureMemory();
say(`| memory | MB |
| --- | ---: |
| at rest, resident | ${memory.resident.toFixed(0)} |
| of that kept by the heap | ${memory.heap.toFixed(0)} |
| 1,000 documents such as Q4 in the cache | ${memory.perThousandDocuments.toFixed(0)} |
| 100 requests such as Q4 under way | ${memory.perHundredRequests.toFixed(1)} |
`);
const rates = [1000, 10_000, 100_000];
const cores = (rate: number, milliseconds: number) => {
  const needed = (rate * milliseconds) / 1000 / busy;
  return needed < 10 ? needed.toFixed(1) : needed.toFixed(0);
};
say(`| query | processor time, ms | cores at ${rates.map((rate) => rate.toLocaleString('en')).join(' | at ')} requests a second |
| --- | ---: | ---: | ---: | ---: |`);
for (const [shape, milliseconds] of await measureProcessor())
  say(
    `| ${titleOf(shape)} | ${milliseconds.toFixed(2)} | ${rates.map((rate) => cores(rate, milliseconds)).join(' | ')} |`,
  );
