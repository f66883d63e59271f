import { readdirSync, readFileSync } from 'node:fs';

/** Reads the kernel's figures about processes and cores. */

/** A process and all processes that it started, whatever their names and groups. */
function treeOf(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).map((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8'),
  );
  return [pid, ...(children.join(' ').match(/\d+/g) ?? []).map(Number).flatMap(treeOf)];
}

/** The length of a tick of /proc, in microseconds: there are 100 a second on every Linux on which Node runs. */
const tickUs = 10_000;

/** The processor time of all threads of a process and of the processes that it started, in microseconds. */
export function cpuOf(pid: number): number {
  let ticks = 0;
  for (const each of treeOf(pid)) {
    // The name in brackets may contain spaces; utime and stime are the 12th and 13th field after it.
    const fields = readFileSync(`/proc/${each}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks * tickUs;
}

/** The resident memory of a process and its children in megabytes: now, and the maximum since the start. */
export function memoryOf(pid: number): { readonly now: number; readonly most: number } {
  const texts = treeOf(pid).map((each) => readFileSync(`/proc/${each}/status`, 'utf8'));
  const sum = (line: RegExp) => texts.reduce((sum, text) => sum + Number(line.exec(text)?.[1]) / 1024, 0);
  return { now: sum(/VmRSS:\s+(\d+)/), most: sum(/VmHWM:\s+(\d+)/) };
}

/**
 * The processor time of all processes on a core since the machine started, in microseconds. It includes time that a host has
 * taken away, but not the time of interrupts.
 */
export function cpuOfCore(core: number): number {
  const line = new RegExp(`^cpu${core} (.*)$`, 'm').exec(readFileSync('/proc/stat', 'utf8'))?.[1] ?? '';
  const [user = 0, nice = 0, system = 0, _idle, _iowait, _irq, _softirq, stolen = 0] = line
    .split(' ')
    .map(Number);
  return (user + nice + system + stolen) * tickUs;
}
