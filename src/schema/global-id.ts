import { validateId } from '../bank/ids.ts';
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

/** Every type that has global ids, as its node type names it (node-type.ts). */
export const globalIdTypes = new Set<string>();

/** How all base64url texts begin whose first byte is a capital letter, as those of type names are. */
const capital = /^[Q-W][A-Za-z0-9_-]+$/;

/**
 * An id of the bank's that an argument gives. `name` is the argument's.
 * Errors: BAD_USER_INPUT where it is a global id, which says what to give instead.
 */
export function notGlobalId(name: string, id: string): string {
  if (!capital.test(id)) return id;
  const typename = typeOfGlobalId(id);
  if (typename === null) return id;
  const field = `${typename.charAt(0).toLowerCase()}${typename.slice(1)}Id`;
  throw badUserInput(
    `${name} takes an id of the bank's, and this is a global \`id\` of the type ${typename}, which only \`node\` and \`nodes\` take. The bank's id is in its field \`${field}\`.`,
  );
}

/** An argument's id that can be a segment of a path (bank/ids.ts). Errors: BAD_USER_INPUT, as above too. */
export const restId = (name: string, id: string): string => validateId(name, notGlobalId(name, id));

/** The type that a global id of this schema names; null where the text is none, to the letter. */
function typeOfGlobalId(text: string): string | null {
  try {
    const { typename, key } = decodeGlobalId(text);
    return globalIdTypes.has(typename) && Array.isArray(key) ? typename : null;
  } catch {
    return null;
  }
}
