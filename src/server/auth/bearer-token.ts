import type { IncomingRequest } from './incoming-request.ts';

const maxToken = 8192;

/** Base64url in which there is one text only for what it stands for: no padding, no other alphabet, no stray bits. */
const isCanonical = (part: string): boolean => Buffer.from(part, 'base64url').toString('base64url') === part;

/**
 * Three parts (JWS compact serialization, RFC 7515), as they are written by the rules. Verifiers are more tolerant. The
 * signature may be empty: whoever verifies says then that nobody signed it.
 */
function isToken(text: string): boolean {
  const parts = text.split('.', 4);
  return parts.length === 3 && parts[0] !== '' && parts[1] !== '' && parts.every(isCanonical);
}

/** The tokens of requests: who counts a request and who verifies it both ask. */
const tokens = new WeakMap<IncomingRequest, string | null>();

/** The request's token; null where it has none. What is no token is one that no key fits: ''. */
export function bearerToken(request: IncomingRequest): string | null {
  let token = tokens.get(request);
  if (token === undefined) {
    token = readToken(request);
    tokens.set(request, token);
  }
  return token;
}

function readToken(request: IncomingRequest): string | null {
  const values = request.header('authorization');
  if (values.length === 0) return null;
  const [value = ''] = values;
  const token = /^Bearer +(\S+)$/i.exec(value)?.[1] ?? '';
  return values.length === 1 && token.length <= maxToken && isToken(token) ? token : '';
}

/**
 * Tells callers apart by what their tokens claim, before anybody has verified those: the same for each signature of it, of
 * which there can be many. Requests without one, or with what is none, have one key together.
 */
export function callerKeyByToken(request: IncomingRequest): string {
  const token = bearerToken(request) ?? '';
  return token.slice(0, Math.max(0, token.lastIndexOf('.')));
}
