import type { Bench } from '../bench.ts';
import { bankql } from '../contenders.ts';

/** Times from the start of the process to the first answer, in milliseconds. */
export type StartResult = Awaited<ReturnType<typeof measureStart>>;

/** D: how long bankql takes to be there. */
export async function measureStart({ options, bank, open, folder, say }: Bench) {
  bank.reset();
  const startOnce = async (cache: string) => {
    const started = performance.now();
    await using running = await open(bankql, { NODE_COMPILE_CACHE: cache });
    const took = performance.now() - started;
    // Node writes its cache when the process ends by itself.
    await running.terminate();
    return took;
  };
  // `first`: nothing is in Node's compile cache. `again`: an earlier bankql has kept its compiled code there.
  const times = { first: [] as number[], again: [] as number[] };
  for (let index = 0; index < options.repeats; index++)
    times.first.push(await startOnce(`${folder}/first-${index}`));
  for (let index = 0; index < options.repeats; index++)
    times.again.push(await startOnce(`${folder}/first-0`));
  say(`  ${JSON.stringify(times)}`);
  return times;
}
