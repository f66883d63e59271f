import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../test/support/loopback.ts';
import { type Contender, launch } from '../contenders.ts';
import { q3 } from '../shapes.ts';
import { askOnce } from './fire.ts';

/** A contender that listens. */
export type Running = Awaited<ReturnType<typeof start>>;

const groups = new Set<number>();

/** Ends every process that was started by `start`, with the processes that it started. */
export function endAll(): void {
  for (const pid of groups) endGroup(pid);
}

function endGroup(pid: number): void {
  groups.delete(pid);
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The process has already ended.
  }
}

/**
 * Starts a contender in its own folder and process group, so that all of its processes can be ended, and waits until it answers.
 * `core`: the only core that it uses; null for any.
 * Errors: an Error with the output of the process, if it ended or took longer than a minute.
 */
export async function start(
  contender: Contender,
  bankUrl: string,
  folder: string,
  core: number | null,
  environment: Readonly<Record<string, string>>,
) {
  const port = await freePort();
  const { command, environment: own } = launch(contender, bankUrl, port);
  const [file = '', ...args] = core === null ? command : ['taskset', '-c', String(core), ...command];
  const child = spawn(file, args, {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, NODE_ENV: 'production', ...own, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${file} cannot be started`);
  groups.add(pid);
  const ended = once(child, 'close');
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-4000);
    });
  const answers = () => askOnce(port, q3.query).then(Boolean, () => false);
  for (const latest = performance.now() + 60_000; !(await answers()); await delay(5))
    if (child.exitCode !== null || child.signalCode !== null || performance.now() > latest)
      throw new Error(`it ended, or is not ready after a minute: ${output}`);
  return {
    contender,
    port,
    pid,
    /** Ends the process as an operator does, with SIGTERM. */
    async terminate() {
      process.kill(pid, 'SIGTERM');
      await ended;
    },
    async [Symbol.asyncDispose]() {
      endGroup(pid);
      await ended;
    },
  };
}
