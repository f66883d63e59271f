// `npm run check:schema`: installs graphql-eslint if it is missing, and runs it over schema.graphql.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const folder = import.meta.dirname;
const root = join(folder, '../..');

function run(command, ...args) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

if (!existsSync(join(folder, 'node_modules'))) run('npm', 'ci', '--loglevel=error', '--prefix', folder);
const eslint = join(folder, 'node_modules/eslint/bin/eslint.js');
run(process.execPath, eslint, '--config', join(folder, 'eslint.config.js'), 'schema.graphql');
