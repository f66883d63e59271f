import { defineConfig } from 'vitest/config';
import { compileCache } from './test/support/compile-cache.ts';
import LongestFirst from './test/support/longest-first.ts';
import { processTests } from './test/support/process-tests.ts';
import { temporaryFolder } from './test/support/temporary-folder.ts';

// The variables are also for processes that the tests start: otherwise each thread of a SQLite store would load Node's TypeScript
// stripper, and compile everything again.
Object.assign(process.env, compileCache, { TMPDIR: temporaryFolder() });

/** These tests measure the memory of their process, replace modules, run other tests again, or add types to the schema. */
const alone = [
  'test/bounded-memory.test.ts',
  'test/graphql/pipeline.test.ts',
  'test/schema/import-order.test.ts',
  'test/schema/plugin.test.ts',
];

export default defineConfig({
  // This gives yoga, Pothos and the tests one copy of graphql; by default, vitest resolves two builds of it. Node gets the same
  // conditions. `import` is not used, because it would apply to `require` too, and give modules to CommonJS packages. The
  // examples import bankql by its name.
  resolve: { alias: [{ find: /^bankql$/, replacement: `${import.meta.dirname}/src/index.ts` }] },
  ssr: { resolve: { conditions: ['module-sync', 'node'] } },
  test: {
    // Many tests wait for a slow bank or store, so four files run at a time on two cores. The default is one.
    maxWorkers: 4,
    // Files of one worker share modules, because loading them takes longer than running most tests. No module keeps state between
    // requests.
    isolate: false,
    setupFiles: './test/support/monotonic-clock.ts',
    sequence: { sequencer: LongestFirst },
    // The time limit only ends a test that hangs. No test has its own limit, so that a slow machine changes no verdict.
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
