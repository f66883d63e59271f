import { hash } from 'node:crypto';
import { credentialHeaders } from '../bank/credentials.ts';
import { BoundedResult } from '../engine/bounded-result.ts';
import { explainHeader } from '../engine/explain.ts';
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
 * Request headers that the answer depends on: a browser's page may have the same URL, another subscription key may see
 * other data, and the calls may be asked for.
 */
const varying = ['Accept', credentialHeaders.subscriptionKey, explainHeader].join(', ');

/** The answer with the headers for HTTP caches, or 304 if its client has it already. */
export function forCaches(
  answer: GraphQLHttpResponse,
  ifNoneMatch: string | undefined,
  maxAgeSeconds: number,
): GraphQLHttpResponse {
  const etag = etagOf(answer.body);
  const caching = ['Cache-Control', `public, max-age=${maxAgeSeconds}`, 'ETag', etag, 'Vary', varying];
  if (isKnown(ifNoneMatch, etag)) return { ...answer, status: 304, headers: caching, body: '' };
  return { ...answer, headers: [...answer.headers, ...caching] };
}
