import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';

/**
 * `npm run codegen`: generates the typed documents of the tests (codegen.ts). It takes six seconds, so it does nothing if the
 * documents are newer than the schema and the files that use them.
 */
const root = join(import.meta.dirname, '../..');
const generated = 'test/generated/graphql.ts';
const changedAt = (file: string) => statSync(join(root, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;

const users = globSync('test/**/*.ts', { cwd: root, exclude: ['**/node_modules'] }).filter((file) =>
  readFileSync(join(root, file), 'utf8').includes('generated/index.ts'),
);
const inputs = ['codegen.ts', 'schema.graphql', 'package-lock.json', ...users];
if (Math.max(...inputs.map(changedAt)) >= changedAt(generated)) {
  execFileSync('graphql-codegen', ['--silent', '--config', 'codegen.ts'], { cwd: root, stdio: 'inherit' });
  // A file with the same content is not written, so its time is set.
  utimesSync(join(root, generated), new Date(), new Date());
}
