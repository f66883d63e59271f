import { validateId } from '../../bank/ids.ts';
import { badUserInput } from '../../errors.ts';
import type { Selection } from '../../executor/selection.ts';
import type { Context } from '../context.ts';

export const globalIdDescription = 'Globally unique; opaque; give it to `node`.';

/** `key` is the node's key as JSON, which keeps its parts separate whatever characters they contain. */
export const encodeGlobalId = (typename: string, key: string): string =>
  Buffer.from(`${typename}:${key}`, 'utf8').toString('base64url');

/** Parses a global id. Errors: BAD_USER_INPUT unless it is exactly as bankql creates it. */
export function decodeGlobalId(id: string) {
  const parts = parseGlobalId(id);
  if (parts === null) throw forged();
  return parts;
}

/** The parts of a global id; null for a text that bankql does not create. */
function parseGlobalId(id: string) {
  const text = Buffer.from(id, 'base64url').toString('utf8');
  const colon = text.indexOf(':');
  // A key that is not a JSON list is refused: bankql makes no others.
  if (text[colon + 1] !== '[') return null;
  try {
    const [typename, key]: [string, unknown[]] = [text.slice(0, colon), JSON.parse(text.slice(colon + 1))];
    return encodeGlobalId(typename, JSON.stringify(key)) === id ? { typename, key } : null;
  } catch {
    return null;
  }
}

export const forged = () =>
  badUserInput('This is not a global id of this schema: give back an `id` as it was answered.');

/** A part of a global id's key that is a text. Errors: BAD_USER_INPUT. */
export function textOf(part: unknown): string {
  if (typeof part !== 'string') throw forged();
  return part;
}

/** A type whose objects `node` reads by their global ids. */
interface GlobalIdType<Ids extends object> {
  /** The field that has the bank's id, or null. */
  readonly bankIdField: string | null;
  /** The ids in a global id's key. Errors: BAD_USER_INPUT if it is not a key of this type. */
  idsOf(key: readonly unknown[]): Ids;
  /** The object, with its record if a selected field needs the record; null if there is no such object. */
  load(ids: Ids, context: Context, info: Selection, index?: number): object | null | Promise<object | null>;
}

/**
 * All types that have global ids, by name. Null for a type whose ids are only for the caches of clients: `node` cannot read its
 * objects.
 */
export const globalIdTypes = new Map<string, GlobalIdType<object> | null>();

/** Matches the base64url of any text that begins with a capital letter, as the names of types do. */
const capital = /^[Q-W][A-Za-z0-9_-]+$/;

/**
 * Checks an argument that takes an id of the bank. `name`: the argument's name. Errors: BAD_USER_INPUT for a
 * global id; the message says what to give instead.
 */
export function notGlobalId(name: string, id: string): string {
  if (!capital.test(id)) return id;
  const typename = parseGlobalId(id)?.typename ?? '';
  const type = globalIdTypes.get(typename);
  if (type === undefined) return id;
  const use = type === null ? 'is only for the caches of clients' : 'only `node` and `nodes` take';
  const remedy = type?.bankIdField ? ` The bank's id is in its field \`${type.bankIdField}\`.` : '';
  throw badUserInput(
    `${name} takes an id of the bank's, and this is a global \`id\` of the type ${typename}, which ${use}.${remedy}`,
    name,
  );
}

/**
 * An id argument that can be a segment of a path (bank/ids.ts). Errors: BAD_USER_INPUT for any other text,
 * and for a global id.
 */
export const restId = (name: string, id: string): string => validateId(name, notGlobalId(name, id), name);
