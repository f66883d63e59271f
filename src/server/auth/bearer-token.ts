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

/** The request's token; null if it has none. A malformed token is '', which fails verification. */
export function bearerToken(request: Pick<IncomingRequest, 'header'>): string | null {
  const values = request.header('authorization');
  if (values.length === 0) return null;
  const [value = ''] = values;
  const token = /^Bearer +(\S+)$/i.exec(value)?.[1] ?? '';
  return values.length === 1 && token.length <= maxToken && isToken(token) ? token : '';
}
