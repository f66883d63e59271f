import type { IncomingMessage } from 'node:http';

/** The parts of a request that are inspected before its body is read, independent of the HTTP server. */
export interface IncomingRequest {
  /** The request line's target: a path and its query. */
  readonly target: string;
  /** The values of a header, one for each occurrence; `name` in lower case. */
  header(name: string): readonly string[];
}

/** Reads Node's raw headers, in which a header sent twice differs from one value with a comma. */
export function fromNodeRequest({
  url,
  rawHeaders,
}: Pick<IncomingMessage, 'url' | 'rawHeaders'>): IncomingRequest {
  return {
    target: url ?? '/',
    header(name) {
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
    },
  };
}

export const fromFetchRequest = ({ url, headers }: Request): IncomingRequest => ({
  target: url,
  header: (name) => [headers.get(name) ?? []].flat(),
});

/**
 * The query of a request target, parsed in the same way everywhere: names and values percent-decoded, without a
 * fragment. The target need not be a valid URL: `//:?a=b` has a query too.
 */
export function queryOf(target: string): URLSearchParams {
  const [beforeFragment = ''] = target.split('#', 1);
  const start = beforeFragment.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : beforeFragment.slice(start + 1));
}
