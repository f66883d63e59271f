import { badUserInput } from '../errors.ts';

export const globalIdDescription = 'Globally unique; opaque; give it to `node`.';

/** `key` is the node's key as JSON, which tells its parts apart whatever they hold. */
export const encodeGlobalId = (typename: string, key: string): string =>
  Buffer.from(`${typename}:${key}`, 'utf8').toString('base64url');

/**
 * A global id taken apart.
 * Errors: BAD_USER_INPUT where bankql has not made it, to the letter.
 */
export function decodeGlobalId(globalId: string): { readonly typename: string; readonly key: unknown } {
  const text = Buffer.from(globalId, 'base64url').toString('utf8');
  const colon = text.indexOf(':');
  const typename = text.slice(0, Math.max(colon, 0));
  let key: unknown;
  try {
    key = JSON.parse(text.slice(colon + 1));
  } catch {
    throw forged();
  }
  if (encodeGlobalId(typename, JSON.stringify(key)) !== globalId) throw forged();
  return { typename, key };
}

export const forged = () =>
  badUserInput('This is not a global id of this schema: give back an `id` as it was answered.');
