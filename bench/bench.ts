import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBank } from './bank/stub.ts';
import type { Contender } from './contenders.ts';
import { start } from './load/process.ts';
import { cores } from './measure.ts';
import type { Options } from './options.ts';

/** The tools that the sections use. */
export type Bench = Awaited<ReturnType<typeof openBench>>;

/** Pins this process, and the processes that it starts later, to the core of the load; false if this is impossible. */
function pinLoad(): boolean {
  if (availableParallelism() < 2) return false;
  try {
    execFileSync('taskset', ['-acp', String(cores.load), String(process.pid)], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Starts the bank. */
export async function openBench(options: Options) {
  const isPinned = pinLoad();
  const folder = await mkdtemp(join(tmpdir(), 'bankql-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const bank = await openBank();
  return {
    options,
    bank,
    /** The folder for the files of this run. */
    folder,
    /** Whether contenders have a core to themselves. */
    isPinned,
    /** Prints a line about a measurement. */
    say: (text: string) => void process.stderr.write(`${text}\n`),
    /** Starts a contender and waits until it answers. Errors: an Error with its output. */
    async open(contender: Contender, environment: Readonly<Record<string, string>> = {}) {
      const own = await mkdtemp(join(folder, `${contender.name}-`));
      return start(contender, bank.url, own, isPinned ? cores.contender : null, environment);
    },
    [Symbol.asyncDispose]: () => bank[Symbol.asyncDispose](),
  };
}
