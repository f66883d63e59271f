import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates } from 'node:tls';
import { type Engine, run } from './engine.ts';

const root = join(import.meta.dirname, '../../..');
const dockerfile = join(root, 'ops/Dockerfile');
const [, nodeVersion = '', debian = ''] =
  /^ARG NODE=([\d.]+)-(\w+)-slim$/m.exec(readFileSync(dockerfile, 'utf8')) ?? [];

/** The base image of ops/Dockerfile. */
export const baseImage = `docker.io/library/node:${nodeVersion}-${debian}-slim`;
export const image = 'localhost/bankql';

/**
 * Makes a replacement of the official image, so that the check needs no registry of images: a minimal Debian of the same release,
 * the same Node, and npm in the same place.
 */
export async function makeBase({ folder, buildah }: Engine): Promise<void> {
  if (process.version !== `v${nodeVersion}`)
    throw new Error(`this is Node ${process.version}, and ops/Dockerfile has ${nodeVersion}`);
  const system = join(folder, 'base');
  await run('making a minimal Debian', 'debootstrap', ['--variant=minbase', debian, system]);
  for (const unneeded of ['var/cache/apt/archives', 'var/lib/apt/lists'])
    rmSync(join(system, unneeded), { recursive: true });
  copyFileSync(process.execPath, join(system, 'usr/local/bin/node'));
  const prefix = join(system, 'usr/local');
  await run('installing npm', 'npm', ['install', '--global', '--silent', `--prefix=${prefix}`, 'npm@11']);

  const container = await buildah('making the base image', 'from', 'scratch');
  await buildah('making the base image', 'add', '--quiet', container, system, '/');
  const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  await buildah('making the base image', 'config', `--env=PATH=${path}`, '--cmd=["node"]', container);
  await buildah('making the base image', 'commit', '--quiet', '--rm', container, baseImage);
}

/** Builds ops/Dockerfile unchanged. The source of packages and the trusted authorities are set from outside. */
export async function buildImage({ folder, buildah }: Engine): Promise<void> {
  const settings = join(folder, 'npm');
  mkdirSync(settings);
  const registry = execFileSync('npm', ['config', 'get', 'registry']).toString().trim();
  writeFileSync(join(settings, 'ca.pem'), getCACertificates('default').join('\n'));
  writeFileSync(join(settings, 'npmrc'), `registry=${registry}\ncafile=/usr/local/etc/ca.pem\n`);
  await buildah(
    'building ops/Dockerfile',
    'build',
    '--format=docker',
    '--pull-never',
    '--isolation=chroot',
    '--network=host',
    // npm's global settings.
    `--volume=${settings}:/usr/local/etc:ro`,
    `--file=${dockerfile}`,
    `--tag=${image}`,
    root,
  );
}
