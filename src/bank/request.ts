import { randomUUID } from 'node:crypto';
import { writeExactJson } from '../contract/exact-json.ts';
import type { Body, Operation, PathIds } from '../contract/operation.ts';
import type { ErrorDetails } from '../errors.ts';
import { type CallerIdentity, type Credentials, credentialHeadersFor, identityOf } from './credentials.ts';
import type { HttpRequest } from './http-message.ts';
import { plainId, validateId } from './ids.ts';

/** Ids by their names in a path template. */
export type Ids = Readonly<Record<string, string>>;

/** A path template: its ids' names, the text before each, and the text after the last. */
interface PathTemplate {
  readonly names: readonly string[];
  readonly before: readonly string[];
  readonly rest: string;
}

const templates = new Map<string, PathTemplate>();

function parseTemplate(template: string): PathTemplate {
  const pieces = template.split(/[{}]/);
  const parsed = {
    names: pieces.filter((_, at) => at % 2 === 1),
    before: pieces.filter((_, at) => at % 2 === 0 && at < pieces.length - 1),
    rest: pieces.at(-1) ?? '',
  };
  templates.set(template, parsed);
  return parsed;
}

/**
 * A path template with its ids in place, each as one percent-encoded segment.
 * Errors: BAD_USER_INPUT, as validateId.
 */
export function expandPath(template: string, ids: Ids): string {
  const { names, before, rest } = templates.get(template) ?? parseTemplate(template);
  let path = '';
  for (let at = 0; at < names.length; at++) {
    const name = names[at] ?? '';
    const id = ids[name] ?? '';
    // A plain id is its own encoding.
    path += before[at] + (plainId.test(id) ? id : encodeURIComponent(validateId(name, id)));
  }
  return path + rest;
}

/** The input of a bank operation's call: its ids, its body, its caller. */
export interface CallInput<T extends Operation> {
  readonly ids: PathIds<T>;
  /** Absent if the operation has none. */
  readonly body?: Body<T> | undefined;
  readonly credentials: Credentials;
  /** That of `requestKey`, if it is known already. */
  readonly key?: string | undefined;
  /** Numbers of the answer keep digits that a double cannot hold: exactNumber (contract/exact-json.ts). */
  readonly keepDigits?: boolean;
}

/**
 * Identifies what a call asks for, whoever asks. No two requests have the same key: the ids come in the path's order, the
 * length of each says where it ends, and the operation says how many there are.
 */
export function requestKey({ id, path }: Operation, ids: Ids, body: unknown): string {
  const { names } = templates.get(path) ?? parseTemplate(path);
  let key = id;
  for (const name of names) {
    const value = ids[name] ?? '';
    key += ` ${value.length}:${value}`;
  }
  return body === undefined ? key : `${key} ${JSON.stringify(body)}`;
}

/** A call that is checked and ready to be sent. */
export interface PreparedCall<T extends Operation = Operation> {
  readonly operation: T;
  readonly credentials: Credentials;
  readonly caller: CallerIdentity;
  readonly ids: Ids;
  /** As returned by requestKey. */
  readonly key: string;
  /** Without the Track-ID, which belongs to one sending. */
  readonly request: HttpRequest;
  /** Null if the operation takes none. */
  readonly trackId: string | null;
  /** How often it was sent before. */
  readonly resendCount: number;
  /** The header `traceparent`; null if the bank is not shown one. */
  readonly traceparent: string | null;
  /** As in CallInput. */
  readonly keepDigits: boolean;
}

/**
 * Checks a call and makes its request, below `prefix`.
 * Errors: BAD_USER_INPUT (an id), MISSING_CREDENTIALS.
 */
export function prepareCall<T extends Operation>(
  prefix: string,
  operation: T,
  { ids, body, credentials, key = requestKey(operation, ids, body), keepDigits = false }: CallInput<T>,
): PreparedCall<T> {
  const caller = identityOf(credentials);
  return {
    operation,
    credentials,
    caller,
    ids,
    key,
    request: {
      method: operation.method,
      path: prefix + expandPath(operation.path, ids),
      headers: caller.headers.get(operation) ?? buildHeaders(operation, caller),
      body: operation.body === null ? null : writeExactJson(body),
    },
    trackId: operation.tracked ? randomUUID() : null,
    resendCount: 0,
    traceparent: null,
    keepDigits,
  };
}

/** All headers but the Track-ID, names and values in turn; once for a caller. Errors: MISSING_CREDENTIALS. */
function buildHeaders(operation: Operation, caller: CallerIdentity): string[] {
  const headers = credentialHeadersFor(operation, caller.credentials);
  headers.push('Accept', 'application/json', 'Accept-Encoding', 'identity');
  if (operation.body !== null) headers.push('Content-Type', 'application/json');
  caller.headers.set(operation, headers);
  return headers;
}

/** A call as it is sent: with its Track-ID and `traceparent`, if it has these. */
export function toHttpRequest({ request, trackId, traceparent }: PreparedCall): HttpRequest {
  if (trackId === null && traceparent === null) return request;
  const headers = [...request.headers];
  if (trackId !== null) headers.push('Track-ID', trackId);
  if (traceparent !== null) headers.push('traceparent', traceparent);
  return { ...request, headers };
}

/** The same call once more, under a Track-ID of its own. */
export const resend = (call: PreparedCall): PreparedCall => ({
  ...call,
  trackId: call.trackId === null ? null : randomUUID(),
  resendCount: call.resendCount + 1,
});

/** What every error of a call says. */
export const errorDetailsOf = ({ operation, trackId }: PreparedCall): ErrorDetails =>
  trackId === null ? { operation: operation.id } : { operation: operation.id, trackId };
