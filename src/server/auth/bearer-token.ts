import type { IncomingRequest } from '../request.ts';

const maxToken = 8192;

/** Whether this is canonical base64url: no padding, no other alphabet, no stray bits. */
const isCanonical = (part: string): boolean => Buffer.from(part, 'base64url').toString('base64url') === part;

/**
 * Whether this is a strict JWS compact serialization (RFC 7515): three parts. Verifiers are more tolerant. The
 * signature may be empty: verification then reports an unsigned token.
 */
function isToken(text: string): boolean {
  const parts = text.split('.', 4);
  return parts.length === 3 && parts[0] !== '' && parts[1] !== '' && parts.every(isCanonical);
}

/** Caches the tokens of requests, which are read both to count a request and to verify it. */
const tokens = new WeakMap<IncomingRequest, string | null>();

/** The request's token; null if it has none. A malformed token is '', which fails verification. */
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
 * Identifies a caller by the signed part of the token, before it is verified. The signature is left out, because there
 * can be many for the same claims. Requests without a token, or with a malformed one, share one key.
 */
export function callerKeyByToken(request: IncomingRequest): string {
  const token = bearerToken(request) ?? '';
  return token.slice(0, Math.max(0, token.lastIndexOf('.')));
}
