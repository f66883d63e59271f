import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/**
 * `npm run check:clients [-- --prepare]`: installs Relay and its compiler next to its test, compiles the test's documents, and
 * runs the test. With `--prepare`, it does not run the test; CLIENTS=built then includes it in the other tests.
 */
const root = join(import.meta.dirname, '../..');
const relay = join(root, 'test/clients/relay');
const run = (cwd: string, command: string, ...args: string[]) =>
  execFileSync(command, args, { cwd, stdio: 'inherit', env: { ...process.env, CLIENTS: 'built' } });

run(relay, 'npm', 'ci', '--no-audit', '--no-fund');
run(relay, 'npm', 'run', 'build', '--silent');
if (!process.argv.includes('--prepare'))
  run(root, 'npx', 'vitest', 'run', '--project', 'bankql processes', 'test/clients/relay/relay.test.ts');
