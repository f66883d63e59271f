import type { Bench } from '../bench.ts';
import { bankql } from '../contenders.ts';

/** Times from the start of the process to the first answer, in milliseconds. */
export type StartResult = Awaited<ReturnType<typeof measureStart>>;

/** Section D: the time that bankql takes to start. */
export async function measureStart({ options, bank, open, folder, say }: Bench) {
  bank.reset();
  const startOnce = async (cache: string) => {
    const started = performance.now();
    await using running = await open(bankql, { NODE_COMPILE_CACHE: cache });
    const took = performance.now() - started;
    // The process is ended by SIGTERM, because Node writes its compile cache only at a regular exit.
    await running.terminate();
    return took;
  };
  // `first`: Node's compile cache is empty. `again`: an earlier process of bankql has written its compiled code to it.
  const times = { first: [] as number[], again: [] as number[] };
  for (let index = 0; index < options.repeats; index++)
    times.first.push(await startOnce(`${folder}/first-${index}`));
  for (let index = 0; index < options.repeats; index++)
    times.again.push(await startOnce(`${folder}/first-0`));
  say(`  ${JSON.stringify(times)}`);
  return times;
}
