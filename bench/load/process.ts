import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

export interface ProcessOptions {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Where it runs. */
  readonly folder: string;
  /** The core that it has to itself; null where cores cannot be chosen. */
  readonly core: number | null;
}

export interface RunningProcess extends AsyncDisposable {
  readonly pid: number;
  /** What it printed last, for whoever has to say why it ended. */
  readonly output: () => string;
  readonly hasEnded: () => boolean;
}

const groups = new Set<number>();

/** Ends every process that was started here, with the processes that it started. */
export function endAll(): void {
  for (const pid of groups) endGroup(pid);
}

function endGroup(pid: number): void {
  groups.delete(pid);
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

const longestOutput = 4000;

/** Starts a process in a group of its own, so that all of it can be ended. */
export function start({ command, environment, folder, core }: ProcessOptions): RunningProcess {
  const [file = '', ...args] = core === null ? command : ['taskset', '-c', String(core), ...command];
  const child: ChildProcess = spawn(file, args, {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, NODE_ENV: 'production', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${file} cannot be started`);
  groups.add(pid);
  const ended = once(child, 'close');
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8');
    stream?.on('data', (text: string) => {
      output = (output + text).slice(-longestOutput);
    });
  }
  return {
    pid,
    output: () => output,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    async [Symbol.asyncDispose]() {
      endGroup(pid);
      await ended;
    },
  };
}

/** Waits until `isReady` answers true. Errors: what the process printed, where it ended or took too long. */
export async function untilReady(running: RunningProcess, isReady: () => Promise<boolean>, seconds = 60) {
  const latest = performance.now() + seconds * 1000;
  while (!(await isReady().catch(() => false))) {
    if (running.hasEnded()) throw new Error(`it ended: ${running.output()}`);
    if (performance.now() > latest) throw new Error(`not ready after ${seconds} s: ${running.output()}`);
    await delay(5);
  }
}
