import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

export interface RunningProcess extends AsyncDisposable {
  readonly pid: number;
  /** What it printed last, for whoever has to say why it ended. */
  readonly output: () => string;
  readonly hasEnded: () => boolean;
  /** Ends it as an operator does. */
  terminate(): Promise<void>;
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

/** Starts a process in a folder and in a group of its own, so that all of it can be ended. `core`: the only one that it uses. */
export function start(
  command: readonly string[],
  environment: Readonly<Record<string, string>>,
  folder: string,
  core: number | null,
): RunningProcess {
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
      output = (output + text).slice(-4000);
    });
  }
  return {
    pid,
    output: () => output,
    async terminate() {
      process.kill(pid, 'SIGTERM');
      await ended;
    },
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    async [Symbol.asyncDispose]() {
      endGroup(pid);
      await ended;
    },
  };
}

/** Waits until `ask` succeeds. Errors: what the process printed, where it ended or took longer than a minute. */
export async function untilReady(running: RunningProcess, ask: () => Promise<unknown>) {
  for (const latest = performance.now() + 60_000; ; await delay(5)) {
    const isReady = await ask().then(
      () => true,
      () => false,
    );
    if (isReady) return;
    if (running.hasEnded() || performance.now() > latest)
      throw new Error(`it ended, or is not ready after a minute: ${running.output()}`);
  }
}
