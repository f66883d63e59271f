import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeBlock, executePage, jsonBlock } from './executed-page.ts';
import type { Shell } from './shell.ts';

/** A block of docs/quick-start.md, and the answer behind it, where there is one. */
const block = /^```(sh|ts)(?: (\S+))?\n([\s\S]*?)^```\n(\n```(json|text)\n[\s\S]*?^```\n)?/gm;

interface Follow {
  readonly shell: Shell;
  /** Where bankql serves: the page says port 4000. */
  readonly url: string;
  /** Where the page's files belong. */
  readonly app: string;
  /** Takes the commands that start bankql, and those that install packages, in place of the shell. */
  readonly prepare: (step: 'start' | 'install', commands: string) => Promise<void>;
}

/** Does what docs/quick-start.md says, in its order. */
export const followQuickStart = ({ shell, url, app, prepare }: Follow) =>
  executePage('quick-start.md', block, async ([whole, language = '', name, text = '', , answer]) => {
    const here = text.replaceAll('http://127.0.0.1:4000', url);
    if (language === 'ts') await writeFile(join(app, name ?? ''), here);
    else if (name === 'start' || name === 'install') await prepare(name, here);
    else {
      const printed = await shell.run(here);
      const commands = codeBlock(language, text);
      if (answer === 'json') return `${commands}\n${jsonBlock(JSON.parse(printed))}`;
      if (answer === 'text') return `${commands}\n${codeBlock('text', printed)}`;
    }
    return whole;
  });
