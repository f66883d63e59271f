import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A page whose examples were run. */
export interface ExecutedPage {
  /** The page's path, for `toMatchFileSnapshot`. */
  readonly file: string;
  readonly text: string;
  /** The page as it should be: with what its examples gave now. */
  readonly executed: string;
  /** How many examples were run. */
  readonly count: number;
}

/** Runs the examples of a page of docs/, each match of `block`, in order; `run` gives the text that belongs in its place. */
export async function executePage(
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
export const codeBlock = (language: string, text: string): string => `\`\`\`${language}\n${text}\`\`\`\n`;

export const jsonBlock = (value: unknown): string => codeBlock('json', `${JSON.stringify(value, null, 2)}\n`);
