import { createHash } from 'node:crypto';
import type { IncomingRequest } from '../auth/incoming-request.ts';
import { type Assets, loadAssets } from './assets.ts';
import { type GraphiQLOptions, pagePolicy, renderPage } from './page.ts';

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
    return found ?? new Response('There is no such file; load the page anew.', { status: 404 });
  }

  return ({ method, path, header }) => {
    if (method !== 'GET') return null;
    const [, hash, name] = assetPath.exec(path) ?? [];
    if (hash !== undefined && name !== undefined) return asset(hash, name, header('accept-encoding').join());
    if (path !== '/graphql' || !header('accept').join().includes('text/html')) return null;
    return page(header('if-none-match').join());
  };
}
