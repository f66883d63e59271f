import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { getOrMake } from '../../get-or-make.ts';
import { fieldsInRest } from '../../schema/rest-extensions.ts';
import { schema } from '../../schema/schema.ts';
import type { WholeAnswer } from '../exchange.ts';
import type { GraphiQLFile } from '../head.ts';

export interface GraphiQLOptions {
  /** The headers that GraphiQL's tabs send, such as those of the sandbox's alice; null for placeholders. */
  readonly headers: Readonly<Record<string, string>> | null;
  /** Whether the headers are only for the sandbox bank, so that the browser may store them without asking (default: false). */
  readonly areTestHeaders?: boolean;
}

/**
 * Header values that the user of GraphiQL replaces. With empty headers, the server would refuse even the query for the schema's
 * documentation.
 */
const placeholders = {
  'Ocp-Apim-Subscription-Key': 'your subscription key',
  'Auth-Provider-Name': 'your auth provider',
  'Auth-ID': 'your id',
};

/**
 * The page may run only this server's files, and connect only to this server. Inline styles are allowed, because GraphiQL's
 * editors create style sheets.
 */
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/** The settings that browser/main.js reads. */
function settingsOf(
  { headers, areTestHeaders = false }: GraphiQLOptions,
  examples: readonly string[],
  explains: boolean,
): string {
  const shown = JSON.stringify(headers ?? placeholders, null, 2);
  const settings = { headers: shown, examples, areTestHeaders, explains };
  // The escape prevents a text in the settings from closing the surrounding element.
  return JSON.stringify(settings).replaceAll('<', '\\u003c');
}

/**
 * Renders GraphiQL's page. `assets` is the path of its files, relative to the page, because a proxy may have put a path in front
 * of both.
 */
const renderPage = (settings: string, assets: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>bankql · GraphiQL</title>
    <link rel="icon" href="${assets}/favicon.svg" />
    <link rel="stylesheet" href="${assets}/graphiql.css" />
    <link rel="stylesheet" href="${assets}/page.css" />
  </head>
  <body>
    <noscript>GraphiQL needs JavaScript.</noscript>
    <div class="graphiql-container page">
      <div id="graphiql"></div>
      <aside id="calls" aria-label="REST calls" hidden></aside>
    </div>
    <script type="application/json" id="settings">${settings}</script>
    <script src="${assets}/graphiql.js" defer></script>
    <script type="module" src="${assets}/main.js"></script>
  </body>
</html>
`;

/** bankql's part of the page: a browser runs these files as they are. */
const ownFiles = [
  'main.js',
  'fetcher.js',
  'calls-panel.js',
  'storage.js',
  'page.css',
  'favicon.svg',
] as const;

const types: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  json: 'application/json',
  svg: 'image/svg+xml',
};

const readBrowserFile = (name: string) => readFile(new URL(`browser/${name}`, import.meta.url));

/**
 * The operations that GraphiQL opens with, one in each tab. They run as they are against the sandbox bank; their comments
 * fit next to the panel of calls in a window of 1280 pixels.
 */
export const readExamples = async (): Promise<readonly string[]> =>
  (await readBrowserFile('examples.graphql')).toString().split(/(?<=\n)\n/);

/** Loads and hashes the files. This needs 40 MB and time, so it is done once, when the page is first requested. */
async function loadAssets() {
  const bundle = await import('@graphql-yoga/render-graphiql/graphiql');
  const own = await Promise.all(ownFiles.map(async (name) => [name, await readBrowserFile(name)] as const));
  const texts = {
    'graphiql.js': bundle.js,
    'graphiql.css': bundle.css,
    'editor.worker.js': bundle.editorWorkerService,
    'json.worker.js': bundle.jsonWorker,
    'graphql.worker.js': bundle.graphqlWorker,
    'rest.json': JSON.stringify(fieldsInRest(schema)),
  };
  const files = [...own, ...Object.entries(texts).map(([name, text]) => [name, Buffer.from(text)] as const)];
  const contents = createHash('sha256');
  for (const [name, body] of files) contents.update(`${name} ${body.length}\n`).update(body);
  return { hash: contents.digest('hex').slice(0, 16), files: new Map(files), examples: await readExamples() };
}

const zip = promisify(gzip);

/** Whether a client accepts gzip, by its Accept-Encoding. */
const takesGzip = (accepted: string): boolean => /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(accepted);

/** A segment of a path, escaped for HTML and a relative URL. */
const plainSegment = (segment: string) => segment.replaceAll(/[^\w.~%-]/g, encodeURIComponent) || '.';

/**
 * Answers a browser's GET of GraphiQL's page and files. `explains`: whether requests may ask for an explanation of their REST
 * calls. The page has its own headers for caching and for permitted scripts.
 */
export function createGraphiQL(options: GraphiQLOptions, explains: boolean) {
  let loading: ReturnType<typeof loadAssets> | null = null;
  const load = () => {
    loading ??= loadAssets();
    return loading;
  };
  /** The compressed files. A file is compressed at its first request. */
  const zipped = new Map<string, Promise<Buffer<ArrayBuffer>>>();

  return {
    /** `target`: the request target of the page. */
    async page(target: string): Promise<WholeAnswer> {
      const { hash, examples } = await load();
      // The path of the files is relative to the page, because a proxy may have put a prefix in front of both.
      const [folder = ''] = /[^/?#]*(?=[?#]|$)/.exec(target) ?? [];
      const headers = {
        'Content-Type': 'text/html; charset=utf-8',
        'Cache-Control': 'no-cache',
        'Content-Security-Policy': pagePolicy,
        // Caches must distinguish by `Accept`, because the same URL also serves GraphQL.
        Vary: 'Accept',
      };
      const html = renderPage(
        settingsOf(options, examples, explains),
        `${plainSegment(folder)}/graphiql-${hash}`,
      );
      return { status: 200, headers: Object.entries(headers).flat(), body: html };
    },

    async file({ version, name }: GraphiQLFile, acceptedEncodings: string): Promise<WholeAnswer> {
      const { hash, files } = await load();
      const file = version === hash ? files.get(name) : undefined;
      if (file === undefined) {
        const headers = ['Content-Type', 'text/plain; charset=utf-8'];
        return { status: 404, headers, body: 'There is no such file; reload the page.' };
      }
      const isZipped = takesGzip(acceptedEncodings);
      const headers = {
        'Content-Type': types[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
        'Cache-Control': 'public, max-age=31536000, immutable',
        Vary: 'Accept-Encoding',
        ...(isZipped ? { 'Content-Encoding': 'gzip' } : {}),
      };
      const body = isZipped ? await getOrMake(zipped, name, () => zip(file)) : file;
      return { status: 200, headers: Object.entries(headers).flat(), body };
    },
  };
}
