import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createClient } from '@redis/client';
import type { RedisAddress } from '../../src/server/rate-limit/counter-address.ts';

const program = (process.env.PATH ?? '')
  .split(delimiter)
  .concat('/usr/bin', '/usr/local/bin')
  .flatMap((folder) => [join(folder, 'redis-server'), join(folder, 'valkey-server')])
  .find((path) => existsSync(path));

/** Whether a Redis server is installed here. */
export const hasRedis = program !== undefined;

/** A server that keeps what it is told, as payments need it. */
export const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''];

/** A Redis server of the tests' own, on loopback; it keeps its port and its folder when it is started again. */
export interface TestRedis extends AsyncDisposable {
  readonly address: RedisAddress;
  readonly url: string;
  /** Sends one command over a connection of its own. */
  command(...command: string[]): Promise<unknown>;
  /** Ends it with a signal, SIGKILL by default, and waits for the end. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Starts it again where it is not running, with other arguments where they are given. */
  restart(args?: readonly string[]): Promise<void>;
  /** Holds it up: it answers nothing, and its connections stay. */
  pause(): void;
  resume(): void;
  /** Ends it and deletes its folder. */
  stop(): Promise<void>;
}

/** Starts one, with the arguments of redis-server. */
export const startRedis = (args: readonly string[] = durable): Promise<TestRedis> =>
  startServer((port, folder, own) => {
    const common = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--logfile', 'redis.log'];
    return [...common, ...own];
  }, args);

export interface SentinelOptions {
  /** It asks for it, and shows it to the primary. */
  readonly password?: string;
  /** How long the primary may be silent until it is taken for down, in milliseconds. */
  readonly downAfterMs?: number;
}

/** Starts a Sentinel that watches a primary, and is alone to decide that it is down. */
export const startSentinel = (
  name: string,
  primary: TestRedis,
  { password, downAfterMs = 500 }: SentinelOptions = {},
): Promise<TestRedis> =>
  startServer((port, folder) => {
    const file = join(folder, 'sentinel.conf');
    const monitor = `sentinel monitor ${name} 127.0.0.1 ${primary.address.port} 1`;
    const times = `sentinel down-after-milliseconds ${name} ${downAfterMs}\nsentinel failover-timeout ${name} 3000`;
    const guard =
      password === undefined ? '' : `requirepass ${password}\nsentinel auth-pass ${name} ${password}\n`;
    const common = `port ${port}\nbind 127.0.0.1\ndir ${folder}\nlogfile redis.log`;
    // It writes what it finds out into the file.
    if (!existsSync(file)) writeFileSync(file, `${common}\n${monitor}\n${times}\n${guard}`);
    return [file, '--sentinel'];
  }, []);

async function startServer(
  argumentsOf: (port: number, folder: string, args: readonly string[]) => string[],
  args: readonly string[],
): Promise<TestRedis> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'bankql-redis-'));
  let child: ChildProcess | null = null;
  let latestArgs = args;

  async function restart(otherArgs = latestArgs): Promise<void> {
    latestArgs = otherArgs;
    const all = argumentsOf(port, folder, latestArgs);
    const started = spawn(program ?? 'redis-server', all, { stdio: 'ignore' });
    child = started;
    await answering(port, () => started.exitCode !== null);
  }

  async function kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const ending = child;
    child = null;
    if (ending === null || ending.exitCode !== null || ending.signalCode !== null) return;
    const ended = once(ending, 'exit');
    ending.kill(signal);
    await ended;
  }

  async function stop(): Promise<void> {
    await kill();
    rmSync(folder, { recursive: true, force: true });
  }

  await restart();
  return {
    address: { host: '127.0.0.1', port, tls: false, database: 0, username: undefined, password: undefined },
    url: `redis://127.0.0.1:${port}`,
    async command(...command) {
      const client = createClient({ socket: { port, host: '127.0.0.1' }, RESP: 2 });
      client.on('error', () => {});
      await client.connect();
      try {
        return await client.sendCommand(command);
      } finally {
        client.destroy();
      }
    },
    kill,
    restart,
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** A port of loopback that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** Waits until the server answers a PING, with whatever: one that asks for a password answers, too. */
async function answering(port: number, ended: () => boolean): Promise<void> {
  for (;;) {
    if (ended()) throw new Error('redis-server ended');
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
      const end = (text: string) => {
        socket.destroy();
        resolve(text);
      };
      socket.on('data', (data) => end(data.toString()));
      socket.on('error', () => end(''));
      socket.on('close', () => end(''));
    });
    if (answer !== '' && !answer.startsWith('-LOADING')) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
