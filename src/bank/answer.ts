import { z } from 'zod';
import { parseExactJson } from '../contract/exact-json.ts';
import type { Answer, Operation } from '../contract/operation.ts';
import { BankqlError, type ErrorDetails } from './error.ts';
import type { WireReply } from './transport.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const jsonType = /^(application\/([\w.-]+\+)?json|text\/json)\s*(;|$)/i;

/**
 * The JSON of an answer, its amounts exact.
 * Errors: BANK_BAD_RESPONSE where it is not JSON in UTF-8; its text is never shown.
 */
export function parseAnswer(reply: WireReply, details: ErrorDetails): unknown {
  const type = reply.headers['content-type'];
  if (type !== undefined && !jsonType.test(String(type)))
    throw bad('is not JSON by its content type', details);
  try {
    return parseExactJson(utf8.decode(reply.body));
  } catch (cause) {
    throw bad('is not JSON', details, cause);
  }
}

/**
 * An answer held against the operation's shape.
 *
 * Shape:  the record, or the list without its envelope. Where a value breaks the contract, a BANK_BAD_RESPONSE
 *         error stands in its place: GraphQL reports it at the field that asks for it and leaves the siblings,
 *         and a field that nobody asks for fails nobody. Code that computes with a value calls `sound` first.
 * Errors: BANK_BAD_RESPONSE where there is no object, or no list under the envelope's key.
 */
export function checkAnswer<T extends Operation>(
  operation: T,
  json: unknown,
  details: ErrorDetails,
): Answer<T> {
  if (!isObject(json)) throw bad('is not a JSON object', details);
  const { envelope } = operation;
  const value = envelope === null ? json : json[envelope];
  if (envelope !== null && !Array.isArray(value)) throw bad(`has no list under "${envelope}"`, details);
  const checked = shapeOf(operation).safeParse(value);
  for (const issue of checked.error?.issues ?? []) {
    const where = issue.path.join('.');
    replaceAt(value, issue.path, bad(`breaks the contract at "${where}": ${issue.message}`, details));
  }
  // The one place where JSON becomes the contract's type: what the shape did not find is in no answer's type.
  return value as Answer<T>;
}

/**
 * A value of an answer to compute with.
 * Errors: BANK_BAD_RESPONSE, where the bank broke the contract in its place.
 */
export function sound<T>(value: T): Exclude<T, Error> {
  if (value instanceof Error) throw value;
  return value as Exclude<T, Error>;
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

/** Puts the error where the path leads; the path's names come from the contract, not from the bank. */
function replaceAt(root: unknown, path: readonly PropertyKey[], error: Error): void {
  let place: unknown = root;
  for (const key of path.slice(0, -1)) {
    if (!isObject(place) && !Array.isArray(place)) return;
    place = Reflect.get(place, key);
  }
  const last = path.at(-1);
  if (last !== undefined && typeof place === 'object' && place !== null) Reflect.set(place, last, error);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const bad = (what: string, details: ErrorDetails, cause?: unknown) =>
  new BankqlError('BANK_BAD_RESPONSE', `The bank's answer to ${details.operation} ${what}.`, details, {
    cause,
  });
