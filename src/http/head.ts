import type { IncomingMessage } from 'node:http';
import { badUserInput } from '../errors.ts';
import { ownCopy } from '../own-copy.ts';

/**
 * The head of a request, as node:http gives it. Only raw headers distinguish a header that is sent twice from a value with a
 * comma.
 */
export type Head = Pick<IncomingMessage, 'method' | 'url' | 'headers' | 'rawHeaders'>;

/** The parts that identify the caller. */
export type IncomingHead = Pick<Head, 'url' | 'rawHeaders'>;

/** The values of a header, one for each occurrence; `name` in lower case. */
export function headerValues(rawHeaders: readonly string[], name: string): readonly string[] {
  let values: string[] | null = null;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] ?? '';
    if (given.length !== name.length || given.toLowerCase() !== name) continue;
    const value = rawHeaders[at + 1] ?? '';
    // Usually there is only one value: an array that starts empty would reserve room for more.
    if (values === null) values = [value];
    else values.push(value);
  }
  return values ?? [];
}

/** Names and values in turn, as pairs. */
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
  // Documents and the names of callers are kept for longer than the request.
  return { getAll: (name: string): readonly string[] => query.getAll(name).map(ownCopy) };
}

/** Whether percent-encoded bytes are UTF-8: URLSearchParams would replace the others by U+FFFD. A `%` that encodes nothing is text. */
function isUtf8(text: string): boolean {
  if (!text.includes('%')) return true;
  try {
    decodeURIComponent(text.replaceAll(/%(?![\da-f]{2})/gi, '%25'));
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether a request target is the endpoint's, `/graphql`; a proxy may have put a path in front of it. All other targets are
 * pages, health checks, or not found.
 */
export const isEndpoint = (target: string): boolean => /^[^?#]*\/graphql\/?(?:[?#]|$)/.test(target);
