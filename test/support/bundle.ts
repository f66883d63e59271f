import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { storeTimeoutVariable } from './process.ts';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'node_modules/.cache/bankql-tests');

const storeTimeout = `Number(process.env.${storeTimeoutVariable} ?? 60_000)`;
/** Limits of the tests' processes. They are raised, because a busy machine would reach the usual ones. */
const usualLimits = [
  ['src/payments/store/open-store.ts', 'const fileTimeoutMs = 4_000;', storeTimeout],
  ['src/payments/store/postgres/postgres-driver.ts', 'const usualStatementTimeoutMs = 3_000;', storeTimeout],
  ['src/payments/store/postgres/address.ts', 'const usualConnectTimeoutMs = 3_000;', storeTimeout],
  ['src/http/listen.ts', 'const usualSlowestRequestMs = 10_000;', '600_000'],
] as const;

/**
 * Runs before the tests: bundles bankql and the packages that it loads into a few files. Finding and loading 1,300 modules takes
 * half of the processor time of a start, and the tests start about three hundred processes. `BANKQL_BUNDLE` contains the path of
 * the bundle.
 */
export default async function bundle(): Promise<void> {
  await using made = await rolldown({
    cwd: root,
    input: { main: 'test/support/main.ts', 'payment-child': 'test/support/payment-child.ts' },
    platform: 'node',
    // This package has 9 MB, and few tests open the page.
    external: /^@graphql-yoga\/render-graphiql/,
    plugins: [
      ...usualLimits.map(([file, limit, patient]) => ({
        name: `patience in ${file}`,
        transform: {
          filter: { id: join(root, file) },
          handler(code: string) {
            if (!code.includes(limit)) throw new Error(`${file}: ${limit} is not found`);
            return code.replace(limit, `${limit.slice(0, limit.indexOf('='))}= ${patient};`);
          },
        },
      })),
      {
        // A source locates the files that it reads or runs as a thread by paths relative to its own.
        name: 'addresses of sources',
        transform: {
          filter: { id: join(root, 'src/**/*.ts'), code: 'import.meta.url' },
          handler: (code, id) => code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)),
        },
      },
    ],
  });
  const { output } = await made.generate({ format: 'esm', chunkFileNames: '[name].js' });
  mkdirSync(folder, { recursive: true });
  for (const file of output) {
    const path = join(folder, file.fileName);
    const text = file.type === 'chunk' ? file.code : file.source;
    // Other tests may be starting processes from these files, so a file with the same content is not written again.
    if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text);
  }
  process.env.BANKQL_BUNDLE = folder;
}
