import { randomUUID } from 'node:crypto';
import { writeExactJson } from '../contract/exact-json.ts';
import type { Body, Operation, PathIds } from '../contract/operation.ts';
import type { ErrorDetails } from '../errors.ts';
import { type Credentials, cachedHeaders, credentialHeadersFor } from './credentials.ts';
import type { HttpRequest } from './http/http-message.ts';
import { expandPath, type Ids, idsInOrder } from './path-template.ts';

/** What a call of an operation needs: its ids, its body, who asks. */
export interface CallInput<T extends Operation> {
  readonly ids: PathIds<T>;
  /** Absent where the operation has none. */
  readonly body?: Body<T> | undefined;
  readonly credentials: Credentials;
  /** That of `requestKey`, where it is known already. */
  readonly key?: string | undefined;
  /** Numbers of the answer keep digits that a double does not hold: exactNumber (contract/exact-json.ts). */
  readonly keepDigits?: boolean;
}

/**
 * What a call asks for, whoever asks. No two questions have the same: the ids come in the path's order, the length of
 * each says where it ends, and the operation says how many there are.
 */
export function requestKey({ id, path }: Operation, ids: Ids, body: unknown): string {
  let name = id;
  for (const value of idsInOrder(path, ids)) name += ` ${value.length}:${value}`;
  return body === undefined ? name : `${name} ${JSON.stringify(body)}`;
}

/** A call that is checked and ready to leave. */
export interface PreparedCall<T extends Operation = Operation> {
  readonly operation: T;
  readonly credentials: Credentials;
  readonly ids: Ids;
  /** As requestKey gives it. */
  readonly key: string;
  /** Without the Track-ID, which belongs to one sending. */
  readonly request: HttpRequest;
  /** Null where the operation takes none. */
  readonly trackId: string | null;
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
  const path = prefix + expandPath(operation.path, ids);
  const written = operation.body === null ? null : writeExactJson(body);
  return {
    operation,
    credentials,
    ids,
    key,
    keepDigits,
    trackId: operation.tracked ? randomUUID() : null,
    request: {
      method: operation.method,
      path,
      headers: cachedHeaders(operation, credentials, buildHeaders),
      body: written,
    },
  };
}

/** All headers but the Track-ID, names and values in turn. Errors: MISSING_CREDENTIALS. */
function buildHeaders(operation: Operation, credentials: Credentials): string[] {
  const headers = credentialHeadersFor(operation, credentials);
  headers.push('Accept', 'application/json', 'Accept-Encoding', 'identity');
  if (operation.body !== null) headers.push('Content-Type', 'application/json');
  return headers;
}

/** A call as it leaves: with its Track-ID, and `traceparent` where the operator wants the bank to have it. */
export function toHttpRequest(
  { request, trackId }: PreparedCall,
  traceparent: string | null = null,
): HttpRequest {
  if (trackId === null && traceparent === null) return request;
  const headers = [...request.headers];
  if (trackId !== null) headers.push('Track-ID', trackId);
  if (traceparent !== null) headers.push('traceparent', traceparent);
  return { ...request, headers };
}

/** The same call once more, under a Track-ID of its own. */
export const withNewTrackId = <T extends Operation>(call: PreparedCall<T>): PreparedCall<T> =>
  call.trackId === null ? call : { ...call, trackId: randomUUID() };

/** What every error of a call says. */
export const errorDetailsOf = ({ operation, trackId }: PreparedCall): ErrorDetails =>
  trackId === null ? { operation: operation.id } : { operation: operation.id, trackId };
