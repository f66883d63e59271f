import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { startProcess } from '../support/process.ts';
import { testFolder } from '../support/test-folder.ts';

/** Promise: a start loads only what its settings use. Each package here takes 10 to 60 ms of processor time to load. */

const folder = testFolder();

/** Records each module that Node loads, and writes the list when the process ends. */
const recorder = `
import { registerHooks } from 'node:module';
import { writeFileSync } from 'node:fs';
const urls = new Set();
registerHooks({ load: (url, context, next) => (urls.add(url), next(url, context)) });
process.on('exit', () => writeFileSync(process.env.LOADED_FILE, [...urls].join('\\n')));
`;

test('a start over a bank, with its payments in memory, loads no PostgreSQL, no tokens, no tools for agents, no traces, no page and no sandbox', async () => {
  vi.stubEnv('BANKQL_BUNDLE', undefined);
  const [script, loaded] = [join(folder, 'recorder.mjs'), join(folder, 'loaded')];
  writeFileSync(script, recorder);
  const bankql = await startProcess({
    BANK_BASE_URL: 'http://127.0.0.1:9',
    BANK_ID: 'B',
    STATE_URL: 'memory:',
    IDENTITY: 'headers',
    NODE_OPTIONS: `--import=${script}`,
    LOADED_FILE: loaded,
  });
  await bankql.stop();
  const modules = readFileSync(loaded, 'utf8');
  expect(modules).toContain('/src/graphql/yoga.ts');
  const unneeded = [
    '/node_modules/pg/',
    '/node_modules/jose/',
    '/node_modules/@modelcontextprotocol/',
    '/node_modules/@opentelemetry/(?!api/)',
    '/node_modules/rate-limiter-flexible/',
    '/node_modules/@graphql-yoga/render-graphiql/',
    '/src/payments/store/postgres/postgres-driver',
    '/src/sandbox/server',
    '/src/doctor/doctor.ts',
    '/src/commands/(doctor|check|sandbox)',
  ];
  expect(modules.split('\n').filter((url) => new RegExp(unneeded.join('|')).test(url))).toEqual([]);
});
