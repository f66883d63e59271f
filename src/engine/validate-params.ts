import { RequestError } from './request-error.ts';

/** The parameters of a request, as defined by GraphQL over HTTP. */
export interface Params {
  readonly query: string | null;
  readonly operationName: string | null;
  readonly variables: Readonly<Record<string, unknown>> | null;
  readonly extensions: Readonly<Record<string, unknown>> | null;
  /** The id of a persisted document. */
  readonly documentId: string | null;
}

const known: ReadonlySet<string> = new Set<keyof Params>([
  'query',
  'operationName',
  'variables',
  'extensions',
  'documentId',
]);

/**
 * Validates a request's members.
 * Errors: BAD_USER_INPUT, which names the invalid member and repeats nothing of what was sent.
 */
export function validateParams(rawParams: unknown): Params {
  if (!isObject(rawParams))
    throw new RequestError(
      'BAD_USER_INPUT',
      Array.isArray(rawParams)
        ? 'Batches are not served: send one operation at a time.'
        : 'A request is a JSON object with a "query".',
    );
  for (const name in rawParams) {
    const value = rawParams[name];
    if (!known.has(name) && value !== null && value !== undefined)
      throw new RequestError('BAD_USER_INPUT', `A request holds nothing but ${[...known].join(', ')}.`);
  }
  return {
    query: member(rawParams, 'query', isText, 'a text'),
    operationName: member(rawParams, 'operationName', isText, 'a text'),
    variables: member(rawParams, 'variables', isObject, 'an object'),
    extensions: member(rawParams, 'extensions', isObject, 'an object'),
    documentId: member(rawParams, 'documentId', isText, 'a text'),
  };
}

function member<T>(
  rawParams: Readonly<Record<string, unknown>>,
  name: keyof Params,
  is: (value: unknown) => value is T,
  what: string,
): T | null {
  const value = rawParams[name];
  if (value === undefined || value === null) return null;
  if (is(value)) return value;
  throw new RequestError('BAD_USER_INPUT', `"${name}" has to be ${what}, or left out.`);
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
