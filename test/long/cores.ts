import { execFileSync } from 'node:child_process';

/**
 * Pins two processes to different cores, so that neither takes the other's time. Returns a description of what it did; empty
 * without taskset, or with one core.
 */
export function pinApart(first: number, second: number): string {
  let cores: string[];
  try {
    cores = coresOf(second);
    const [one, other] = cores;
    if (one === undefined || other === undefined) return 'not pinned: there is one core';
    for (const [pid, core] of [
      [first, one],
      [second, other],
    ])
      execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', String(core), String(pid)]);
    return `core ${one} and core ${other}`;
  } catch (error) {
    return `not pinned: ${error instanceof Error ? error.message.split('\n')[0] : error}`;
  }
}

/** The cores that a process may use, from a line such as "pid 7's current affinity list: 0-2,5". */
function coresOf(pid: number): string[] {
  const line = execFileSync('taskset', ['--cpu-list', '--pid', String(pid)], { encoding: 'utf8' });
  return (line.split(': ')[1] ?? '')
    .trim()
    .split(',')
    .flatMap((range) => {
      const [from = 0, to = from] = range.split('-').map(Number);
      return Array.from({ length: to - from + 1 }, (_, index) => String(from + index));
    });
}
