import { execFileSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Fills client/dist with the contents of the package @bankql/client: compiled JavaScript, its types and the schema. */
const root = join(import.meta.dirname, '..');
const dist = join(root, 'client/dist');

execFileSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
rmSync(dist, { recursive: true, force: true });
for (const part of ['client', 'errors.js', 'errors.d.ts'])
  cpSync(join(root, 'dist', part), join(dist, part), { recursive: true });
cpSync(join(root, 'schema.graphql'), join(dist, 'schema.graphql'));
