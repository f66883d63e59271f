import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Whatever starts a process: Node itself, or a helper that starts bankql, a database, a browser or another program. */
const starter =
  /from '(node:child_process|.*\/support\/(attacked-process|browser|followed-page|live-bankql|payment-process|payment-states|postgres|process|promtool|shell|web-example)\.ts)'/;

/** The test files that start processes: half of the time that all tests take. */
export const processTests = globSync('test/**/*.test.ts', { cwd: root })
  .filter((file) => starter.test(readFileSync(join(root, file), 'utf8')))
  .map((file) => file.replaceAll('\\', '/'));
