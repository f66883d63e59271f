import type { IncomingHttpHeaders } from 'node:http';
import type { z } from 'zod';
import type { Auth } from '../contract/operation.ts';
import { authProvider, staffId, subscriptionKey } from './identity.ts';

/**
 * A request that the bank declines. Handlers and checks throw it; the server answers with its status and
 * `{ "code": <status>, "message": <text> }`. Whatever else is thrown is a failure of the sandbox: a 500.
 */
export class HttpError extends Error {
  override readonly name = 'Refusal';
  readonly code: 400 | 401 | 403 | 404 | 413;

  constructor(code: HttpError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** Returns the record. Errors: HttpError 404 with this message if it is missing. */
export function found<T>(record: T | undefined, message: string): T {
  if (record === undefined) throw new HttpError(404, message);
  return record;
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Checks the subscription key from the header or, without a header, from the query.
 * Errors: HttpError 401 if it is missing, given twice, or unknown.
 */
export function checkSubscriptionKey(headers: IncomingHttpHeaders, query: URLSearchParams): void {
  const given = headers['ocp-apim-subscription-key'] ?? query.getAll('subscription-key').join();
  if (given === '') throw new HttpError(401, 'The subscription key is missing');
  if (given !== subscriptionKey) throw new HttpError(401, 'The subscription key is not known');
}

/**
 * Identifies the caller by the auth headers, if the operation takes them. The callers are the customers and
 * the staff.
 * Shape:  the id of the customer or of the staff; null if the operation takes no auth headers, or they are
 * optional and missing.
 * Errors: HttpError 403 if required headers are missing, or the bank knows nobody of that name.
 */
export function callerOf(
  auth: Auth,
  headers: IncomingHttpHeaders,
  isKnown: (id: string) => boolean,
): string | null {
  if (auth === 'none') return null;
  const provider = headers['auth-provider-name'];
  const id = headers['auth-id'];
  if (!provider && !id && auth === 'optional') return null;
  if (!provider || !id) {
    throw new HttpError(403, `The header ${provider ? 'Auth-ID' : 'Auth-Provider-Name'} is missing`);
  }
  if (provider !== authProvider || typeof id !== 'string' || !isKnown(id)) {
    throw new HttpError(403, 'The bank does not know this caller');
  }
  return id;
}

/** Errors: HttpError 400 if the `Track-ID` is missing or no UUID. */
export function checkTrackId(headers: IncomingHttpHeaders): void {
  const given = headers['track-id'];
  if (typeof given !== 'string' || !uuid.test(given)) {
    throw new HttpError(400, given ? 'The header Track-ID is not a UUID' : 'The header Track-ID is missing');
  }
}

/**
 * Parses JSON, and keeps the digits of every `amount` as a text, as `parseExactJson` does. Unlike `parseExactJson`, it refuses
 * an amount that is a JSON string, because the contract requires a number.
 */
function parseAmounts(text: string): unknown {
  return JSON.parse(text, (key, value, { source }) => {
    if (key !== 'amount') return value;
    if (typeof value === 'string') throw new HttpError(400, 'amount: has to be a JSON number, not a string');
    return typeof value === 'number' ? source : value;
  });
}

/** Describes the fault of a body, beginning with the name of the field. */
function complaint(error: z.ZodError): string {
  const [issue] = error.issues;
  if (!issue) return 'The body does not have the shape that the contract shows';
  if (issue.code === 'unrecognized_keys') {
    return `${[...issue.path, issue.keys[0]].join('.')}: the contract has no such field here`;
  }
  const field = issue.path.join('.') || 'The body';
  return issue.path.at(-1) === 'amount' ? `${field}: has to be a JSON number` : `${field}: ${issue.message}`;
}

/**
 * A request's body, checked against its shape.
 * Errors: HttpError 400 if it is missing, not declared as JSON (a missing Content-Type is allowed: the specification
 *         calls it optional), not JSON in UTF-8, or not what the shape allows; the text names the field.
 */
export function readBody<T extends z.ZodType>(
  shape: T,
  contentType: string | undefined,
  bytes: Uint8Array,
): z.infer<T> {
  if (bytes.length === 0) throw new HttpError(400, 'The body is missing');
  if (contentType !== undefined && !/^application\/json[ \t]*(;|$)/i.test(contentType)) {
    throw new HttpError(400, 'Content-Type: has to be application/json');
  }
  let body: unknown;
  try {
    body = parseAmounts(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    if (error instanceof HttpError) throw error;
    throw new HttpError(400, 'The body is not JSON');
  }
  const checked = shape.safeParse(body);
  if (!checked.success) throw new HttpError(400, complaint(checked.error));
  return checked.data;
}

/** Errors: HttpError 400 if the body's `field` contradicts the path. `subject`: what the path names, for the message. */
export function checkOfPath(
  field: string,
  given: string | null | undefined,
  ofPath: string,
  subject: string,
): void {
  if ((given ?? ofPath) !== ofPath) throw new HttpError(400, `${field}: is not the ${subject} of the path`);
}

/** Errors: HttpError 403 for customers. */
export function requireStaff(caller: string | null, what: string): void {
  if (caller !== staffId) throw new HttpError(403, `Only the staff of the bank ${what}`);
}
