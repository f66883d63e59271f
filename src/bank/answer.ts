import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { checks } from '../contract/checks.ts';
import { jsonNumber, parseExactJson } from '../contract/exact-json.ts';
import type { Answer, Operation } from '../contract/operation.ts';
import { BankqlError, type ErrorDetails } from './error.ts';
import type { WireReply } from './wire.ts';

const jsonType = /^(application\/([\w.-]+\+)?json|text\/json)\s*(;|$)/i;

/** A place where the bank's habits differ from the specification, and bankql took what it meant. */
export interface Drift {
  readonly operation: string;
  /** The field's path in a record, such as `location.latitude`. */
  readonly field: string;
}

/**
 * The JSON of an answer, its amounts exact.
 * Errors: BANK_BAD_RESPONSE where it is not JSON in UTF-8; its text is never shown.
 */
export function parseAnswer(
  reply: WireReply,
  details: ErrorDetails,
  onDrift?: (drift: Drift) => void,
): unknown {
  const type = reply.headers['content-type'];
  if (type !== undefined && !jsonType.test(String(type)))
    throw bad('is not JSON by its content type', details);
  try {
    if (!isUtf8(reply.body)) throw new TypeError('the text is no UTF-8');
    return parseExactJson(reply.body.toString(), () => {
      if (details.operation) onDrift?.({ operation: details.operation, field: 'amount' });
    });
  } catch (cause) {
    throw bad('is not JSON', details, cause);
  }
}

/**
 * An answer held against the operation's shape.
 *
 * Shape:  the record, or the list without its envelope, and whether all of it keeps the contract. Where a value breaks
 *         the contract, a BANK_BAD_RESPONSE error stands in its place: GraphQL reports it at the field that asks for it
 *         and leaves the siblings, and a field that nobody asks for fails nobody. Code that computes with a value calls
 *         `sound` first.
 *         Two habits of real banks are taken for what they mean and reported as drift: a number written as a string,
 *         and an object with an `id` where a view's id is expected.
 * Errors: BANK_BAD_RESPONSE where there is no object, or no list under the envelope's key, or where it is broken in so
 *         many places that saying so would cost more than the answer is worth.
 */
export function checkAnswer<T extends Operation>(
  operation: T,
  json: unknown,
  details: ErrorDetails,
  onDrift?: (drift: Drift) => void,
): { readonly answer: Answer<T>; readonly isWhole: boolean } {
  if (!isObject(json)) throw bad('is not a JSON object', details);
  const { envelope } = operation;
  const value = envelope === null ? json : json[envelope];
  if (envelope !== null && !Array.isArray(value)) throw bad(`has no list under "${envelope}"`, details);
  // The one place where JSON becomes the contract's type: what the shape did not find is in no answer's type.
  const answer = value as Answer<T>;
  if (isWhole(operation, value)) return { answer, isWhole: true };
  let broken = 0;
  for (const issue of issuesOf(operation, value, details)) {
    const meant = meaningOf(issue, valueAt(value, issue.path));
    if (meant !== undefined) onDrift?.({ operation: operation.id, field: fieldOf(issue.path) });
    else if (++broken > mostBroken) throw bad('breaks the contract in too many places', details);
    const where = issue.path.join('.');
    replaceAt(
      value,
      issue.path,
      meant ?? bad(`breaks the contract at "${where}": ${issue.message}`, details),
    );
  }
  return { answer, isWhole: broken === 0 };
}

/**
 * A value of an answer to compute with.
 * Errors: BANK_BAD_RESPONSE, where the bank broke the contract in its place.
 */
export function sound<T>(value: T): Exclude<T, Error> {
  if (value instanceof Error) throw value;
  return value as Exclude<T, Error>;
}

/** Whether nothing breaks the contract. What is not whole zod looks at: it says where, and why. */
function isWhole(operation: Operation, value: unknown): boolean {
  const check = checks[operation.id];
  if (check === undefined) return false;
  return operation.envelope !== null && Array.isArray(value) ? value.every(check) : check(value);
}

/** Values that break the contract, and entries of a list within a record, that an answer may have. */
const mostBroken = 1000;
const longestList = 10_000;
/** Entries of a list that are checked at a time: an answer that is broken throughout is given up after a few. */
const chunk = 100;

/**
 * Where a value breaks the contract, from the first entry of a list to the last.
 * Errors: BANK_BAD_RESPONSE where a record holds a list that no record holds.
 */
function* issuesOf(operation: Operation, value: unknown, details: ErrorDetails): Iterable<z.core.$ZodIssue> {
  const shape = shapeOf(operation);
  const list = Array.isArray(value) ? value : [value];
  for (const record of list) {
    if (
      isObject(record) &&
      Object.values(record).some((field) => Array.isArray(field) && field.length > longestList)
    )
      throw bad(`holds a list of more than ${longestList} entries in a record`, details);
  }
  if (!Array.isArray(value)) {
    yield* shape.safeParse(value).error?.issues ?? [];
    return;
  }
  for (let start = 0; start < list.length; start += chunk) {
    for (const issue of shape.safeParse(list.slice(start, start + chunk)).error?.issues ?? []) {
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
function meaningOf(issue: z.core.$ZodIssue, value: unknown): number | string | undefined {
  if (issue.code !== 'invalid_type') return undefined;
  if (issue.expected === 'number' && typeof value === 'string' && jsonNumber.test(value))
    return Number.isFinite(Number(value)) ? Number(value) : undefined;
  if (issue.expected === 'string' && issue.path.at(-2) === 'views_available' && isObject(value)) {
    return typeof value.id === 'string' ? value.id : undefined;
  }
  return undefined;
}

/** A field's name without its place in a list, so that it can be counted. */
const fieldOf = (path: readonly PropertyKey[]) => path.filter((key) => typeof key !== 'number').join('.');

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let place = root;
  for (const key of path) {
    if (!isObject(place) && !Array.isArray(place)) return undefined;
    place = Reflect.get(place, key);
  }
  return place;
}

/** Puts a value where the path leads; the path's names come from the contract, not from the bank. */
function replaceAt(root: unknown, path: readonly PropertyKey[], value: unknown): void {
  const place = valueAt(root, path.slice(0, -1));
  const last = path.at(-1);
  if (last !== undefined && (isObject(place) || Array.isArray(place))) Reflect.set(place, last, value);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const bad = (what: string, details: ErrorDetails, cause?: unknown) =>
  new BankqlError('BANK_BAD_RESPONSE', `The bank's answer to ${details.operation} ${what}.`, details, {
    cause,
  });
