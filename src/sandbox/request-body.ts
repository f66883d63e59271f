import type { z } from 'zod';
import { HttpError } from './http-error.ts';

/**
 * The text's JSON value, with the digits of every `amount` as text, as `parseExactJson` gives them. Unlike
 * that, it tells an amount that is a JSON string from one that is a number: the contract says number.
 */
function parseAmounts(text: string): unknown {
  return JSON.parse(text, (key, value, { source }) => {
    if (key !== 'amount') return value;
    if (typeof value === 'string') throw new HttpError(400, 'amount: has to be a JSON number, not a string');
    return typeof value === 'number' ? source : value;
  });
}

/** What is wrong with a body, beginning with the name of the field. */
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
 * Errors: HttpError 400 where it is missing, not declared as JSON (a missing Content-Type is allowed: the
 *         specification calls it optional), not JSON in UTF-8, or not what the shape allows; the text names
 *         the field.
 */
export function readBody<T extends z.ZodType>(
  shape: T,
  contentType: string | undefined,
  bytes: unknown,
): z.infer<T> {
  if (!(bytes instanceof Uint8Array) || bytes.length === 0) throw new HttpError(400, 'The body is missing');
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
