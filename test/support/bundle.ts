import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'node_modules/.cache/bankql-tests');

/** What runs as a process of its own, or as a thread of one; a thread's file is beside the one that starts it. */
const input = {
  main: 'src/main.ts',
  worker: 'src/payments/stores/sqlite/worker.ts',
  'read-worker': 'src/payments/stores/sqlite/read-worker.ts',
  'payment-child': 'test/support/payment-child.ts',
};

/** These read files that are beside them in the sources, and are told to read them there. */
const readers = /\/src\/(version|server\/graphiql\/assets)\.ts$/;

/**
 * Before the tests: puts bankql and the packages that it loads into a few files. To find and load 1,300 is half of the
 * processor time of a start, and the tests start some three hundred processes. `BANKQL_BUNDLE` tells them where it is.
 */
export default async function bundle(): Promise<void> {
  // Each of vitest's projects comes by here.
  if (process.env.BANKQL_BUNDLE !== undefined) return;
  await using made = await rolldown({
    cwd: root,
    input,
    platform: 'node',
    // It is 9 MB, and few tests open the page.
    external: /^@graphql-yoga\/render-graphiql/,
    plugins: [
      {
        name: 'readers',
        transform: {
          filter: { id: readers },
          handler: (code, id) => code.replace('import.meta.url', JSON.stringify(pathToFileURL(id).href)),
        },
      },
    ],
  });
  const { output } = await made.generate({ format: 'esm', chunkFileNames: '[name].js' });
  mkdirSync(folder, { recursive: true });
  for (const file of output) {
    const path = join(folder, file.fileName);
    const text = file.type === 'chunk' ? file.code : file.source;
    // Other tests may be starting processes from it, most likely of the same sources.
    if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text);
  }
  process.env.BANKQL_BUNDLE = folder;
}
