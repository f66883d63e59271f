import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createClient } from '@redis/client';
import { freePort } from './loopback.ts';
import { untilFound } from './waits.ts';

const program = (process.env.PATH ?? '')
  .split(delimiter)
  .concat('/usr/bin', '/usr/local/bin')
  .flatMap((folder) => [join(folder, 'redis-server'), join(folder, 'valkey-server')])
  .find((path) => existsSync(path));

/** Whether a Redis server is installed here. */
export const hasRedis = program !== undefined;

/** Starts a Redis server of the tests' own, on loopback; it keeps its port and its folder when it is started again. */
export async function startRedis() {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'bankql-redis-'));
  let child: ChildProcess | null = null;

  /** Sends one command over a connection of its own. */
  async function command(...words: string[]) {
    const client = createClient({
      socket: { port, host: '127.0.0.1', reconnectStrategy: false },
      RESP: 2,
    });
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
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--logfile', 'redis.log'];
    const started = spawn(program ?? 'redis-server', args, { stdio: 'ignore' });
    child = started;
    await untilFound(() => {
      if (started.exitCode !== null) throw new Error('redis-server ended');
      return command('PING').catch(() => undefined);
    });
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
