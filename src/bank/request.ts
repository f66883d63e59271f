import { randomUUID } from 'node:crypto';
import { writeExactJson } from '../contract/exact-json.ts';
import { type Body, type Operation, type OwnIds, ownName, type PathIds } from '../contract/operation.ts';
import type { ErrorDetails } from '../errors.ts';
import { type CallerIdentity, type Credentials, credentialHeadersFor, identityOf } from './credentials.ts';
import type { HttpRequest } from './http-message.ts';
import { plainId, validateId } from './ids.ts';

/** Ids by their names in a path template. */
export type Ids = Readonly<Record<string, string>>;

/** A path template: its ids' names, in REST and in bankql, the text before each, and the text after the last. */
interface PathTemplate {
  readonly names: readonly string[];
  readonly ownNames: readonly string[];
  readonly before: readonly string[];
  readonly rest: string;
}

const templates = new Map<string, PathTemplate>();

const templateOf = (template: string): PathTemplate => templates.get(template) ?? parseTemplate(template);

function parseTemplate(template: string): PathTemplate {
  const pieces = template.split(/[{}]/);
  const names = pieces.filter((_, at) => at % 2 === 1);
  const parsed = {
    names,
    ownNames: names.map(ownName),
    before: pieces.filter((_, at) => at % 2 === 0 && at < pieces.length - 1),
    rest: pieces.at(-1) ?? '',
  };
  templates.set(template, parsed);
  return parsed;
}

/** The template with these ids in place: `given` are their names there. */
function fillTemplate({ names, before, rest }: PathTemplate, given: readonly string[], ids: Ids): string {
  let path = '';
  for (let at = 0; at < names.length; at++) {
    const id = ids[given[at] ?? ''] ?? '';
    // A plain id is its own encoding.
    path += before[at] + (plainId.test(id) ? id : encodeURIComponent(validateId(names[at] ?? '', id)));
  }
  return path + rest;
}

/**
 * A path template with its ids in place, each as one percent-encoded segment.
 * Errors: BAD_USER_INPUT, as validateId.
 */
export function expandPath(template: string, ids: Ids): string {
  const parsed = templateOf(template);
  return fillTemplate(parsed, parsed.names, ids);
}

/** An operation's path with its ids, by bankql's names for them. Errors: as expandPath. */
export function pathOf<T extends Operation>(operation: T, ids: OwnIds<T>): string;
export function pathOf({ path }: Operation, ids: Ids): string {
  const template = templateOf(path);
  return fillTemplate(template, template.ownNames, ids);
}

/** The ids that fill an operation's path template, from bankql's names for them. */
export function pathIds<T extends Operation>(operation: T, ids: OwnIds<T>): PathIds<T>;
export function pathIds({ path }: Operation, ids: object): object {
  const { names, ownNames } = templateOf(path);
  return Object.fromEntries(names.map((name, at) => [name, Reflect.get(ids, ownNames[at] ?? '')]));
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
  readonly ids: PathIds<T>;
  /** Absent if the operation has none. */
  readonly body?: Body<T> | undefined;
  readonly credentials: Credentials;
  /** Numbers of the answer keep digits that a double cannot hold: exactNumber (contract/exact-json.ts). */
  readonly keepDigits?: boolean;
}

/** The same with the ids in their path, as expandPath or pathOf returns it. */
export interface ExpandedInput<T extends Operation> extends Omit<CallInput<T>, 'ids'> {
  readonly path: string;
}

/**
 * Identifies what a read with a body asks for, whoever asks; the path identifies one without. Different reads have different
 * keys, since no two of them have the same path and both a body or none (test/bank/request.test.ts).
 */
export const requestKey = (path: string, body: string): string => `${path} ${body}`;

/** A call that is checked and ready to be sent. */
export interface PreparedCall<T extends Operation = Operation> {
  readonly operation: T;
  readonly credentials: Credentials;
  readonly caller: CallerIdentity;
  /** Its path, without the prefix of the bank's address. */
  readonly path: string;
  /** What it asks for, whoever asks: the path, or what requestKey returns. */
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
  input: CallInput<T> | ExpandedInput<T>,
): PreparedCall<T> {
  const { body, credentials, keepDigits = false } = input;
  const path = 'path' in input ? input.path : expandPath(operation.path, input.ids);
  const caller = identityOf(credentials);
  const text = operation.body === null ? null : writeExactJson(body);
  return {
    operation,
    credentials,
    caller,
    path,
    key: text === null ? path : requestKey(path, text),
    request: {
      method: operation.method,
      path: prefix + path,
      headers: caller.headers.get(operation) ?? buildHeaders(operation, caller),
      body: text,
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
