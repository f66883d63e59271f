import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

/** What this process keeps after its garbage is collected, in megabytes; buffers outside the heap are counted too. */
export async function keptMegabytes(): Promise<number> {
  // What a WeakRef has told of is kept to the end of its turn, and what is finalised may let go of more.
  for (let round = 0; round < 3; round++) {
    await turn();
    collect();
  }
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1024 ** 2;
}
