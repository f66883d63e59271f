import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

/** Pages are written in plain English: this test finds forms that are hard at first read. */

const root = join(import.meta.dirname, '../..');

/** A form to avoid, and a plain one. */
const forms: readonly (readonly [form: RegExp, plainly: string])[] = [
  [/^(?:[-*] )?What [^.?:]{1,80}?\b(?:is|are|was|were|has|costs?|came|holds?)\b[^?]*$/, 'name the subject'],
  [/^(?:[-*] )?(?:Who|Whoever) [^?]*$/, '"clients that", "callers that"'],
  [/^(?:[-*] )?Of (?:the|a|all|these|those|it)\b/, 'begin with the subject'],
  [/\b(?:is|are|was|were) told\b/, '"bankql reports", "see"'],
  [/\b(?:is|are) none\b/, '"is not a", "there is no"'],
  [/\banew\b/, '"again"'],
  [/\bstands? (?:in|at|for|beside|below|above|there|behind)\b/, '"is in", "replaces"'],
  [/\bof (?:which|whom)\b/, 'two sentences'],
  [/\bso it is\b/i, '"the same applies to"'],
  [/\bwho (?:accepts?|asks|begins|sends|calls|waits|leaves|wants)\b/, '"clients that"'],
  [/\bwhere (?:it|one|that|there|he|they|none|nobody|somebody) (?:is|are|was|were|can|has|have)\b/, '"if"'],
  [/\bbeside\b/, '"next to", "with"'],
  [/\balone\b(?! (?:is|does|cannot))/, '"only"'],
  [/\bheld against\b/, '"compared with"'],
  [/\b(?:its|their) own words\b/, 'quote the text'],
  [/\bas ever\b/, '"as usual"'],
  [/\bnor (?:is|are|does|do|has) (?:it|they|there)\b/, 'two sentences'],
];

/** The bank's own specification, and the page made from the schema's descriptions. */
const exempt = ['docs/specification.md', 'docs/schema.md'];

const pages = globSync('{*.md,{docs,examples,bench}/**/*.md}', { cwd: root, exclude: ['**/node_modules'] })
  .map((page) => page.replaceAll('\\', '/'))
  .filter((page) => !page.includes('node_modules') && !exempt.some((start) => page.startsWith(start)))
  .sort();

/** The sentences of a page, without code, links' targets and tables' bars. */
function sentencesOf(text: string): string[] {
  return (
    text
      .replaceAll(/^```[\s\S]*?^```$/gm, '')
      .replaceAll(/`[^`\n]*`/g, 'code')
      // The name of an invariant, as it is in the code.
      .replaceAll('no answer claims that nothing was sent where it was', 'invariant')
      .replaceAll(/\]\([^)]*\)/g, ']')
      .split(/\n\n|\n(?=[-*|#] ?)| \| /)
      .flatMap((block) => block.replaceAll(/\s+/g, ' ').split(/(?<=[.:!?]) (?=[A-Z"*[])/))
      .map((sentence) => sentence.replace(/^\| /, '').trim())
  );
}

/** Where a text has a form to avoid. */
const hardForms = (text: string): string[] =>
  sentencesOf(text).flatMap((sentence) =>
    forms.filter(([form]) => form.test(sentence)).map(([, plainly]) => `${sentence} → ${plainly}`),
  );

test('the forms are found', () => {
  for (const sentence of [
    'What a query costs is told.',
    'Who accepts several results gets them.',
    'Of the three, one is used.',
    'It stands in the log.',
    'There is none; the header is none.',
  ])
    expect(hardForms(sentence)).not.toEqual([]);
  expect(hardForms('See the cost of a query. Clients that accept JSON get one result.')).toEqual([]);
});

describe('pages avoid forms that are hard at first read', () => {
  test.each(pages)('%s', (page) => {
    expect(hardForms(readFileSync(join(root, page), 'utf8'))).toEqual([]);
  });
});

/** The texts of a source that people read: strings with several words. Generated files and the schema's own files are left out. */
const textsOf = (source: string): string[] =>
  [
    ...source
      .replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
      .matchAll(/'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g),
  ]
    .map(([, a, b, c]) => a ?? b ?? c ?? '')
    .filter((text) => / \w+ /.test(text));

/** The comments of a source, without their marks. */
const commentsOf = (source: string): string[] =>
  [...source.matchAll(/\/\*[\s\S]*?\*\/|(?:^\s*\/\/.*\n)+/gm)].map(([comment]) =>
    comment.replaceAll(/^\s*(?:\/\*+|\*(?!\/)|\/\/) ?|\s*\*\/$/gm, ''),
  );

test('the forms are found in comments', () => {
  const source =
    '/** What a key is. */\nconst a = 1;\n/**\n * It stands\n * in a log.\n */\n  // Read\n  // anew.\n';
  expect(commentsOf(source).map((comment) => hardForms(comment).length)).toEqual([1, 1, 1]);
});

describe('comments avoid them too', () => {
  const sources = globSync('src/**/*.ts', { cwd: root })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => !/generat/.test(file));
  test.each(sources)('%s', (file) => {
    expect(commentsOf(readFileSync(join(root, file), 'utf8')).flatMap(hardForms)).toEqual([]);
  });
});

describe('messages, --help and descriptions of variables avoid them too', () => {
  const sources = globSync('src/**/*.ts', { cwd: root })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => !/generat|^src\/(schema|contract)\//.test(file));
  test.each(sources)('%s', (file) => {
    expect(textsOf(readFileSync(join(root, file), 'utf8')).flatMap(hardForms)).toEqual([]);
  });
});
