import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { freePort } from './loopback.ts';

const program = (process.env.PATH ?? '')
  .split(delimiter)
  .concat('/usr/bin', '/usr/local/bin')
  .flatMap((folder) => [join(folder, 'redis-server'), join(folder, 'valkey-server')])
  .find((path) => existsSync(path));

/** Whether a Redis server is installed here. */
export const hasRedis = program !== undefined;

/** Starts a Redis server of the tests' own, on loopback; it keeps its port and its folder when it is started again. */
export async function startRedis() {
  let port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'bankql-redis-'));
  const path = join(folder, 'redis.sock');
  let hasStarted = false;
  let child: ChildProcess | null = null;

  /** Sends one command over a connection of its own. */
  async function command(...words: string[]) {
    // Through its folder, in which no other server answers.
    const client = createClient({ socket: { path, reconnectStrategy: false }, RESP: 2 });
    client.on('error', () => {});
    await client.connect();
    try {
      return await client.sendCommand(words);
    } finally {
      client.destroy();
    }
  }

  /** Starts it again, and waits until it answers. */
  async function restart(): Promise<void> {
    const launch = () => {
      const listen = ['--port', String(port), '--bind', '127.0.0.1', '--unixsocket', path];
      const args = [...listen, '--dir', folder, '--logfile', 'redis.log'];
      return spawn(program ?? 'redis-server', args, { stdio: 'ignore' });
    };
    child = launch();
    while (!(await command('PING').then(Boolean, () => false))) {
      await delay(20);
      if (child.exitCode === null) continue;
      // Others may have been given its port meanwhile.
      if (hasStarted) throw new Error('redis-server ended');
      port = await freePort();
      child = launch();
    }
    hasStarted = true;
  }

  async function kill(): Promise<void> {
    const ending = child;
    child = null;
    if (ending === null || ending.exitCode !== null || ending.signalCode !== null) return;
    const ended = once(ending, 'exit');
    ending.kill('SIGKILL');
    await ended;
  }

  await restart();
  return {
    url: `redis://127.0.0.1:${port}`,
    command,
    kill,
    restart,
    /** Holds it up: it answers nothing, and its connections stay. */
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    /** Ends it and deletes its folder. */
    async stop(): Promise<void> {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
