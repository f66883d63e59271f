import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { jsonNumber, parseExactJson } from '../contract/exact-json.ts';
import type { Answer, Operation } from '../contract/operation.ts';
import { validators } from '../contract/validators.generated.ts';
import { BankqlError, type ErrorDetails } from '../errors.ts';
import type { HttpResponse } from './http/http-message.ts';
import { maxRecords, whatTakesTooLong } from './response-limits.ts';

const jsonType = /^(application\/([\w.-]+\+)?json|text\/json)\s*(;|$)/i;

/** A place where the bank's habits differ from the specification, and bankql took what it meant. */
export interface Drift {
  readonly operation: string;
  /** The field's path in a record, such as `location.latitude`. */
  readonly field: string;
}

/**
 * The JSON of an answer, its amounts exact.
 * Errors: BANK_BAD_RESPONSE where it is not JSON in UTF-8, or would take too long to parse; its text is never shown.
 */
export function parseResponse(
  response: HttpResponse,
  details: ErrorDetails,
  onDrift?: (drift: Drift) => void,
): unknown {
  const type = response.headers['content-type'];
  if (type !== undefined && !jsonType.test(String(type)))
    throw badResponse('is not JSON by its content type', details);
  const tooMuch = whatTakesTooLong(response.body);
  if (tooMuch !== null) throw badResponse(`holds ${tooMuch}, which are not read`, details);
  try {
    if (!isUtf8(response.body)) throw new TypeError('the text is no UTF-8');
    return parseExactJson(response.body.toString(), () => {
      if (details.operation) onDrift?.({ operation: details.operation, field: 'amount' });
    });
  } catch (cause) {
    throw badResponse('is not JSON', details, cause);
  }
}

/**
 * An answer held against the operation's shape.
 *
 * Shape:  the record, or the list without its envelope, and whether all of it keeps the contract. Where a value breaks
 *         the contract, a BANK_BAD_RESPONSE error stands in its place: GraphQL reports it at the field that asks for it
 *         and leaves the siblings, and a field that nobody asks for fails nobody. Code that computes with a value calls
 *         `unwrap` first.
 *         Two habits of real banks are taken for what they mean and reported as drift: a number written as a string,
 *         and an object with an `id` where a view's id is expected.
 * Errors: BANK_BAD_RESPONSE where there is no object, where there is no list under the envelope's key or one that is too
 *         long, or where it is broken in so many places that saying so would cost more than the answer is worth.
 */
export function validateResponse<T extends Operation>(
  operation: T,
  json: unknown,
  details: ErrorDetails,
  onDrift?: (drift: Drift) => void,
): { readonly answer: Answer<T>; readonly isValid: boolean } {
  if (!isObject(json)) throw badResponse('is not a JSON object', details);
  const { envelope } = operation;
  const value = envelope === null ? json : json[envelope];
  if (envelope !== null && !Array.isArray(value))
    throw badResponse(`has no list under "${envelope}"`, details);
  if (Array.isArray(value) && value.length > maxRecords)
    throw badResponse(`lists more than ${maxRecords} records, which are not read`, details);
  // The one place where JSON becomes the contract's type: what the shape did not find is in no answer's type.
  const answer = value as Answer<T>;
  if (isValid(operation, value)) return { answer, isValid: true };
  let violations = 0;
  for (const issue of findIssues(operation, value, details)) {
    const coerced = coerce(issue, valueAt(value, issue.path));
    if (coerced !== undefined) onDrift?.({ operation: operation.id, field: fieldPath(issue.path) });
    else if (++violations > maxViolations)
      throw badResponse('breaks the contract in too many places', details);
    const where = issue.path.join('.');
    replaceAt(
      value,
      issue.path,
      coerced ?? badResponse(`breaks the contract at "${where}": ${issue.message}`, details),
    );
  }
  return { answer, isValid: violations === 0 };
}

/**
 * A value of an answer to compute with.
 * Errors: BANK_BAD_RESPONSE, where the bank broke the contract in its place.
 */
export function unwrap<T>(value: T): Exclude<T, Error> {
  if (value instanceof Error) throw value;
  return value as Exclude<T, Error>;
}

/** Whether nothing breaks the contract. What is not whole zod looks at: it says where, and why. */
function isValid(operation: Operation, value: unknown): boolean {
  const check = validators[operation.id];
  if (check === undefined) return false;
  return operation.envelope !== null && Array.isArray(value) ? value.every(check) : check(value);
}

/** Values that break the contract, and entries of a list within a record, that an answer may have. */
const maxViolations = 1000;
const maxListLength = 10_000;
/** Entries of a list that are checked at a time: an answer that is broken throughout is given up after a few. */
const batchSize = 100;

/**
 * Where a value breaks the contract, from the first entry of a list to the last.
 * Errors: BANK_BAD_RESPONSE where a record holds a list that no record holds.
 */
function* findIssues(
  operation: Operation,
  value: unknown,
  details: ErrorDetails,
): Iterable<z.core.$ZodIssue> {
  const shape = shapeOf(operation);
  const list = Array.isArray(value) ? value : [value];
  for (const record of list) {
    if (
      isObject(record) &&
      Object.values(record).some((field) => Array.isArray(field) && field.length > maxListLength)
    )
      throw badResponse(`holds a list of more than ${maxListLength} entries in a record`, details);
  }
  if (!Array.isArray(value)) {
    yield* shape.safeParse(value).error?.issues ?? [];
    return;
  }
  for (let start = 0; start < list.length; start += batchSize) {
    for (const issue of shape.safeParse(list.slice(start, start + batchSize)).error?.issues ?? []) {
      const [index, ...rest] = issue.path;
      yield { ...issue, path: [Number(index) + start, ...rest] };
    }
  }
}

const shapes = new WeakMap<Operation, z.ZodType>();

function shapeOf(operation: Operation): z.ZodType {
  let shape = shapes.get(operation);
  if (shape === undefined) {
    const record = operation.answer ?? z.looseObject({});
    shape = operation.envelope === null ? record : z.array(record);
    shapes.set(operation, shape);
  }
  return shape;
}

/** What a value that breaks the contract means all the same; undefined where it means nothing. */
function coerce(issue: z.core.$ZodIssue, value: unknown): number | string | undefined {
  if (issue.code !== 'invalid_type') return undefined;
  if (issue.expected === 'number' && typeof value === 'string' && jsonNumber.test(value))
    return Number.isFinite(Number(value)) ? Number(value) : undefined;
  if (issue.expected === 'string' && issue.path.at(-2) === 'views_available' && isObject(value)) {
    return typeof value.id === 'string' ? value.id : undefined;
  }
  return undefined;
}

/** A field's name without its place in a list, so that it can be counted. */
const fieldPath = (path: readonly PropertyKey[]) => path.filter((key) => typeof key !== 'number').join('.');

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let current = root;
  for (const key of path) {
    if (!isObject(current) && !Array.isArray(current)) return undefined;
    current = Reflect.get(current, key);
  }
  return current;
}

/** Puts a value where the path leads; the path's names come from the contract, not from the bank. */
function replaceAt(root: unknown, path: readonly PropertyKey[], value: unknown): void {
  const parent = valueAt(root, path.slice(0, -1));
  const last = path.at(-1);
  if (last !== undefined && (isObject(parent) || Array.isArray(parent))) Reflect.set(parent, last, value);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const badResponse = (what: string, details: ErrorDetails, cause?: unknown) =>
  new BankqlError('BANK_BAD_RESPONSE', `The bank's answer to ${details.operation} ${what}.`, details, {
    cause,
  });
