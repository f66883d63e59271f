import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { baseImage, image } from './build.ts';
import type { Engine } from './engine.ts';

const lock = readFileSync(join(import.meta.dirname, '../../../package-lock.json'), 'utf8');

/** The packages of a lock, by their folders. */
const packagesOf = (text: string): Readonly<Record<string, Readonly<Record<string, unknown>>>> =>
  JSON.parse(text).packages;

/** The differences between the contents of the image and the files that serving needs. Prints the size of the image. */
export async function wrongContents(
  { podman, print }: Engine,
  say: (line: string) => void,
): Promise<readonly string[]> {
  const [names, managers, installed, size, baseSize] = await Promise.all([
    print(image, 'ls', '-A', '/bankql'),
    print(
      image,
      'sh',
      '-c',
      'command -v npm npx yarn corepack; ls -Ad /usr/local/lib/node_modules /opt/yarn* 2>/dev/null; true',
    ),
    print(image, 'cat', 'node_modules/.package-lock.json'),
    ...[image, baseImage].map((name) => podman('image', 'inspect', name, '--format={{.Size}}')),
  ]);
  const present = Object.keys(packagesOf(installed));
  const needed = Object.entries(packagesOf(lock)).flatMap(([path, { dev, optional, devOptional }]) =>
    path === '' || dev || optional || devOptional ? [] : [path],
  );
  const megabytes = (bytes = '') => (Number(bytes) / 1e6).toFixed(0);
  say(
    `${megabytes(size)} MB, of which the base is ${megabytes(baseSize)} MB; ${present.length} packages of npm's`,
  );
  const unneeded = present.filter((path) => !needed.includes(path));
  const missing = needed.filter((path) => !present.includes(path));
  const some = (paths: readonly string[]) => paths.slice(0, 10).join(', ');
  return [
    ...(names === 'bin\ncommand\nnode_modules\npackage.json\nschema.graphql'
      ? []
      : [`/bankql holds ${names.replaceAll('\n', ', ')}`]),
    ...(managers === '' ? [] : [`it has package managers: ${managers.replaceAll('\n', ', ')}`]),
    ...(unneeded.length === 0
      ? []
      : [`${unneeded.length} packages that serving needs not, such as ${some(unneeded)}`]),
    ...(missing.length === 0 ? [] : [`${missing.length} packages are missing, such as ${some(missing)}`]),
  ];
}
