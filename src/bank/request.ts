import { writeExactJson } from '../contract/exact-json.ts';
import { type Body, type Operation, type OwnIds, ownName } from '../contract/operation.ts';
import type { ErrorDetails } from '../errors.ts';
import type { Credentials } from './credentials.ts';
import type { GatewayAnswers } from './gateway-answers.ts';
import type { HttpRequest } from './http-message.ts';
import { plainId, validateId } from './ids.ts';

/** A path template: for each id, the text before it and its names in REST and in bankql; then the text after the last id. */
interface PathTemplate {
  readonly ids: readonly { readonly before: string; readonly name: string; readonly own: string }[];
  readonly rest: string;
}

const templates = new Map<string, PathTemplate>();

/** Parses a template that is not in `templates` yet, and keeps it there. */
function parseTemplate(template: string): PathTemplate {
  const ids = [...template.matchAll(/([^}]*)\{(\w+)\}/g)].map(([, before = '', name = '']) => ({
    before,
    name,
    own: ownName(name),
  }));
  const parsed = { ids, rest: template.slice(template.lastIndexOf('}') + 1) };
  templates.set(template, parsed);
  return parsed;
}

/**
 * An operation's path with its ids in place, each as one percent-encoded segment.
 * Errors: BAD_USER_INPUT, as validateId.
 */
export function pathOf<T extends Operation>(operation: T, ids: OwnIds<T>): string;
export function pathOf({ path }: Operation, given: Readonly<Record<string, string>>): string {
  const { ids, rest } = templates.get(path) ?? parseTemplate(path);
  let filled = '';
  for (const { before, name, own } of ids) {
    const id = given[own] ?? '';
    // A plain id needs no encoding.
    filled += before + (plainId.test(id) ? id : encodeURIComponent(validateId(name, id)));
  }
  return filled + rest;
}

/**
 * A key that identifies a read within a GraphQL operation: its path, and its body (`query`) if it has one. Never throws:
 * invalid ids get a key that is not a path, and the read itself fails later.
 */
export function readKey<T extends Operation>(operation: T, wanted: OwnIds<T>): string;
export function readKey(operation: Operation, wanted: Readonly<Record<string, unknown>>): string {
  try {
    const path = pathOf(operation, wanted as OwnIds<Operation>);
    return operation.body === null ? path : keyOf(path, JSON.stringify(wanted.query));
  } catch {
    // Only these members of `wanted` are in the key, because `wanted` may be a whole object of the schema,
    // which refers to its list.
    const { ids } = templates.get(operation.path) ?? parseTemplate(operation.path);
    return JSON.stringify([operation.id, ids.map(({ own }) => wanted[own]), wanted.query]);
  }
}

/** The ids in an expanded path, by their names in the template. */
export function idsIn(template: string, path: string): (readonly [name: string, id: string])[] {
  const segments = path.split('/');
  return template.split('/').flatMap((segment, at) => {
    const [, name] = /^\{(\w+)\}$/.exec(segment) ?? [];
    return name === undefined ? [] : [[name, decodeURIComponent(segments[at] ?? '')] as const];
  });
}

/** The input of a bank operation's call: its ids, its body, its caller. */
export interface CallInput<T extends Operation> {
  readonly ids: OwnIds<T>;
  /** The path, if `pathOf` has computed it already. */
  readonly path?: string | undefined;
  /** Absent if the operation has no body. */
  readonly body?: Body<T> | undefined;
  readonly credentials: Credentials;
  /** Whether the answer's numbers keep digits that a double cannot represent: exactNumber (contract/exact-json.ts). */
  readonly keepDigits?: boolean;
}

/** The facts about a checked call, sent or not: for its report and for errors. */
export interface PreparedCall<T extends Operation = Operation> {
  readonly operation: T;
  readonly credentials: Credentials;
  /** The path, without the prefix of the bank's address. */
  readonly path: string;
  readonly request: HttpRequest;
  /** Null if the operation has no Track-ID. */
  readonly trackId: string | null;
  /** See CallInput. */
  readonly keepDigits: boolean;
  /** Recognises the answers of gateways in front of the bank. */
  readonly gateways: GatewayAnswers;
}

/**
 * A key that identifies a read, whoever makes it: its path, and its body if it has one. Different reads have different keys
 * (test/bank/ids.test.ts).
 */
export const keyOf = (path: string, body: string | null): string =>
  body === null ? path : `${path} ${body}`;

/** The body of a call as it is sent; null if the operation has none. */
export const bodyOf = (operation: Operation, body: unknown): string | null =>
  operation.body === null ? null : writeExactJson(body);

/** The details that every error of a call has. */
export const errorDetailsOf = ({
  operation,
  trackId,
}: Pick<PreparedCall, 'operation' | 'trackId'>): ErrorDetails =>
  trackId === null ? { operation: operation.id } : { operation: operation.id, trackId };
