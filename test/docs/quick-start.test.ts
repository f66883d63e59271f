import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { startProcess } from '../support/process.ts';
import { followQuickStart } from '../support/quick-start.ts';
import { startShell } from '../support/shell.ts';

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);
const modules = join(root, 'node_modules');

/** What the page's installation makes, of what is installed here already: nothing is asked of a registry. */
async function installIn(app: string): Promise<void> {
  const bankql = join(app, 'node_modules/bankql');
  await mkdir(bankql, { recursive: true });
  for (const file of ['package.json', 'schema.graphql']) await cp(join(root, file), join(bankql, file));
  for (const name of ['.bin', '@graphql-codegen', '@graphql-typed-document-node', 'graphql'])
    await symlink(join(modules, name), join(app, 'node_modules', name));
  await writeFile(join(app, 'package.json'), '{ "type": "module" }');
  // The client alone: to compile all of the package takes seconds.
  const project = join(app, 'tsconfig.client.json');
  const settings = {
    extends: join(root, 'tsconfig.build.json'),
    compilerOptions: {
      rootDir: join(root, 'src'),
      outDir: join(bankql, 'dist'),
      typeRoots: [join(modules, '@types')],
    },
    include: [join(root, 'src/client')],
  };
  await writeFile(project, JSON.stringify(settings));
  await run(process.execPath, [join(modules, 'typescript/bin/tsc'), '-p', project]);
}

test('docs/quick-start.md gives the answers that it says, from the first query to an app with types', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'bankql-quick-start-'));
  const app = join(folder, 'app');
  await mkdir(app);
  await using bankql = await startProcess();
  await using shell = startShell(folder);
  const steps: string[] = [];
  try {
    const { file, executed } = await followQuickStart({
      shell,
      url: bankql.url,
      app,
      async prepare(step, commands) {
        steps.push(commands);
        if (step === 'start') return;
        await installIn(app);
        await shell.run('cd app');
      },
    });
    await expect(executed).toMatchFileSnapshot(file);
    expect(executed).toContain('"replayed": true');
    expect(executed).toContain('Everyday 4293.30 EUR');
    // `npm run check:quick-start` runs these.
    expect(steps).toEqual([
      expect.stringContaining('npm ci\nnpm start\n'),
      expect.stringContaining('npm install ../bankql\n'),
    ]);
  } finally {
    await rm(folder, { recursive: true });
  }
}, 60_000);
