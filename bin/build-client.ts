import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from './package.ts';

/** Fills client/dist with the contents of the package @bankql/client: compiled JavaScript, its types and the schema. */
const dist = join(root, 'client/dist');

run('npm', 'run', '--silent', 'build');
rmSync(dist, { recursive: true, force: true });
for (const part of ['client', 'errors.js', 'errors.d.ts'])
  cpSync(join(root, 'dist', part), join(dist, part), { recursive: true });
cpSync(join(root, 'schema.graphql'), join(dist, 'schema.graphql'));
