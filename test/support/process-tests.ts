import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/**
 * Matches the import of anything that starts a process: Node itself, or a helper that starts bankql, a database, a browser or
 * another program.
 */
const starter =
  /from '(node:child_process|.*\/support\/(attacked-process|browser|followed-page|live-bankql|nginx|payment-process|payment-states|postgres|process)\.ts)'/;

/**
 * These start no process, but take equally long: a search through every order of events, and a store with its own
 * thread.
 */
const long = ['test/simulation/interleavings.test.ts', 'test/payments/store/sqlite/sqlite-store.test.ts'];

/** The test files that start processes, and the long ones. They take half of the time of all tests. */
export const processTests = globSync('test/**/*.test.ts', { cwd: root, exclude: ['**/node_modules'] })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => long.includes(file) || starter.test(readFileSync(join(root, file), 'utf8')));
