import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { defineConfig } from 'vitepress';

const root = join(import.meta.dirname, '../..');

/** The sidebar, by the reader's role. Each entry is a page's title and its path from the project's root, without the ending. */
const pages = {
  Start: [
    ['Documentation', 'docs/README'],
    ['Quick start', 'docs/quick-start'],
    ['Sandbox bank', 'docs/sandbox'],
  ],
  'Build an app': [
    ['Clients', 'docs/clients'],
    ['Errors', 'docs/errors'],
    ['Payments', 'docs/payments'],
    ['Updates', 'docs/updates'],
    ['From REST to GraphQL', 'docs/rest-developers'],
    ['Tools for agents', 'docs/agents'],
    ['Mount', 'docs/mount'],
    ['Examples', 'examples/README'],
  ],
  'Run it': [
    ['Operate', 'docs/operate'],
    ['Configuration', 'docs/configuration'],
    ['Log, metrics and traces', 'docs/observability'],
    ['Runbook', 'docs/runbook'],
    ['Real banks', 'docs/real-banks'],
    ['Security', 'SECURITY'],
  ],
  'Maintain it': [
    ['Architecture', 'docs/architecture'],
    ['Decisions', 'docs/decisions'],
    ['Contributing', 'CONTRIBUTING'],
    ['Performance', 'docs/performance'],
    ['Specification', 'docs/specification'],
    ['Changelog', 'CHANGELOG'],
  ],
} as const;

const pathOf = (page: string) => `/${page.replace(/(^|\/)README$/, '$1')}`;
const sidebar = Object.entries(pages).map(([text, items]) => ({
  text,
  items: items.map(([title, page]) => ({ text: title, link: pathOf(page) })),
}));

export default defineConfig({
  title: 'bankql',
  description: "A GraphQL façade over a bank's REST interface.",
  // The site uses the pages of the repository in place. Nothing is copied.
  srcDir: '..',
  srcExclude: [
    '**/node_modules/**',
    'test/**',
    'src/**',
    'dist/**',
    'ops/**',
    '**/generated/**',
    '**/gql/**',
  ],
  outDir: './.vitepress/dist',
  cacheDir: './.vitepress/cache',
  // README pages are the index of their folder; their links hold in both places.
  rewrites: (page) => page.replace(/(^|\/)README\.md$/, '$1index.md'),
  cleanUrls: true,
  vite: {
    plugins: [
      {
        // Pages are outside of this folder: what they are compiled to finds the packages that are installed in it.
        name: 'packages-of-pages',
        enforce: 'pre',
        resolveId(source, importer, options) {
          if (!/^vue($|\/)/.test(source)) return null;
          if (options.ssr) return { id: source, external: true };
          if (importer?.startsWith(import.meta.dirname)) return null;
          return this.resolve(source, join(import.meta.dirname, 'config.ts'), { ...options, skipSelf: true });
        },
      },
    ],
  },
  // Fonts and everything else come from the site itself.
  head: [['meta', { name: 'referrer', content: 'no-referrer' }]],
  themeConfig: {
    nav: [
      { text: 'Build an app', link: pathOf('docs/quick-start') },
      { text: 'Run it', link: pathOf('docs/operate') },
      { text: 'Maintain it', link: pathOf('docs/architecture') },
    ],
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
  },
  markdown: {
    // As GitHub makes them, so that links to headings hold in both places.
    anchor: {
      slugify: (heading) =>
        heading
          .trim()
          .toLowerCase()
          .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
          .replaceAll(' ', '-'),
    },
    config(markdown) {
      const fence = markdown.renderer.rules.fence;
      markdown.renderer.rules.fence = (tokens, index, options, env, self) => {
        const token = tokens[index];
        if (token?.info.trim() !== 'mermaid') return fence?.(tokens, index, options, env, self) ?? '';
        return `<Mermaid code="${encodeURIComponent(token.content)}" />`;
      };
      // Links to files that are not pages (sources, manifests) hold in the repository only: here they are their text.
      markdown.core.ruler.push('links_to_files', (state) => {
        for (const { children } of state.tokens) {
          const open: boolean[] = [];
          for (const token of children ?? []) {
            if (token.type === 'link_open') {
              const href = token.attrGet('href') ?? '';
              const [path = ''] = href.split('#');
              const isFile =
                path !== '' && !/^[a-z]+:/.test(path) && !isPage(state.env.relativePath ?? '', path);
              open.push(isFile);
              if (isFile) Object.assign(token, { type: 'text', tag: '', content: '', attrs: null });
            } else if (token.type === 'link_close' && open.pop())
              Object.assign(token, { type: 'text', tag: '', content: '' });
          }
        }
      });
    },
  },
});

/** Whether a relative link of a page leads to a page of the site. */
function isPage(from: string, path: string): boolean {
  const target = posix.normalize(posix.join(posix.dirname(from), decodeURI(path)));
  if (target.startsWith('src/') || target.startsWith('ops/') || target.startsWith('test/')) return false;
  return target.endsWith('.md') && existsSync(join(root, target));
}
