import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startProcess } from './process.ts';
import { startShell } from './shell.ts';

/** A page whose examples were run. */
interface ExecutedPage {
  /** The page's path, for `toMatchFileSnapshot`. */
  readonly file: string;
  readonly text: string;
  /** The page as it should be: with what its examples gave now. */
  readonly executed: string;
  /** How many examples were run. */
  readonly count: number;
}

/** Runs the examples of a page of docs/, each match of `block`, in order; `run` gives the text that belongs in its place. */
async function executePage(
  name: string,
  block: RegExp,
  run: (match: RegExpExecArray) => Promise<string>,
): Promise<ExecutedPage> {
  const file = join(import.meta.dirname, '../../docs', name);
  const text = readFileSync(file, 'utf8');
  const parts: string[] = [];
  let end = 0;
  for (const match of text.matchAll(block)) {
    parts.push(text.slice(end, match.index), await run(match));
    end = match.index + match[0].length;
  }
  return { file, text, executed: parts.join('') + text.slice(end), count: parts.length / 2 };
}

/** A block of code, as pages have it; the text ends with a line's end. */
const codeBlock = (language: string, text: string): string => `\`\`\`${language}\n${text}\`\`\`\n`;

const jsonBlock = (value: unknown): string => codeBlock('json', `${JSON.stringify(value, null, 2)}\n`);

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);
const modules = join(root, 'node_modules');

/** A block of a page to follow, and the answer behind it if there is one. */
const block = /^```(sh|ts)(?: (\S+))?\n([\s\S]*?)^```\n(\n```(json|text)\n[\s\S]*?^```\n)?/gm;

/** Installs what the page installs, from the packages that are here: nothing is fetched from a registry. */
async function installIn(app: string): Promise<void> {
  const bankql = join(app, 'node_modules/bankql');
  await mkdir(bankql, { recursive: true });
  for (const file of ['package.json', 'schema.graphql']) await cp(join(root, file), join(bankql, file));
  for (const name of ['.bin', '@graphql-codegen', '@graphql-typed-document-node', 'graphql'])
    await symlink(join(modules, name), join(app, 'node_modules', name));
  await writeFile(join(app, 'package.json'), '{ "type": "module" }');
  // Only the client: to compile the whole package takes seconds.
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

/**
 * Does what a page of docs/ says, in its order. bankql is started before, at another port than the page's, and packages come from
 * here. Returns what executePage does, and the commands in whose place that is.
 */
export async function followInstalled(page: string) {
  const folder = await mkdtemp(join(tmpdir(), 'bankql-page-'));
  const app = join(folder, 'app');
  await mkdir(app);
  await using bankql = await startProcess();
  await using shell = startShell(folder);
  const steps: string[] = [];
  try {
    const followed = await executePage(
      page,
      block,
      async ([whole, language = '', name, text = '', , answer]) => {
        const here = text.replaceAll('http://127.0.0.1:4000', bankql.url);
        if (language === 'ts') await writeFile(join(app, name ?? ''), here);
        else if (name === 'start') steps.push(here);
        else if (name === 'install') {
          steps.push(here);
          await installIn(app);
          await shell.run('cd app');
        } else {
          const printed = await shell.run(here);
          const commands = codeBlock(language, text);
          if (answer === 'json') return `${commands}\n${jsonBlock(JSON.parse(printed))}`;
          if (answer === 'text') return `${commands}\n${codeBlock('text', printed)}`;
        }
        return whole;
      },
    );
    return { ...followed, steps };
  } finally {
    await rm(folder, { recursive: true });
  }
}
