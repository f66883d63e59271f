import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/**
 * `npm run check:clients [-- --prepare]`: installs Relay and its compiler beside its test, compiles the test's documents, and runs
 * it. With `--prepare` it does not run it; CLIENTS=built then does, among the other tests.
 */
const root = join(import.meta.dirname, '../..');
const relay = join(root, 'test/clients/relay');
const run = (cwd: string, command: string, ...args: string[]) =>
  execFileSync(command, args, { cwd, stdio: 'inherit', env: { ...process.env, CLIENTS: 'built' } });

run(relay, 'npm', 'ci', '--no-audit', '--no-fund');
run(relay, 'npm', 'run', 'build', '--silent');
if (!process.argv.includes('--prepare'))
  run(root, 'npx', 'vitest', 'run', '--project', 'bankql processes', 'test/clients/relay/relay.test.ts');
