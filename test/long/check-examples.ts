import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/**
 * `npm run check:examples`: installs and builds examples/web from its lockfile, then runs the tests of the examples. Elsewhere
 * they are skipped, because `npm test` installs nothing. With `--prepare`, it does not run the tests; EXAMPLES=built then
 * includes them.
 */
const root = join(import.meta.dirname, '../..');
const web = join(root, 'examples/web');
const run = (cwd: string, command: string, ...args: string[]) =>
  execFileSync(command, args, { cwd, stdio: 'inherit', env: { ...process.env, EXAMPLES: 'built' } });

run(web, 'npm', 'ci', '--no-audit', '--no-fund');
run(web, 'npm', 'run', 'build', '--silent', '--', '--logLevel=warn');
const tests = ['test/examples/web.test.ts'];
if (!process.argv.includes('--prepare'))
  run(root, 'npx', 'vitest', 'run', '--project', 'bankql processes', ...tests);
