import type { IncomingRequest } from './incoming-request.ts';

const maxToken = 8192;

/** The request's token; null where it has none. What is no token is one that no key fits: ''. */
export function bearerToken(request: IncomingRequest): string | null {
  const values = request.header('authorization');
  if (values.length === 0) return null;
  const [value = ''] = values;
  const token = /^Bearer +(\S+)$/i.exec(value)?.[1] ?? '';
  return values.length > 1 || token.length > maxToken ? '' : token;
}

/**
 * Tells callers apart by their tokens, before anybody has verified those: the same for each way to write a token down.
 * Requests without one, or with what is none, have one key together.
 */
export const callerKeyByToken = (request: IncomingRequest): string => bearerToken(request) ?? '';
