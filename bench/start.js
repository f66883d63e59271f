// Installs the packages that only the bench needs, if they are missing, and runs the bench.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const folder = import.meta.dirname;
if (!existsSync(join(folder, 'node_modules'))) {
  const { status } = spawnSync('npm', ['ci', '--prefix', folder], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
await import('./main.ts');
