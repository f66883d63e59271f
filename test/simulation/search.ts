import { Worker } from 'node:worker_threads';
import { hash } from './choices.ts';

/** What was found in a range of seeds. */
export interface Found {
  /** How many seeds were run. */
  readonly seeds: number;
  /** The first one that breaks an invariant; null where none does. */
  readonly seed: number | null;
  /** Of all runs, in the order of their seeds. */
  readonly traceHash: string;
  readonly counts: Readonly<Record<string, number>>;
}

/** A range of seeds for a worker, and the name of the variant. */
export interface Search {
  readonly variant: string;
  readonly from: number;
  readonly until: number;
}

/** Seeds that a worker runs at a time. */
const batch = 10;

/** Threads, each with a world of its own. */
export function startWorkers(count: number): readonly Worker[] {
  return Array.from({ length: count }, () => new Worker(new URL('./search-worker.ts', import.meta.url)));
}

/** Runs seeds until one breaks an invariant; `onSeeds` is told how many were run so far. */
export async function search(
  workers: readonly Worker[],
  variant: string,
  from: number,
  count: number,
  onSeeds: (run: number) => void = () => {},
): Promise<Found> {
  const results = new Map<number, Found>();
  let next = from;
  let end = from + count;
  const work = async (worker: Worker) => {
    while (next < end) {
      const range = { variant, from: next, until: Math.min(next + batch, from + count) };
      next = range.until;
      const found = await ask(worker, range);
      results.set(range.from, found);
      onSeeds(Math.min(results.size * batch, count));
      // Those before it still have to be run: theirs may be the first.
      if (found.seed !== null) end = Math.min(end, found.seed);
    }
  };
  await Promise.all(workers.map(work));
  return [...results]
    .sort(([a], [b]) => a - b)
    .map(([, found]) => found)
    .reduce(merge);
}

function ask(worker: Worker, range: Search): Promise<Found> {
  const { promise, resolve, reject } = Promise.withResolvers<Found>();
  worker.once('message', resolve);
  worker.once('error', reject);
  worker.postMessage(range);
  return promise.finally(() => worker.off('message', resolve).off('error', reject));
}

function merge(one: Found, other: Found): Found {
  if (one.seed !== null) return one;
  const counts = { ...one.counts };
  for (const [what, times] of Object.entries(other.counts)) counts[what] = (counts[what] ?? 0) + times;
  return {
    seeds: one.seeds + other.seeds,
    seed: other.seed,
    traceHash: hash(one.traceHash + other.traceHash).toString(16),
    counts,
  };
}
