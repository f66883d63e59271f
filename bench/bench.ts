import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../test/support/loopback.ts';
import { type Bank, openBank } from './bank/stub.ts';
import { type Contender, launch } from './contenders.ts';
import { askOnce } from './load/fire.ts';
import { start, untilReady } from './load/process.ts';
import { cores, type Running } from './measure.ts';
import type { Options } from './options.ts';
import { q3 } from './shapes.ts';

/** What the sections measure with. */
export interface Bench extends AsyncDisposable {
  readonly options: Options;
  readonly bank: Bank;
  /** For this run's files. */
  readonly folder: string;
  /** Whether contenders have a core to themselves. */
  readonly isPinned: boolean;
  /** Starts a contender and waits until it answers. Errors: what it printed, where it does not. */
  open(contender: Contender, environment?: Readonly<Record<string, string>>): Promise<Running>;
  /** A line about what was measured. */
  say(text: string): void;
}

/** Puts this process, and what it starts from here on, on the load's core; false where that cannot be done. */
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
export async function openBench(options: Options): Promise<Bench> {
  const isPinned = pinLoad();
  const folder = await mkdtemp(join(tmpdir(), 'bankql-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const bank = await openBank();
  return {
    options,
    bank,
    folder,
    isPinned,
    say: (text) => void process.stderr.write(`${text}\n`),
    async open(contender, environment = {}) {
      const port = await freePort();
      const { command, environment: variables } = launch(contender, bank.url, port);
      const own = await mkdtemp(join(folder, `${contender.name}-`));
      const core = isPinned ? cores.contender : null;
      const process = start(command, { ...variables, ...environment }, own, core);
      await untilReady(process, () => askOnce(port, q3.query));
      return { contender, port, process, [Symbol.asyncDispose]: () => process[Symbol.asyncDispose]() };
    },
    [Symbol.asyncDispose]: () => bank[Symbol.asyncDispose](),
  };
}
