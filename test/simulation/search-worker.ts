import { parentPort } from 'node:worker_threads';
import { hash } from './choices.ts';
import type { Found, Search } from './search.ts';
import { simulate } from './simulate.ts';
import { variantOf } from './variants.ts';

/** Runs a range of seeds up to the first that breaks an invariant. */
async function run({ variant, from, until }: Search): Promise<Found> {
  const counts: Record<string, number> = {};
  const count = (what: string, times = 1) => {
    counts[what] = (counts[what] ?? 0) + times;
  };
  let traceHash = '';
  for (let seed = from; seed < until; seed++) {
    const simulation = await simulate(seed, { variant: variantOf(variant) });
    const { violations, requests, told, departures } = simulation;
    traceHash = hash(traceHash + simulation.traceHash).toString(16);
    count('requests that the bank received', requests);
    count('departures from the usual course', departures.length);
    for (const code of told) count(`told: ${code}`);
    if (violations.length > 0) return { seeds: seed - from + 1, seed, traceHash, counts };
  }
  return { seeds: until - from, seed: null, traceHash, counts };
}

parentPort?.on('message', async (range: Search) => {
  parentPort?.postMessage(await run(range));
});
