import { createHash } from 'node:crypto';
import type { IncomingRequest } from '../request.ts';
import { type Assets, loadAssets } from './assets.ts';
import { exampleOperations } from './example-operations.ts';

export interface GraphiQLOptions {
  /** The headers that its tabs send, such as the sandbox's alice; null for ones to be filled in. */
  readonly headers: Readonly<Record<string, string>> | null;
  /** Whether these open nothing but the sandbox bank, so that a browser may keep them unasked; false if left out. */
  readonly areTestHeaders?: boolean;
}

/** Headers to be overwritten: empty ones would be refused, and with them the schema's documentation. */
const placeholders = {
  'Ocp-Apim-Subscription-Key': 'your subscription key',
  'Auth-Provider-Name': 'your auth provider',
  'Auth-ID': 'your id',
};

/** The page runs only this server's files, and talks only to this server. GraphiQL's editors make their style sheets. */
export const pagePolicy = [
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

/** What browser/main.js reads. */
function settingsOf({ headers, areTestHeaders = false }: GraphiQLOptions, explains: boolean): string {
  const shown = JSON.stringify(headers ?? placeholders, null, 2);
  const settings = { headers: shown, examples: exampleOperations, areTestHeaders, explains };
  // No text of it ends the element that contains it.
  return JSON.stringify(settings).replaceAll('<', '\\u003c');
}

/** GraphiQL's page. `assets` is where its files are, relative to it: a proxy may have put a path in front of both. */
export const renderPage = (
  options: GraphiQLOptions,
  explains: boolean,
  assets: string,
): string => `<!doctype html>
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
    <script type="application/json" id="settings">${settingsOf(options, explains)}</script>
    <script src="${assets}/graphiql.js" defer></script>
    <script type="module" src="${assets}/main.js"></script>
  </body>
</html>
`;

/** Answers a browser's GET of GraphiQL's page, and of what it loads; null where something else is asked for. */
export type GraphiQLHandler = (
  request: Pick<IncomingRequest, 'header'> & { readonly method: string; readonly path: string },
) => Promise<Response> | null;

const assetPath = /^\/graphql\/graphiql-([0-9a-f]{16})\/([\w.-]+)$/;

/** `explains`: whether requests may ask for their calls. */
export function createGraphiQLHandler(options: GraphiQLOptions, explains: boolean): GraphiQLHandler {
  let loading: Promise<Assets> | null = null;
  const load = () => {
    loading ??= loadAssets();
    return loading;
  };

  async function page(known: string): Promise<Response> {
    const { hash } = await load();
    const html = renderPage(options, explains, `graphql/graphiql-${hash}`);
    const etag = `"${createHash('sha256').update(html).digest('base64url')}"`;
    const headers = {
      'Content-Type': 'text/html; charset=utf-8',
      'Cache-Control': 'no-cache',
      'Content-Security-Policy': pagePolicy,
      // The same address answers GraphQL.
      Vary: 'Accept',
      ETag: etag,
    };
    const isKnown = known.split(',').some((each) => each.trim().replace(/^W\//, '') === etag);
    return isKnown ? new Response(null, { status: 304, headers }) : new Response(html, { headers });
  }

  async function asset(hash: string, name: string, accepted: string): Promise<Response> {
    const assets = await load();
    const found = hash === assets.hash ? assets.response(name, accepted) : null;
    return found ?? new Response('There is no such file; reload the page.', { status: 404 });
  }

  return ({ method, path, header }) => {
    if (method !== 'GET') return null;
    const [, hash, name] = assetPath.exec(path) ?? [];
    if (hash !== undefined && name !== undefined) return asset(hash, name, header('accept-encoding').join());
    if (path !== '/graphql' || !header('accept').join().includes('text/html')) return null;
    return page(header('if-none-match').join());
  };
}
