import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { operations } from '../../src/contract/operations.ts';
import { errorCodes } from '../../src/errors.ts';

/** Names and numbers on pages are equal to those in the code. */

const root = join(import.meta.dirname, '../..');
const textOf = (file: string) => readFileSync(join(root, file), 'utf8');
const list = (pattern: string) =>
  globSync(pattern, { cwd: root })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => !/node_modules|\/dist\/|\/generated\/|\/gql\//.test(file));

/** The decisions and the changelog are left out, because they describe earlier states of the code. */
const pages = list('{*.md,{docs,examples,bench,ops}/**/*.md}').filter(
  (page) => !/^CHANGELOG|^docs\/(decisions|specification)/.test(page),
);
const sources = list(
  '{src,bin,bench,test,examples,ops}/**/*.{ts,tsx,js,mjs,sh,json,yml,yaml,conf,service,graphql}',
);
const everyFile = new Set(sources);
const code = sources
  .filter((file) => file.startsWith('src/'))
  .map((file) => textOf(file).replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, ''))
  .join('\n');

const spans = (text: string) => [...text.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span);

test('npm scripts that pages name exist', () => {
  const { scripts } = JSON.parse(textOf('package.json'));
  const missing = pages.flatMap((page) =>
    [...textOf(page).matchAll(/npm run (?:--silent |-s )?([\w:-]+)/g)]
      .filter(
        ([, name = '']) =>
          !Object.keys(scripts).some(
            (script) => script === name || (name.endsWith(':') && script.startsWith(name)),
          ),
      )
      .map(([, name]) => `${page}: ${name}`)
      .filter((line) => !/examples\//.test(line)),
  );
  expect(missing).toEqual([]);
});

test('variables that pages name exist', () => {
  const known = new Set<string>(['NODE_DEBUG', ...Object.keys(errorCodes), ...Object.keys(operations)]);
  const configuration = `${code}\n${list('{docs,src,bin,test,ops,bench}/**/*.{ts,js,yml,yaml,sh,conf}').map(textOf).join('\n')}`;
  const missing = pages.flatMap((page) =>
    spans(textOf(page).replaceAll(/^```[\s\S]*?^```$/gm, ''))
      .flatMap((span) => /^([A-Z][A-Z0-9]+_[A-Z0-9_]+)(?:=|$)/.exec(span)?.[1] ?? [])
      .filter(
        (name) => !known.has(name) && !new RegExp(`\\b${name.replace(/_FILE$/, '')}\\b`).test(configuration),
      )
      .map((name) => `${page}: ${name}`),
  );
  expect(missing).toEqual([]);
});

test('metrics that pages name exist', () => {
  const missing = pages.flatMap((page) =>
    (textOf(page).match(/\bbankql_[a-z_]+/g) ?? [])
      .filter(
        (name) =>
          !code.includes(name.replace(/_(bucket|sum|count)$/, '')) && !/bankql_(process|nodejs)_/.test(name),
      )
      .map((name) => `${page}: ${name}`),
  );
  expect(missing).toEqual([]);
});

/**
 * A number that a page takes from the code is followed by its source: `10 ms<!-- src/load/slices.ts sliceMs -->`.
 * The number and its unit are the last two words before the source.
 */
describe('numbers with a source', () => {
  const marked = pages.flatMap((page) =>
    [...textOf(page).matchAll(/([\d.,]+)(?:\s?(\w+|%))?<!-- (\S+) (\w+) -->/g)].map(
      ([, number = '', unit = '', file = '', name = '']) => ({ page, number, unit, file, name }),
    ),
  );
  const units: Readonly<Record<string, number>> = {
    s: 1000,
    seconds: 1000,
    minutes: 60_000,
    hours: 3_600_000,
    days: 86_400_000,
    kB: 1000,
    KB: 1024,
    MB: 1024 * 1024,
    '%': 0.01,
  };
  /** The value of an arithmetic expression, such as `64 * 1024`. */
  const amountOf = (expression: string) =>
    expression
      .replaceAll('_', '')
      .split('*')
      .map((factor) =>
        factor
          .split('/')
          .map(Number)
          .reduce((a, b) => a / b),
      )
      .reduce((a, b) => a * b, 1);
  test('there are some', () => expect(marked.length).toBeGreaterThan(0));
  test.each(marked)('$page: $number $unit is $name of $file', ({ number, unit, file, name }) => {
    const assignment = new RegExp(
      `\\b${name}\\b(?::\\s*\\w+)?\\s*[=:]\\s*(?:\\{\\s*(?:\\w+:[^\\n]*\\n\\s*)*\\.\\.\\.\\w+\\(|(?:count|milliseconds)\\(\\s*)?([\\d_.]+(?:\\s*[*/]\\s*[\\d_.]+)*)`,
    );
    const assignedIn = (source: string) => assignment.exec(textOf(source))?.[1] ?? [];
    const named = everyFile.has(file) ? [assignedIn(file)].flat() : [];
    // If the file was moved, the constant is found by its name.
    const found =
      named.length > 0 ? named : sources.filter((source) => source.startsWith('src/')).flatMap(assignedIn);
    expect(found, `${file}, or another file of src, assigns ${name}`).not.toEqual([]);
    const stated = Number(number.replaceAll(',', ''));
    expect([stated, stated * (units[unit] ?? 1)].some((value) => found.map(amountOf).includes(value))).toBe(
      true,
    );
  });
});

describe('the messages of the log', () => {
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

  /** In these calls, only messages contain a space. */
  const logged = sources.flatMap((source) => [
    ...[...source.matchAll(/(?:[lL]ogger(?:\.(?:warn|error)|\[level\])|warnings\.push)\(/g)].flatMap(
      ({ 0: { length }, index }) =>
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
});
