import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { followPage } from '../support/followed-page.ts';
import { startShell } from '../support/shell.ts';

/**
 * `npm run check:quick-start`: follows docs/quick-start.md as a newcomer does, from a clone of what is committed here, with
 * packages from the registry, and prints the seconds of each step. It fails where an answer is not the page's.
 */
const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'bankql-quick-start-'));
const began = performance.now();
const say = (text: string) => process.stdout.write(`${text}\n`);
const seconds = (since: number) => ((performance.now() - since) / 1000).toFixed(1).padStart(6);

async function timed<T>(step: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const result = await work();
  say(`${seconds(start)} s  ${step}`);
  return result;
}

// A newcomer's shell is not run by npm, which hands its own settings on.
for (const name of Object.keys(process.env)) if (name.startsWith('npm_')) delete process.env[name];

let server: ChildProcess | undefined;

/** `npm start`, on ports that are free. Gives the address that it prints. */
async function start(cwd: string): Promise<string> {
  const environment = { ...process.env, PORT: '0', SANDBOX_PORT: '0' };
  const child = spawn('npm', ['start'], {
    cwd,
    detached: true,
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  server = child;
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const ended = once(child, 'close');
  for (;;) {
    await Promise.race([once(child.stdout, 'data'), ended]);
    const [, url] = /bankql serves GraphQL at (\S+)\/graphql/.exec(output) ?? [];
    if (url !== undefined) return url;
    if (child.exitCode !== null) throw new Error(`npm start ended: ${output}`);
  }
}

async function checkGraphiQL(url: string): Promise<void> {
  const page = await (await fetch(`${url}/graphql`, { headers: { Accept: 'text/html' } })).text();
  if (!page.includes('GraphiQL')) throw new Error('there is no GraphiQL');
}

try {
  const clone = join(folder, 'bankql');
  await using shell = startShell(folder);
  await timed('git clone', () => shell.run(`git clone --quiet '${root}' bankql`));
  await timed('npm ci', () => shell.run('cd bankql; npm ci --loglevel=error; cd ..'));
  const url = await timed('npm start, until it listens', () => start(clone));
  await timed("GraphiQL's page", () => checkGraphiQL(url));
  let answers = 0;
  const { text, executed } = await followPage('quick-start.md', {
    url,
    app: join(folder, 'app'),
    shell: {
      ...shell,
      async run(commands) {
        const lines = commands.trimEnd().split('\n');
        const step = `${lines.length > 1 ? '… ' : ''}${lines.at(-1)}`;
        const output = await timed(step, () => shell.run(commands));
        answers += 1;
        if (answers === 1) say(`${seconds(began)} s  from the clone to the first nested answer`);
        return output;
      },
    },
    prepare: async (step, commands) => {
      if (step === 'install') await timed('the packages of an app', () => shell.run(commands));
    },
  });
  if (executed !== text) throw new Error(`docs/quick-start.md says otherwise than this:\n${executed}`);
  say(`${seconds(began)} s  the whole page`);
} finally {
  if (server?.pid !== undefined) {
    process.kill(-server.pid, 'SIGTERM');
    await once(server, 'close');
  }
  rmSync(folder, { recursive: true });
}
