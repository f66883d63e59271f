import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';

/**
 * A page of docs/ whose examples are run: each match of `block` is replaced with what `run` makes of it, one after the
 * other, and the page has to be the same afterwards. `vitest -u` writes it anew instead.
 * Shape: how many blocks were run.
 */
export async function expectExecutedPage(
  name: string,
  block: RegExp,
  run: (match: RegExpExecArray) => Promise<string>,
): Promise<number> {
  const page = join(import.meta.dirname, '../../docs', name);
  const text = readFileSync(page, 'utf8');
  const parts: string[] = [];
  let end = 0;
  let count = 0;
  for (const match of text.matchAll(block)) {
    parts.push(text.slice(end, match.index), await run(match));
    end = match.index + match[0].length;
    count += 1;
  }
  await expect(parts.join('') + text.slice(end)).toMatchFileSnapshot(page);
  return count;
}

/** A block of code, as pages have it; the text ends with a line's end. */
export const codeBlock = (language: string, text: string): string => `\`\`\`${language}\n${text}\`\`\`\n`;

export const jsonBlock = (value: unknown): string => codeBlock('json', `${JSON.stringify(value, null, 2)}\n`);
