import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path/posix';
import { expect, test } from 'vitest';
import { coveredElsewhere } from './support/covered-elsewhere.ts';

/** Tests mirror the sources: the test of src/a/b.ts is test/a/b.test.ts, or test/support/covered-elsewhere.ts says which. */

const root = join(import.meta.dirname, '..');
const textOf = (file: string) => readFileSync(join(root, file), 'utf8');
const testOf = (source: string) => `test/${source}.test.ts`;

const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => /(?<!\.d|\.generated)\.ts$/.test(file))
  .map((file) => file.slice(0, -'.ts'.length));

/** Whether a file does nothing when it runs: all that begins a line of it is a type, or the import of one. */
function holdsTypesAlone(source: string): boolean {
  const statements = textOf(`src/${source}.ts`)
    .replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
    .match(/^\w.*/gm);
  return (statements ?? []).every((line) => /^(export )?(import )?(type|interface)\b/.test(line));
}

const untested = sources.filter(
  (source) => !existsSync(join(root, testOf(source))) && !holdsTypesAlone(source),
);
const entries = coveredElsewhere.flatMap(({ folder, files, ...coverage }) =>
  files.map((file) => ({ source: join(folder, file), ...coverage })),
);

/** Files that a file imports or starts. */
const targets = new Map<string, readonly string[]>();
function targetsOf(file: string): readonly string[] {
  const known = targets.get(file);
  if (known !== undefined) return known;
  const text = textOf(file);
  const found = [...text.matchAll(/'(\.{1,2}\/[^'\n]+\.ts)'/g)]
    .map(([, target = '']) => join(dirname(file), target))
    .filter((path) => existsSync(join(root, path)));
  // The thread of a worker is named without its ending.
  for (const [, name = ''] of text.matchAll(/\bmodule: '([\w-]+)'/g))
    found.push(join(dirname(file), `${name}.ts`));
  if (/\b(start|run)Process\(/.test(text)) found.push('src/main.ts');
  targets.set(file, found);
  return found;
}

/** Those, and what they import or start in turn. */
function reachedFrom(file: string): ReadonlySet<string> {
  const reached = new Set([file]);
  for (const from of reached) for (const target of targetsOf(from)) reached.add(target);
  return reached;
}

test('every source has a test of its name, or a line in test/support/covered-elsewhere.ts that says which test covers it', () => {
  const listed = new Set(entries.map(({ source }) => source));
  expect(untested.filter((source) => !listed.has(source)).map(testOf)).toEqual([]);
});

test('every line of test/support/covered-elsewhere.ts is needed, once, and has its reason', () => {
  const needed = new Set(untested);
  expect(entries.filter(({ source, why }) => !needed.delete(source) || why === '')).toEqual([]);
});

test('a test that is said to cover a source reaches it', () => {
  const reached = new Map(
    [...new Set(entries.map(({ coveredBy }) => coveredBy))].map((name) => [
      name,
      reachedFrom(`test/${name}`),
    ]),
  );
  const unreached = entries.filter(
    ({ source, coveredBy }) => !reached.get(coveredBy)?.has(`src/${source}.ts`),
  );
  expect(
    unreached.map(({ source, coveredBy }) => `test/${coveredBy} does not reach src/${source}.ts`),
  ).toEqual([]);
});
