import type { IncomingMessage } from 'node:http';
import { badUserInput } from '../errors.ts';
import { ownCopy } from '../own-copy.ts';

/**
 * The head of a request, as node:http gives it. The raw headers are included because only they distinguish a repeated header from
 * a value with a comma.
 */
export interface Head extends Pick<IncomingMessage, 'method' | 'url' | 'headers' | 'rawHeaders'> {
  /** Express adds this: the target as it was sent. Its `url` lacks the path at which bankql is mounted. */
  readonly originalUrl?: string;
  readonly baseUrl?: string;
}

/** Those parts of a request that identify the caller. */
export type IncomingHead = Pick<Head, 'url' | 'rawHeaders'>;

/** The values of a header, one for each occurrence; `name` in lower case. */
export function headerValues(rawHeaders: readonly string[], name: string): readonly string[] {
  let values: string[] | null = null;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] ?? '';
    if (given.length !== name.length || given.toLowerCase() !== name) continue;
    const value = rawHeaders[at + 1] ?? '';
    // The array starts with its usual single value: one that starts empty would reserve memory for more.
    if (values === null) values = [value];
    else values.push(value);
  }
  return values ?? [];
}

/** Converts alternating names and values to pairs. */
export const headerPairs = (headers: readonly string[]): [string, string][] =>
  headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1] ?? '']] : []));

/**
 * The query of a request target, parsed in the same way everywhere: names and values percent-decoded, without a
 * fragment. The target need not be a valid URL: `//:?a=b` has a query too.
 * Errors: BAD_USER_INPUT if it is not UTF-8.
 */
export function queryOf(target: string) {
  const [beforeFragment = ''] = target.split('#', 1);
  const start = beforeFragment.indexOf('?');
  const text = start === -1 ? '' : beforeFragment.slice(start + 1);
  if (!isUtf8(text)) throw badUserInput('The query of the URL is not UTF-8.');
  const query = new URLSearchParams(text);
  // The texts are copied: documents and callers' names outlive the request, and would otherwise keep its
  // whole URL in memory.
  return { getAll: (name: string): readonly string[] => query.getAll(name).map(ownCopy) };
}

/**
 * Whether the percent-encoded bytes are UTF-8: URLSearchParams would replace invalid bytes by U+FFFD. A `%` that encodes nothing
 * is text.
 */
function isUtf8(text: string): boolean {
  if (!text.includes('%')) return true;
  try {
    decodeURIComponent(text.replaceAll(/%(?![\da-f]{2})/gi, '%25'));
    return true;
  } catch {
    return false;
  }
}

/** A page that bankql serves beside GraphQL, or a file of GraphiQL's page. */
export type Page = 'graphiql' | '/health' | '/ready' | 'resource metadata' | GraphiQLFile;
/** The kind of a request, by its target; null if bankql does not serve it. */
export type Place = 'operation' | 'tools' | Page | null;

export interface GraphiQLFile {
  /** The hash of all files of GraphiQL's page, which is a part of their paths. */
  readonly version: string;
  readonly name: string;
}

const toolsPath = '/mcp';

/** What the server offers beside GraphQL. */
interface Served {
  readonly graphiql: boolean;
  /** Tools for agents. */
  readonly tools: boolean;
  /** The path of the metadata of the tools for agents; null if bankql serves no metadata. */
  readonly metadata: string | null;
}

/**
 * Finds what a request asks for. `path` is where GraphQL is served; a proxy or a host may have put a prefix in front of it. If a
 * host such as Express serves bankql below a mount point, GraphQL is served at the mount point itself, too.
 */
export function requestedPlace(
  { method, url = '/', originalUrl, baseUrl, headers }: Head,
  path: string,
  served: Served,
): Place {
  const own = pathOf(url);
  const canShow = served.graphiql && (method === 'GET' || method === 'HEAD');
  // Clients look for metadata below this path. A path of metadata may end with the path of the tools, but
  // does not lead to the tools.
  if (own.startsWith('/.well-known/')) return own === served.metadata ? 'resource metadata' : null;
  if (served.tools && isAt(own, originalUrl, toolsPath)) return 'tools';
  const isGraphQL = isAt(own, originalUrl, path) || (Boolean(baseUrl) && own === '');
  if (isGraphQL) return canShow && headers.accept?.includes('text/html') ? 'graphiql' : 'operation';
  if (own === '/health' || own === '/ready') return own;
  const [, version, name] = (canShow && graphiqlFile.exec(own)) || [];
  return version === undefined || name === undefined ? null : { version, name };
}

/** The path of a request target, without a slash at its end. */
export function pathOf(target: string): string {
  const end = target.search(/[?#]/);
  const path = end === -1 ? target : target.slice(0, end);
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

/** `original`: the target as it was before a host such as Express removed the mount point from it. */
const isAt = (own: string, original: string | undefined, end: string): boolean =>
  isBelow(own, end) || (original !== undefined && isBelow(pathOf(original), end));

const isBelow = (path: string, end: string): boolean => path === end || (end !== '' && path.endsWith(end));

const graphiqlFile = /\/graphiql-([0-9a-f]{16})\/([\w.-]+)$/;
