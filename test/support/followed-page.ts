import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startProcess } from './process.ts';

const root = join(import.meta.dirname, '../..');
const modules = join(root, 'node_modules');

/** A block of a page to follow, and the answer after it if there is one. */
const block = /^```(sh|ts)(?: (\S+))?\n([\s\S]*?)^```\n(\n```(json|text)\n[\s\S]*?^```\n)?/gm;

/** A block of code in the form of the pages. The text ends with a line break. */
const codeBlock = (language: string, text: string): string => `\`\`\`${language}\n${text}\`\`\`\n`;

/** A shell that keeps the variables and the folder of earlier commands. */
function startShell(cwd: string) {
  const end = '\0\n';
  const shell = spawn('sh', ['-e'], { cwd, stdio: 'pipe' });
  const closed = once(shell, 'close');
  let output = '';
  let errors = '';
  shell.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  shell.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  return {
    /**
     * Shape: the standard output of the commands.
     * Errors: an Error with the whole output, if a command failed.
     */
    async run(commands: string): Promise<string> {
      output = errors = '';
      // A command that reads its input must not read the commands after it.
      shell.stdin.write(`{\n${commands}\n} </dev/null\nprintf '\\0\\n'\n`);
      while (!output.endsWith(end)) {
        await Promise.race([once(shell.stdout, 'data'), closed]);
        if (shell.exitCode !== null) {
          await closed;
          throw new Error(`${commands}\nfailed: ${output}${errors}`);
        }
      }
      return output.slice(0, -end.length);
    },
    async [Symbol.asyncDispose]() {
      shell.kill();
      await closed;
    },
  };
}

/** Installs the packages of the page from those in this folder. Nothing is fetched from a registry. */
async function installIn(app: string): Promise<void> {
  const bankql = join(app, 'node_modules/bankql');
  await mkdir(bankql, { recursive: true });
  for (const file of ['package.json', 'schema.graphql']) await cp(join(root, file), join(bankql, file));
  for (const name of ['.bin', '@graphql-codegen', '@graphql-typed-document-node', 'graphql'])
    await symlink(join(modules, name), join(app, 'node_modules', name));
  await writeFile(join(app, 'package.json'), '{ "type": "module" }');
  // Only the client is compiled, because the whole package takes seconds.
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
  await promisify(execFile)(process.execPath, [join(modules, 'typescript/bin/tsc'), '-p', project]);
}

/**
 * Runs the commands of a page of docs/ in order, except those that start bankql or install packages: bankql already runs at
 * another port, and the packages come from this folder.
 * Shape: the page's path, for `toMatchFileSnapshot`; the page with the current answers; the commands that were not run.
 */
export async function followPage(page: string) {
  const file = join(root, 'docs', page);
  const text = readFileSync(file, 'utf8');
  const folder = await mkdtemp(join(tmpdir(), 'bankql-page-'));
  const app = join(folder, 'app');
  await mkdir(app);
  await using bankql = await startProcess();
  await using shell = startShell(folder);
  const replaced: string[] = [];

  /** Returns the block as it should be on the page. */
  async function follow([whole, language = '', name, code = '', , answer]: RegExpExecArray): Promise<string> {
    const here = code.replaceAll('http://127.0.0.1:4000', bankql.url);
    if (language === 'ts') {
      await writeFile(join(app, name ?? ''), here);
      return whole;
    }
    if (name === 'start' || name === 'install') {
      replaced.push(here);
      if (name === 'install') {
        await installIn(app);
        await shell.run('cd app');
      }
      return whole;
    }
    const printed = await shell.run(here);
    if (answer === undefined) return whole;
    const shown = answer === 'json' ? `${JSON.stringify(JSON.parse(printed), null, 2)}\n` : printed;
    return `${codeBlock(language, code)}\n${codeBlock(answer, shown)}`;
  }

  try {
    let executed = '';
    let end = 0;
    for (const match of text.matchAll(block)) {
      executed += text.slice(end, match.index) + (await follow(match));
      end = match.index + match[0].length;
    }
    return { file, executed: executed + text.slice(end), replaced };
  } finally {
    await rm(folder, { recursive: true });
  }
}
