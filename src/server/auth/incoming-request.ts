import type { IncomingMessage } from 'node:http';

/** What is looked at of a request before its body is read, whatever brings it. */
export interface IncomingRequest {
  /** The request line's target: a path and its query. */
  readonly target: string;
  /** The values of a header, one for each time that it was sent; `name` in lower case. */
  header(name: string): readonly string[];
}

/** Node's request tells a header that was sent twice from one with a comma. */
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
        // One is all there mostly is: a list that begins empty has room for many.
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
 * The query of a target, read once and for all in the same way: names and values percent-decoded, a fragment left out.
 * It needs no URL: a target that is none (`//:?a=b`) has a query all the same.
 */
export function queryOf(target: string): URLSearchParams {
  const [beforeFragment = ''] = target.split('#', 1);
  const start = beforeFragment.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : beforeFragment.slice(start + 1));
}
