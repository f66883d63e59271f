import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from '../../support/loopback.ts';
import { progress } from '../progress.ts';

const folders = (process.env.PATH ?? '').split(delimiter).concat('/usr/sbin', '/sbin');
const programs = ['debootstrap', 'buildah', 'podman', 'runc'];

/** Why no image can be built here; null if it can be built. */
export function whyNone(): string | null {
  const missing = programs.filter((name) => !folders.some((folder) => existsSync(join(folder, name))));
  if (missing.length > 0) return `${missing.join(', ')} not installed here (all are packages of Debian)`;
  return process.getuid?.() === 0 ? null : 'only root can make an image';
}

/**
 * Runs a program to its end, and shows how long it has been running.
 * Errors: an Error with the end of its output.
 */
export async function run(activity: string, program: string, args: readonly string[]): Promise<string> {
  const startedAt = performance.now();
  const timer = setInterval(
    () => progress(`${activity}: ${((performance.now() - startedAt) / 1000).toFixed(0)} s`),
    1000,
  );
  try {
    const { stdout } = await promisify(execFile)(program, args, { maxBuffer: 2 ** 26 });
    return stdout.trim();
  } catch (error) {
    const printed = ['stdout', 'stderr'].map((name) => String(Reflect.get(Object(error), name) ?? ''));
    throw new Error(`${activity} failed: ${printed.join('\n').slice(-4000)}`);
  } finally {
    clearInterval(timer);
  }
}

/** A running container. It uses the network of this machine, so its ports are this machine's. */
export interface Container {
  readonly url: string;
  readonly metricsUrl: string;
  readonly output: () => string;
  /** The output of a command in the container. */
  exec(...command: string[]): Promise<string>;
  /**
   * Runs the image's HEALTHCHECK in the container.
   * Errors: an Error if it fails.
   */
  checkHealth(): Promise<string>;
  signal(name: string): Promise<string>;
  /** Its exit code. */
  readonly ended: Promise<number | null>;
  wasOutOfMemory(): Promise<boolean>;
}

export interface Engine extends AsyncDisposable {
  readonly folder: string;
  buildah(activity: string, ...args: string[]): Promise<string>;
  podman(...args: string[]): Promise<string>;
  /** The output of a program of the image, without bankql. */
  print(image: string, program: string, ...args: string[]): Promise<string>;
  /**
   * Starts the image as ops/ does: read-only root, no capabilities, a memory limit.
   * Errors: an Error if it is not up in 20 s.
   */
  start(image: string, megabytes: number, environment: Readonly<Record<string, string>>): Promise<Container>;
}

/** podman would raise these limits, which needs a capability that root may lack. */
const limits = ['--ulimit=nofile=4096:4096', '--ulimit=nproc=4096:4096'];
const hardening = [
  '--read-only',
  '--read-only-tmpfs=false',
  '--cap-drop=all',
  '--security-opt=no-new-privileges',
];

/** buildah and podman with their own storage, which is removed at the end. */
export async function startEngine(): Promise<Engine> {
  const folder = mkdtempSync(join(tmpdir(), 'bankql-image-'));
  const storage = (driver: string) => [
    `--root=${join(folder, 'storage')}`,
    `--runroot=${join(folder, 'run')}`,
    `--storage-driver=${driver}`,
  ];
  // If this machine is itself a container, overlayfs cannot be used on top of the container's overlayfs; vfs
  // copies each layer instead.
  const driver = await run('looking for overlayfs', 'buildah', [
    ...storage('overlay'),
    'from',
    'scratch',
  ]).then(
    () => 'overlay',
    () => 'vfs',
  );
  const common = storage(driver);
  const podmanOptions = [
    ...common,
    `--tmpdir=${join(folder, 'tmp')}`,
    '--cgroup-manager=cgroupfs',
    '--runtime=runc',
  ];
  const podman = (...args: string[]) => run(`podman ${args[0]}`, 'podman', [...podmanOptions, ...args]);
  const running = new Set<Promise<unknown>>();
  let count = 0;

  return {
    folder,
    buildah: (activity, ...args) => run(activity, 'buildah', [...common, ...args]),
    podman,
    print: (image, program, ...args) =>
      podman('run', '--rm', '--network=none', ...limits, `--entrypoint=${program}`, image, ...args),
    async start(image, megabytes, environment) {
      const name = `bankql-${++count}`;
      const [port, metricsPort] = [await freePort(), await freePort()];
      const all = { PORT: String(port), METRICS_PORT: String(metricsPort), ...environment };
      const child = spawn(
        'podman',
        [
          ...podmanOptions,
          'run',
          `--name=${name}`,
          '--network=host',
          `--memory=${megabytes}m`,
          `--memory-swap=${megabytes}m`,
          ...limits,
          ...hardening,
          ...Object.entries(all).map(([variable, value]) => `--env=${variable}=${value}`),
          image,
        ],
        { stdio: ['ignore', 'pipe', 'pipe'] },
      );
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => {
          output += text;
        });
      const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
      running.add(ended);
      const url = `http://127.0.0.1:${port}`;
      for (const until = performance.now() + 20_000; ; await delay(100)) {
        const isUp = await fetch(`${url}/ready`).then(
          ({ ok }) => ok,
          () => false,
        );
        if (isUp) break;
        if (child.exitCode !== null || performance.now() > until) throw new Error(`it is not up: ${output}`);
      }
      return {
        url,
        metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
        output: () => output,
        exec: (...command) => podman('exec', name, ...command),
        checkHealth: () => podman('healthcheck', 'run', name),
        signal: (signal) => podman('kill', `--signal=${signal}`, name),
        ended,
        wasOutOfMemory: async () =>
          (await podman('inspect', name, '--format={{.State.OOMKilled}}')) === 'true',
      };
    },
    async [Symbol.asyncDispose]() {
      await podman('rm', '--all', '--force');
      await Promise.all(running);
      await run('removing', 'buildah', [...common, 'rm', '--all']);
      // The storage is a mount on itself.
      await run('unmounting', 'umount', [join(folder, 'storage', driver)]).catch(() => {});
      rmSync(folder, { recursive: true });
    },
  };
}
