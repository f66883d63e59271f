import { type Simulation, type SimulationOptions, simulate } from './simulate.ts';

/**
 * The shortest schedule found with which a seed breaks the same invariant: as few departures from the usual course as possible.
 * Takes away half of them, then quarters and so on, down to each alone, as long as what remains still breaks it.
 */
export async function shrink(
  seed: number,
  found: Simulation,
  options: SimulationOptions,
): Promise<Simulation> {
  const broken = new Set(found.violations.map(({ invariant }) => invariant));
  let shortest = found;
  for (let size = Math.ceil(shortest.departures.length / 2); size >= 1; ) {
    let isShorter = false;
    for (let from = 0; from < shortest.departures.length; ) {
      const { departures } = shortest;
      const allowed = new Set(departures.filter((_, n) => n < from || n >= from + size));
      const run = await simulate(seed, { ...options, allowed });
      const isBroken = run.violations.some(({ invariant }) => broken.has(invariant));
      if (isBroken && run.departures.length < departures.length) {
        shortest = run;
        isShorter = true;
      } else from += size;
    }
    if (size === 1 && !isShorter) break;
    size = Math.max(1, Math.floor(size / 2));
  }
  // Once more, for its words.
  return simulate(seed, { ...options, allowed: new Set(shortest.departures), keepsLines: true });
}
