import { defineConfig } from 'vitest/config';

export default defineConfig({
  // One copy of graphql for yoga, Pothos and the tests: by default vitest resolves two builds of it.
  ssr: { resolve: { conditions: ['module-sync', 'node', 'import', 'default'] } },
  test: { include: ['test/**/*.test.ts'], testTimeout: 20_000, hookTimeout: 20_000 },
});
