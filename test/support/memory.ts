import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

/** The memory that this process uses after a garbage collection, in megabytes, including buffers outside the heap. */
export async function keptMegabytes(): Promise<number> {
  // An object that a WeakRef returned is kept until the end of the iteration, and finalizers may release more.
  for (let round = 0; round < 3; round++) {
    await turn();
    collect();
  }
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1024 ** 2;
}
