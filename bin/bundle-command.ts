import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

/**
 * Makes the command of the package and the image: `command/main.js`, a bundle of the sources and of most packages. Without a
 * bundle, finding and loading 1,400 modules takes most of the processor time of a start. Code that only some starts need is in
 * separate chunks. The bundle finds other files by relative paths: package.json in the parent folder, GraphiQL's files, and the
 * program of SQLite's threads, which is bundled as a second entry.
 */

const root = join(import.meta.dirname, '..');
const folder = join(root, 'command');

/** Packages that stay in node_modules, because they load their own files, or are large and seldom needed. */
const external = /^(pg|pino|@opentelemetry\/(?!api).+|@graphql-yoga\/render-graphiql)(\/|$)/;

/** Builds the bundle without writing it, and lists the folders of the packages in it. */
async function makeBundle() {
  await using bundle = await rolldown({
    cwd: root,
    input: { main: 'src/main.ts', 'sqlite-thread': 'src/payments/store/sqlite/sqlite-thread.ts' },
    platform: 'node',
    external,
    // The target is Node 22, which does not support `using`.
    transform: { target: 'es2023' },
  });
  const { output } = await bundle.generate({
    format: 'esm',
    chunkFileNames: '[name]-[hash].js',
    sourcemap: true,
  });
  const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
  const packages = new Set(
    modules.flatMap((id) => /^\/.*\/node_modules\/(@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []),
  );
  return { output, packages: [...packages].sort() };
}

const manifestOf = (path: string) => JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));

/** The packages in the bundle, such as `graphql@17.1.0`. */
export async function bundledPackages(): Promise<readonly string[]> {
  const { packages } = await makeBundle();
  return packages.map(manifestOf).map(({ name, version }) => `${name}@${version}`);
}

/**
 * A package's name, its licence and the text of the licence.
 * Errors: Error if the package has neither a licence in its manifest nor a file with one.
 */
function licenceOf(path: string): string {
  const { name, version, license } = manifestOf(path);
  const file = readdirSync(path).find((each) => /^licen[cs]e/i.test(each));
  if (license === undefined && file === undefined) throw new Error(`${name} has no licence`);
  const text = file === undefined ? '' : `\n${readFileSync(join(path, file), 'utf8').trim()}\n`;
  return `${name} ${version}: ${license}\n${text}`;
}

if (process.argv[1] === import.meta.filename) {
  const { output, packages } = await makeBundle();
  rmSync(folder, { recursive: true, force: true });
  cpSync(join(root, 'src/http/graphiql/browser'), join(folder, 'browser'), { recursive: true });
  for (const file of output)
    writeFileSync(join(folder, file.fileName), file.type === 'chunk' ? file.code : file.source);
  const licences = packages.map(licenceOf).join('\n---\n\n');
  writeFileSync(
    join(folder, 'LICENCES.txt'),
    `The files of this folder contain these packages.\n\n${licences}`,
  );
}
