import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** docs/observability.md lists every warning and error of the log, and no other. */

const root = join(import.meta.dirname, '../..');
const sources = globSync('src/**/*.ts', { cwd: root })
  .filter((file) => !file.includes('graphiql'))
  .map((file) => readFileSync(join(root, file), 'utf8'));

/** The text of a call's arguments, from behind its opening parenthesis on. */
function argumentsAt(source: string, start: number): string {
  let depth = 1;
  let end = start;
  while (depth > 0) {
    if (source[end] === '(') depth++;
    else if (source[end] === ')') depth--;
    end++;
  }
  return source.slice(start, end - 1);
}

const textsIn = (code: string) =>
  [...code.matchAll(/'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"/g)].map(([, a, b]) => a ?? b ?? '');

/** Messages are the only texts of these calls that have a space. */
const logged = sources.flatMap((source) => [
  ...[...source.matchAll(/[lL]ogger(?:\.(?:warn|error)|\[level\])\(/g)].flatMap(({ 0: { length }, index }) =>
    textsIn(argumentsAt(source, index + length)).filter((text) => text.includes(' ')),
  ),
  ...[...source.matchAll(/\[\s*'(?:warn|error)',\s*(?:'([^'\n]*)'|"([^"\n]*)")/g)].map(
    ([, a, b]) => a ?? b ?? '',
  ),
  ...[...source.matchAll(/level: 60[\s\S]{0,300}?msg: '([^'\n]*)'/g)].map(([, message = '']) => message),
]);

const page = readFileSync(join(root, 'docs/observability.md'), 'utf8');
const [, section = ''] = page.split('\n### Messages\n');
const documented = [...section.matchAll(/^\| `([^`]+)` \| (?:warn|error|fatal) \|/gm)].map(
  ([, message = '']) => message,
);

test('every warning and error of the log has its row, and every row its message', () => {
  expect(logged.length).toBeGreaterThan(20);
  expect([...new Set(documented)].sort()).toEqual([...new Set(logged)].sort());
});
