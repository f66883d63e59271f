import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path/posix';
import GithubSlugger from 'github-slugger';
import { marked, type Token } from 'marked';
import { describe, expect, test } from 'vitest';

/** Every relative link of the documentation leads to a file or folder and, if it names a heading, to that heading. */

const root = join(import.meta.dirname, '../..');
/** Packages are excluded, because they may be installed into the folders of the examples at this moment. */
const find = (...patterns: string[]) => globSync(patterns, { cwd: root, exclude: ['**/node_modules'] });
const pages = find('*.md', '{docs,examples,ops,bench}/**/*.md');

function* tokensOf(page: string): Generator<Token> {
  const found: Token[] = [];
  marked.walkTokens(marked.lexer(readFileSync(join(root, page), 'utf8')), (token) => void found.push(token));
  yield* found;
}

const anchors = new Map<string, ReadonlySet<string>>();
/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): ReadonlySet<string> {
  const known = anchors.get(page);
  if (known !== undefined) return known;
  const slugger = new GithubSlugger();
  const found = new Set<string>();
  for (const token of tokensOf(page)) {
    if (token.type === 'heading') found.add(slugger.slug(plain(token)));
    // Rows of tables, such as those of the error codes, have their own anchors.
    if (token.type === 'html') for (const [, id = ''] of token.raw.matchAll(/<a id="(\w+)">/g)) found.add(id);
  }
  anchors.set(page, found);
  return found;
}

/** A heading's text without its markup. */
function plain(token: Token): string {
  if ('tokens' in token && token.tokens !== undefined) return token.tokens.map(plain).join('');
  return 'text' in token ? String(token.text) : '';
}

const linksOf = (page: string): string[] =>
  [...tokensOf(page)]
    .flatMap((token) => (token.type === 'link' || token.type === 'image' ? [String(token.href)] : []))
    .filter((href) => !/^[a-z]+:/.test(href));

/** The fault of a link; null if the link is valid. */
function faultOf(page: string, href: string): string | null {
  const [path = '', anchor] = decodeURI(href).split('#');
  const target = path === '' ? page : join(dirname(page), path);
  if (target.startsWith('..') || !existsSync(join(root, target))) return `there is no ${target}`;
  if (anchor === undefined) return null;
  if (!statSync(join(root, target)).isFile() || !target.endsWith('.md')) return `${target} has no headings`;
  return anchorsOf(target).has(anchor) ? null : `${relative('.', target)} has no heading #${anchor}`;
}

describe('the links of the documentation', () => {
  test('are found', () => {
    expect(pages).toContain('README.md');
    expect(pages.length).toBeGreaterThan(20);
    expect(pages.flatMap(linksOf).length).toBeGreaterThan(150);
    expect(faultOf('README.md', 'docs/nowhere.md')).toBe('there is no docs/nowhere.md');
    expect(faultOf('README.md', 'docs/errors.md#nothing')).toBe('docs/errors.md has no heading #nothing');
  });

  test.each(pages)('of %s lead somewhere', (page) => {
    const faults = linksOf(page).map((href) => ({ href, fault: faultOf(page, href) }));
    expect(faults.filter(({ fault }) => fault !== null)).toEqual([]);
  });
});

test('code and the files of ops/ name pages that are there', () => {
  const files = find('{src,ops,bin}/**', '.ci/run', '.ci/*/*.js').filter((file) =>
    statSync(join(root, file)).isFile(),
  );
  const named = files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/\bdocs\/[\w/-]+\.md(?:#[\w-]+)?/g)].map(
      ([href]) => ({
        file,
        fault: faultOf('README.md', href),
      }),
    ),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter(({ fault }) => fault !== null)).toEqual([]);
});

test("every page of docs/ is in its index and in the site's sidebar", () => {
  const index = new Set(linksOf('docs/README.md').map((href) => join('docs', href)));
  const sidebar = readFileSync(join(root, 'docs/.vitepress/config.ts'), 'utf8');
  const own = pages.filter((page) => /^docs\/[\w-]+\.md$/.test(page) && page !== 'docs/README.md');
  expect(own.filter((page) => !index.has(page))).toEqual([]);
  expect(own.filter((page) => !sidebar.includes(`'${page.replace('.md', '')}'`))).toEqual([]);
});
