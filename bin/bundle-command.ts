import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

/**
 * Makes the command of the package and the image: `command/main.js`, a bundle of the sources and of most packages. To find and load
 * 1,400 modules is most of the processor time of a start. What only some starts need is in chunks of its own. The sources find
 * files beside themselves: package.json above, GraphiQL's files, and the program of SQLite's threads, which is an entry.
 */

const root = join(import.meta.dirname, '..');
const folder = join(root, 'command');

/** Packages that stay in node_modules: they load files of their own, or are large and seldom needed. */
const external = /^(pg|pino|@opentelemetry\/(?!api).+|@graphql-yoga\/render-graphiql)(\/|$)/;

/** The bundle, which is not written yet, and the folders of the packages in it. */
async function makeBundle() {
  await using bundle = await rolldown({
    cwd: root,
    input: { main: 'src/main.ts', worker: 'src/payments/store/sqlite/worker.ts' },
    platform: 'node',
    external,
    // Node 22 reads it: `using` is written out.
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

/** A package's name, licence and the text of it. Errors: Error if it says neither. */
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
