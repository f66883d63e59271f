import { hash } from 'node:crypto';
import { BoundedResult } from '../engine/bounded-result.ts';
import type { GraphQLHttpResponse } from './http-response.ts';

/** Whether a GET's answer may be kept, and by anybody: all of it is public data, fresh and without an error. */
export const isCacheable = ({ status, result, headers }: GraphQLHttpResponse): boolean =>
  status === 200 &&
  result instanceof BoundedResult &&
  result.isCacheable &&
  headers[1]?.includes('json') === true;

/** Weak: the same answer may be encoded in one way or another. */
const etagOf = (body: GraphQLHttpResponse['body']): string =>
  `W/"${hash('sha256', body, 'base64url').slice(0, 27)}"`;

const isKnown = (ifNoneMatch: string | undefined, etag: string): boolean =>
  ifNoneMatch
    ?.split(',')
    .some((each) => each.trim() === '*' || each.trim().replace(/^(W\/)?/, 'W/') === etag) === true;

/**
 * The answer with what HTTP caches go by, or 304 where its client has it already. What is answered differs by `Accept`: a
 * browser's page may have the same address.
 */
export function forCaches(
  answer: GraphQLHttpResponse,
  ifNoneMatch: string | undefined,
  maxAgeSeconds: number,
): GraphQLHttpResponse {
  const etag = etagOf(answer.body);
  const caching = ['Cache-Control', `public, max-age=${maxAgeSeconds}`, 'ETag', etag, 'Vary', 'Accept'];
  if (isKnown(ifNoneMatch, etag)) return { ...answer, status: 304, headers: caching, body: '' };
  return { ...answer, headers: [...answer.headers, ...caching] };
}
