import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { chmod, chown, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { type PostgresAddress, parsePostgresUrl } from '../../src/payments/store/postgres/address.ts';
import { freePort } from './loopback.ts';

/** Debian installs each version in its own folder, which is not in the PATH. */
const debian = '/usr/lib/postgresql';
const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
const programs = [
  ...versions.map((version) => join(debian, version, 'bin')),
  ...(process.env.PATH ?? '').split(delimiter),
].find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')));

const isRoot = process.getuid?.() === 0;
/** PostgreSQL does not run as root; its package creates a user for it. */
const account: { uid?: number; gid?: number } | null = isRoot ? serverAccount() : {};

/** Whether a PostgreSQL server is installed here. */
export const hasPostgres = programs !== undefined && account !== null;

function serverAccount(): { uid: number; gid: number } | null {
  const id = (what: string) =>
    Number(execFileSync('id', [what, 'postgres'], { stdio: ['ignore', 'pipe', 'ignore'] }));
  try {
    return { uid: id('-u'), gid: id('-g') };
  } catch {
    return null;
  }
}

/** The settings of a fast server that loses data in a power failure: use `STATE_ALLOW_VOLATILE=1`, or see `durable`. */
export const volatile = { fsync: 'off', full_page_writes: 'off' };
/** The settings of a server that keeps all data, as payments require. */
export const durable = { fsync: 'on' };

type Settings = Readonly<Record<string, string>>;

/** A PostgreSQL server for tests, on loopback. It keeps its port and its folder when it is started again. */
export interface TestPostgres extends AsyncDisposable {
  readonly port: number;
  /** The address for the role `bankql`, in its database of the same name. */
  readonly url: string;
  readonly address: PostgresAddress;
  readonly socketFolder: string;
  /** Runs a statement in bankql's database as superuser, over a separate connection. */
  query(text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /** Deletes all tables of bankql. */
  empty(): Promise<void>;
  /** Deletes all payments, and records that an operator accepted their loss. */
  forgetPayments(): Promise<void>;
  /** From now on, commits wait for a standby that does not exist, until `confirmNothing`. Resolves when a commit has waited. */
  waitForStandby(): Promise<void>;
  confirmNothing(): Promise<void>;
  /** Ends all connections of bankql, as an operator does. */
  cut(): Promise<void>;
  /** Ends the server with a SIGKILL to all of its processes. */
  kill(): Promise<void>;
  /** Writes a file into the data folder, readable only by the server. */
  write(name: string, text: string): Promise<void>;
  /** Starts the server with these additional settings. A server that runs is killed first. */
  restart(settings?: Settings): Promise<void>;
  /** Suspends the server: it answers nothing, and its connections stay open. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Replaces the data of a stopped server by that of a primary, makes it a standby, and starts it. */
  follow(primary: TestPostgres): Promise<void>;
  /** The SQL that makes bankql's tables with all their rows. */
  dump(): Promise<string>;
  /** Advances the server by 2.1 billion transactions, so that it warns at each further one. */
  ageTransactionIds(): Promise<void>;
  /** Copies the data. The returned function replaces the data by the copy. */
  copy(): Promise<(how: Restoration) => Promise<void>>;
  /** Stops the server and deletes its folder. */
  stop(): Promise<void>;
}

/**
 * How old data comes back: as an older snapshot of the volume, with the same timeline, or as a restored backup, with a new
 * one.
 */
export type Restoration = 'an older snapshot' | 'a restored backup';

const run = (program: string, args: readonly string[]) =>
  promisify(execFile)(join(programs ?? '', program), args, { ...account, cwd: tmpdir() });

/** Starts a server with an empty database. */
export async function startPostgres(settings: Settings = volatile): Promise<TestPostgres> {
  const server = await createServer(settings);
  const options = ['--no-sync', '--auth=trust', '--username=postgres', '--encoding=UTF8', '--locale=C'];
  await run('initdb', [...options, '--no-instructions', '--pgdata', server.data]);
  await server.restart();
  await server.ask('postgres', 'CREATE ROLE bankql LOGIN');
  await server.ask('postgres', 'CREATE DATABASE bankql OWNER bankql');
  return server;
}

/** Starts a standby of a primary. It confirms commits if the primary asks for this (synchronous_standby_names). */
export async function startStandby(
  primary: TestPostgres,
  settings: Settings = volatile,
): Promise<TestPostgres> {
  const server = await createServer(settings);
  await server.follow(primary);
  return server;
}

const own = async (path: string) => {
  if (account?.uid !== undefined && account.gid !== undefined) await chown(path, account.uid, account.gid);
};

async function createServer(first: Settings) {
  let port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'bankql-postgres-'));
  await own(folder);
  const data = join(folder, 'data');
  let hasStarted = false;
  let child: ChildProcess | null = null;
  let settings: Settings = first;

  async function ask(database: string, text: string, values: readonly unknown[] = []) {
    // Connects through the folder's socket, where no other server answers.
    const client = new Client({ host: folder, port, user: 'postgres', database });
    client.on('error', () => {});
    await client.connect();
    try {
      const { rows } = await client.query(text, [...values]);
      return rows as Record<string, unknown>[];
    } finally {
      await client.end();
    }
  }

  async function restart(further: Settings = {}): Promise<void> {
    // Waits for the end of the old server: otherwise two servers would use one folder, and the old one would
    // keep the port for a while.
    await kill();
    settings = { ...settings, ...further };
    const all = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: folder,
      shared_buffers: '16MB',
      max_connections: '60',
      log_min_messages: 'fatal',
      // With this setting, a standby notices at once to which server it may connect.
      wal_retrieve_retry_interval: '100ms',
      // A standby that is slow on a busy machine still finds all that it has to follow.
      wal_keep_size: '256MB',
      ...settings,
    };
    const given = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const launch = () =>
      spawn(join(programs ?? '', 'postgres'), ['-D', data, '-p', String(port), ...given], {
        ...account,
        cwd: folder,
        stdio: 'ignore',
      });
    child = launch();
    while (!(await ask('postgres', 'SELECT 1').then(Boolean, () => false))) {
      await delay(20);
      if (child.exitCode === null) continue;
      // A killed server may hold its memory for a moment longer, and another program may have got its port in the meantime.
      if (!hasStarted) port = await freePort();
      child = launch();
    }
    hasStarted = true;
  }

  /** The processes of the server: the first one and its children, which do not share a process group. */
  async function processes(): Promise<number[]> {
    const pid = child?.pid;
    if (pid === undefined) return [];
    const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=']);
    const lines = stdout.split('\n').map((line) => line.trim().split(/\s+/).map(Number));
    return [pid, ...lines.flatMap(([one, parent]) => (parent === pid && one !== undefined ? [one] : []))];
  }

  /** Sends a signal to all processes of the server. Shape: their ids. */
  async function signal(name: NodeJS.Signals): Promise<readonly number[]> {
    const pids = await processes();
    for (const pid of pids) {
      try {
        process.kill(pid, name);
      } catch {
        // The process has ended in the meantime.
      }
    }
    return pids;
  }

  /**
   * Waits until processes have ended: their connections are then closed. A process that has ended, but for which nobody has
   * waited yet, is a zombie (Z).
   */
  async function untilEnded(pids: readonly number[]): Promise<void> {
    for (;;) {
      const listed = await promisify(execFile)('ps', ['-o', 'stat=', '-p', pids.join()]).catch(() => null);
      const states = listed?.stdout.trim().split(/\s+/) ?? [];
      if (states.every((state) => state === '' || state.startsWith('Z'))) return;
      await delay(5);
    }
  }

  async function kill(): Promise<void> {
    const ending = child;
    if (ending === null) return;
    // While the first process is stopped, it cannot start others.
    ending.kill('SIGSTOP');
    const ended = ending.exitCode === null && ending.signalCode === null ? once(ending, 'exit') : null;
    const pids = await signal('SIGKILL');
    await ended;
    await untilEnded(pids);
    child = null;
  }

  async function stop(): Promise<void> {
    await kill();
    rmSync(folder, { recursive: true, force: true });
  }

  return {
    data,
    ask,
    socketFolder: folder,
    get port() {
      return port;
    },
    get url() {
      return `postgres://bankql@127.0.0.1:${port}/bankql`;
    },
    get address() {
      const address = parsePostgresUrl(this.url);
      if (address === null) throw new Error(this.url);
      return address;
    },
    query: (text: string, values?: readonly unknown[]) => ask('bankql', text, values),
    async waitForStandby() {
      await ask('postgres', "ALTER SYSTEM SET synchronous_standby_names = '*'");
      await ask('postgres', 'SELECT pg_reload_conf()');
      // The processes of the server learn of the setting one by one.
      for (let waited = false; !waited; ) {
        let isDone = false;
        const commit = ask('bankql', "SELECT pg_logical_emit_message(true, 'probe', '')").then(() => {
          isDone = true;
        });
        const cancel =
          "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%emit_message%'";
        while (!isDone) waited = (await ask('postgres', cancel)).length > 0 || waited;
        await commit;
      }
    },
    async confirmNothing() {
      await ask('postgres', 'ALTER SYSTEM RESET synchronous_standby_names');
      await ask('postgres', 'SELECT pg_reload_conf()');
    },
    forgetPayments: async () =>
      void (await ask(
        'bankql',
        `DELETE FROM bankql.payment;
          UPDATE bankql.store SET loss = NULL, loss_accepted_at = date_trunc('milliseconds', clock_timestamp())`,
      )),
    empty: async () => void (await ask('bankql', 'DROP SCHEMA IF EXISTS bankql CASCADE')),
    cut: async () =>
      void (await ask(
        'bankql',
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'bankql'",
      )),
    async write(name: string, text: string) {
      const file = join(data, name);
      await writeFile(file, text);
      await chmod(file, 0o600);
      await own(file);
    },
    kill,
    restart,
    async pause() {
      // The first process is stopped too, so that it starts no other while they are listed.
      child?.kill('SIGSTOP');
      await signal('SIGSTOP');
    },
    resume: async () => void (await signal('SIGCONT')),
    async follow(primary: TestPostgres) {
      rmSync(data, { recursive: true, force: true });
      const from = `host=127.0.0.1 port=${primary.port} user=postgres application_name=standby`;
      const options = ['-R', '-X', 'stream', '--checkpoint=fast', '--no-sync', '-d', from];
      await run('pg_basebackup', ['-D', data, ...options]);
      await restart();
    },
    async dump() {
      const from = ['-h', folder, '-p', String(port), '-U', 'postgres', '-d', 'bankql', '--schema=bankql'];
      const { stdout } = await run('pg_dump', [...from, '--inserts', '--no-owner', '--no-privileges']);
      // Comments are removed, because they contain the versions of programs, and commands of psql are removed.
      return `${stdout
        .split('\n')
        .filter((line) => !/^(--|\\|$)/.test(line))
        .join('\n')}\n`;
    },
    async ageTransactionIds() {
      const [oldest] = await ask(
        'postgres',
        'SELECT min(datfrozenxid::text::bigint)::text AS id FROM pg_database',
      );
      // PostgreSQL warns during the last 40 million transactions before its limit, which is 2^31 above the oldest one.
      const id = Number(oldest?.id) + 2 ** 31 - 30_000_000;
      // pg_resetwal requires an orderly shutdown.
      child?.kill('SIGINT');
      if (child !== null) await once(child, 'exit');
      child = null;
      await run('pg_resetwal', ['--next-transaction-id', String(id), '-D', data]);
      // The file with the state of this transaction.
      const file = Math.floor(id / (8192 * 4 * 32))
        .toString(16)
        .toUpperCase()
        .padStart(4, '0');
      await this.write(join('pg_xact', file), '\0'.repeat(8192 * 32));
      await restart();
    },
    async copy() {
      const copied = join(folder, 'copy');
      const options = ['-X', 'stream', '--checkpoint=fast', '--no-sync', '-h', folder, '-p', String(port)];
      await run('pg_basebackup', ['-D', copied, '-U', 'postgres', ...options]);
      return async (how: Restoration) => {
        await kill();
        rmSync(data, { recursive: true, force: true });
        await promisify(execFile)('cp', ['-a', copied, data]);
        if (how === 'an older snapshot') return restart();
        await this.write('recovery.signal', '');
        await restart({
          restore_command: 'false',
          recovery_target: 'immediate',
          recovery_target_action: 'promote',
        });
        while ((await ask('postgres', 'SELECT pg_is_in_recovery() AS waits'))[0]?.waits === true)
          await delay(20);
      };
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
