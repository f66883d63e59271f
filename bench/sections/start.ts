import type { Bench } from '../bench.ts';
import { bankql } from '../contenders.ts';

/** Times from the start of the process to the first answer, in milliseconds. */
export interface StartResult {
  /** The first start of an installation: nothing is in Node's compile cache. */
  readonly first: readonly number[];
  /** A start after an earlier bankql has ended as operators end it, and kept its compiled code. */
  readonly again: readonly number[];
}

/** D: how long bankql takes to be there. */
export async function measureStart({ options, bank, open, folder, say }: Bench): Promise<StartResult> {
  bank.reset();
  const startOnce = async (cache: string) => {
    const started = performance.now();
    await using running = await open(bankql, { NODE_COMPILE_CACHE: cache });
    const took = performance.now() - started;
    // Node writes its cache when the process ends by itself.
    await running.terminate();
    return took;
  };
  const times = { first: [] as number[], again: [] as number[] };
  for (let index = 0; index < options.repeats; index++)
    times.first.push(await startOnce(`${folder}/first-${index}`));
  for (let index = 0; index < options.repeats; index++)
    times.again.push(await startOnce(`${folder}/first-0`));
  say(`  ${JSON.stringify(times)}`);
  return times;
}
