import { readdirSync } from 'node:fs';
import { memoryOf } from '../../../bench/load/kernel.ts';

const watchMs = 50;

/**
 * Watches a process' resident memory, and ends it as the kernel would once it was more than so many megabytes. What was
 * resident between two looks is not missed, since the kernel notes the most. It is stricter than a container's limit, from
 * which the kernel takes back the pages of Node's program before it ends a process.
 */
export function watchMemory(pid: number, megabytes: number) {
  let resident = memoryOf(pid);
  let isKilled = false;
  const timer = setInterval(() => {
    const seen = orElse(() => memoryOf(pid), resident);
    // Of one that has just ended there is no number.
    if (seen.most > 0) resident = seen;
    if (isKilled || resident.most <= megabytes) return;
    isKilled = true;
    process.kill(pid, 'SIGKILL');
  }, watchMs);
  return {
    /** In megabytes: now, and at most since the start. */
    resident: () => resident,
    isKilled: () => isKilled,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** How many files and sockets a process has open; none, where it has ended. */
export const descriptorsOf = (pid: number): number => orElse(() => readdirSync(`/proc/${pid}/fd`), []).length;

/** What V8's heap has in use, in megabytes, garbage that was not collected yet among it. */
export async function usedHeap(metricsUrl: string): Promise<number> {
  const text = await (await fetch(metricsUrl)).text();
  return Number(/^bankql_nodejs_heap_size_used_bytes (\S+)$/m.exec(text)?.[1]) / 1024 ** 2;
}

/** A process that has ended has no more entries in /proc. */
function orElse<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
