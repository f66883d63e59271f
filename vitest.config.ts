import { defineConfig } from 'vitest/config';
import { compileCache } from './test/support/compile-cache.ts';
import LongestFirst from './test/support/longest-first.ts';
import { processTests } from './test/support/process-tests.ts';
import { temporaryFolder } from './test/support/temporary-folder.ts';

// For the processes that run the tests as well: each thread of a SQLite store would otherwise load Node's TypeScript
// stripper, and compile anew.
Object.assign(process.env, compileCache, { TMPDIR: temporaryFolder() });

/** They weigh what their process keeps in memory, load modules or other tests again, or add types to the schema. */
const alone = [
  'test/agents/loading.test.ts',
  'test/bounded-memory.test.ts',
  'test/graphql/pipeline.test.ts',
  'test/schema/import-order.test.ts',
  'test/schema/plugin.test.ts',
];

export default defineConfig({
  // One copy of graphql for yoga, Pothos and the tests: by default vitest resolves two builds of it. Node gets these
  // conditions as well: `import` would hold for each `require` too, and give CommonJS packages modules.
  // The examples import bankql by its name.
  resolve: { alias: [{ find: /^bankql$/, replacement: `${import.meta.dirname}/src/index.ts` }] },
  ssr: { resolve: { conditions: ['module-sync', 'node'] } },
  test: {
    // Many tests wait for a bank or a store to be late: four files at a time on two cores, where the default is one.
    maxWorkers: 4,
    // Files of one worker share the modules, which take longer to load than most tests to run: no module keeps state of its
    // own between requests.
    isolate: false,
    setupFiles: './test/support/monotonic-clock.ts',
    sequence: { sequencer: LongestFirst },
    // They end what hangs, and nothing else: no test has a limit of its own, so that a slow machine changes no verdict.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 540_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'bankql',
          include: ['test/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...alone, ...processTests],
        },
      },
      {
        extends: true,
        test: { name: 'bankql processes', include: processTests, globalSetup: './test/support/bundle.ts' },
      },
      { extends: true, test: { name: 'bankql alone', isolate: true, include: alone } },
    ],
  },
});
