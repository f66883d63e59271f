import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { parseExactJson } from '../contract/exact-json.ts';
import { interpretRecord, type Path, type RecordObserver } from '../contract/interpretations.ts';
import type { Answer, Operation } from '../contract/operation.ts';
import { mayBeMisspelled, namesOf, otherSpellings } from '../contract/spelling.ts';
import { validators } from '../contract/validators.generated.ts';
import { BankqlError, type ErrorDetails } from '../errors.ts';
import { isObject } from '../is-object.ts';
import { mapErrorResponse } from './errors.ts';
import {
  byteOrderMark,
  decoderOf,
  type HttpResponse,
  inUtf8,
  isJsonType,
  isSaidToEnd,
  otherCharsetOf,
  partialContent,
  textOf,
} from './http-message.ts';
import { maxRecords, whatTakesTooLong } from './json-limits.ts';
import { errorDetailsOf, type PreparedCall } from './request.ts';
import { contentOf, ErrorInSuccess, hasError, isRecord } from './tolerance.ts';

/** Content types that servers send by default if none is configured. Some banks send JSON with them. */
const untoldType = /^(text\/(plain|html)|application\/octet-stream)\s*(;|$)/i;

/** A deviation from the specification that bankql accepted, because its meaning is known. */
export interface Drift {
  readonly operation: string;
  /** The field's path in a record, such as `location.latitude`. For a drift of the whole answer: a key of `responseDrifts`. */
  readonly field: string;
  /** For the drift `spelling`: the names of the members that are not read. */
  readonly names?: readonly string[];
}

/** The kinds of drift that concern a whole answer, each with its description. */
export const responseDrifts = {
  'content-type': 'the content type is not that of JSON',
  'byte-order-mark': 'a byte order mark stands before the JSON',
  charset: 'the JSON is in another charset than UTF-8, which it declares',
  envelope: 'the record or list is not where the contract has it',
  'empty-record': 'the record, or the object around the list, has no member, or the list is null',
  'empty-body': 'a PUT is answered without the record, or a list with an empty body',
  spelling: 'the names of members are in another spelling, and their values are not read',
  'payment-answer': 'the answer to a payment has members or texts that bankql does not know',
} as const;

/** Receives each drift. If a value drifts, `path` is its position in the answer, and `expected` the contract's type. */
export type OnDrift = (drift: Drift, path?: Path, expected?: string) => void;
type OnViolation = (path: Path, expected: string) => void;

/**
 * Parses an answer's JSON with exact amounts and, with `keepDigits`, exact numbers (exactNumber). Decodes the charset that the
 * answer declares. Returns undefined if the body is empty and the headers say so.
 * Errors: BANK_BAD_RESPONSE if the body is not JSON, is in a wrong encoding, is only a part of an answer, or would take too
 *         long to parse. The error never shows the body's text.
 */
export function parseResponse(
  response: HttpResponse,
  details: ErrorDetails,
  onDrift?: OnDrift,
  keepDigits = false,
): unknown {
  const drifts = (field: string) => {
    if (details.operation) onDrift?.({ operation: details.operation, field });
  };
  if (response.status === partialContent) throw badResponse('is only a part (status 206)', details);
  if (saysEmpty(response)) return undefined;
  const type = response.headers['content-type'];
  const isTyped = type === undefined || isJsonType(String(type));
  if (!isTyped && !untoldType.test(String(type)))
    throw badResponse(isBlank(response) ? 'is empty' : 'is not JSON by its content type', details);
  try {
    const charset = otherCharsetOf(response);
    const body = charset === null ? response.body : inUtf8(response.body, charset);
    if (!isUtf8(body)) throw new TypeError('the text is not in UTF-8');
    const tooMuch = whatTakesTooLong(body);
    if (tooMuch !== null) throw badResponse(`holds ${tooMuch}, which are not read`, details);
    const text = body.toString();
    const hasMark = text.startsWith(byteOrderMark);
    const json = parseExactJson(hasMark ? text.slice(1) : text, () => drifts('amount'), keepDigits);
    if (!isTyped) drifts('content-type');
    if (hasMark) drifts('byte-order-mark');
    if (body !== response.body) drifts('charset');
    return json;
  } catch (cause) {
    if (cause instanceof BankqlError) throw cause;
    if (cause instanceof RangeError) throw badResponse('is nested too deeply', details, cause);
    const what = isTyped ? 'is not JSON' : 'is not JSON, nor is its content type';
    throw badResponse(encodingFault(response) ?? what, details, cause);
  }
}

/** Why a body's encoding rules out JSON; null if the encoding is valid. */
function encodingFault(response: HttpResponse): string | null {
  const { body } = response;
  if (isBlank(response)) return 'is empty';
  if (body[0] === 0x1f && body[1] === 0x8b)
    return 'is compressed (gzip), without a Content-Encoding that says so';
  const charset = otherCharsetOf(response);
  if (charset !== null)
    return decoderOf(charset) === null
      ? `declares the charset ${charset}, which is not known`
      : `is not JSON in ${charset}, the charset that it declares`;
  // JSON contains no NUL. In UTF-16, every second byte of ASCII text is NUL.
  return isUtf8(body) && !body.includes(0) ? null : 'is not in UTF-8, and declares no other charset';
}

const isBlank = ({ body }: Pick<HttpResponse, 'body'>): boolean =>
  body.length === 0 || /^\s*$/.test(textOf({ body }));

/**
 * Whether a body is empty and the headers say so. If the headers give no length and no chunks, an empty body may be an answer
 * that was cut off before its first byte.
 */
const saysEmpty = ({ status, headers, body }: HttpResponse): boolean =>
  status === 200 && body.length === 0 && isSaidToEnd(headers);

/** Whether an answer has nothing but its status, such as a 204. Some banks answer a PUT in this way. */
export const isEmptyResponse = (response: HttpResponse): boolean =>
  response.status !== partialContent && isBlank(response);

/** An answer, and whether all of it matches the contract. */
interface CheckedAnswer<T extends Operation> {
  readonly answer: Answer<T>;
  readonly isValid: boolean;
}

/** A successful answer that cannot be read. Contains no part of the bank's text. */
export interface UnreadableAnswer {
  readonly operation: string;
  readonly trackId: string | null;
  readonly status: number;
  /** Why the answer cannot be read, in a sentence. */
  readonly failure: string;
}

/** Functions that receive drifts and unreadable answers. They must not throw. */
export interface AnswerReports {
  readonly onDrift?: ((drift: Drift) => void) | undefined;
  readonly onUnreadable?: ((answer: UnreadableAnswer) => void) | undefined;
}

/** The content type of most banks' answers: JSON, in UTF-8 if a charset is given. */
const plainType = /^application\/json(; ?charset=utf-8)?$/i;

/** Returns the answer in a plain successful response. Returns undefined for any other response, and if `keepDigits` is set. */
export type ReadPlainAnswer = (response: HttpResponse, keepDigits: boolean) => unknown;

/**
 * Creates the fast reader for an operation's plain answers. A plain answer declares JSON, is in UTF-8, has the contract's
 * envelope, and is valid. Most answers are plain; `readingAnswer` reads all others, with their drifts and errors.
 */
export function plainReaderOf(operation: Operation): ReadPlainAnswer {
  const { envelope, answer } = operation;
  const validate = validators[operation.id];
  if (answer === null || validate === undefined) return () => undefined;
  const names = namesOf(answer);
  return ({ status, headers, body }, keepDigits) => {
    if (keepDigits || status === partialContent || headers['content-encoding'] !== undefined)
      return undefined;
    if (!plainType.test(String(headers['content-type']))) return undefined;
    if (!isUtf8(body) || whatTakesTooLong(body) !== null) return undefined;
    const json = parsePlain(body.toString());
    if (!isObject(json) || hasError(json)) return undefined;
    if (envelope === null)
      return isRecord(operation, json) && validate(json) && !mayBeMisspelled(names, json) ? json : undefined;
    const list = json[envelope];
    if (!Array.isArray(list) || list.length > maxRecords || !list.every(validate)) return undefined;
    // Checking one record is enough: a bank spells a name the same way in all records.
    return list.length > 0 && mayBeMisspelled(names, list[0]) ? undefined : list;
  };
}

/** The JSON of a text; undefined if it is not JSON, or if an amount in it deviates from the contract (drift). */
function parsePlain(text: string): unknown {
  try {
    let hasDrift = false;
    const json = parseExactJson(text, () => {
      hasDrift = true;
    });
    return hasDrift ? undefined : json;
  } catch {
    return undefined;
  }
}

/**
 * Reads the answer in a successful response. Reports each field that drifts once, however many values drift, or reports that
 * the answer cannot be read. Pauses after each record that it interprets.
 * Errors: BANK_BAD_RESPONSE if the answer cannot be read; BANK_REJECTED if it reports an error.
 */
export function* readingAnswer<T extends Operation>(
  call: PreparedCall<T>,
  response: HttpResponse,
  { onDrift, onUnreadable }: AnswerReports,
): Generator<void, CheckedAnswer<T>> {
  const { operation, trackId, keepDigits } = call;
  const { status } = response;
  const details = { ...errorDetailsOf(call), status };
  const drifts = new Map<string, Drift>();
  const note = (drift: Drift) => void drifts.set(drift.field, drift);
  try {
    const json = parseResponse(response, details, note, keepDigits);
    const checked = yield* validatingResponse(operation, json, details, note);
    for (const drift of drifts.values()) onDrift?.(drift);
    return checked;
  } catch (error) {
    if (error instanceof ErrorInSuccess) throw mapErrorResponse(call, response);
    if (error instanceof BankqlError)
      onUnreadable?.({ operation: operation.id, trackId, status, failure: error.message });
    throw error;
  }
}

/** Like `readingAnswer`, but without pauses. */
export const readAnswer = <T extends Operation>(
  call: PreparedCall<T>,
  response: HttpResponse,
  reports: AnswerReports,
): CheckedAnswer<T> => toEnd(readingAnswer(call, response, reports));

/**
 * Compares an answer with the operation's shape.
 *
 * Shape:  the record, or the list without its envelope, and whether all of it matches the contract. A BANK_BAD_RESPONSE error
 *         replaces each value that breaks the contract: GraphQL reports it at the field that selects the value, and keeps the
 *         siblings. A broken value that nobody selects has no effect. Code that computes with a value calls `unwrap` first.
 *         Known deviations of real banks are accepted and reported as drift: see contentOf for whole answers,
 *         contract/interpretations.ts for values.
 * Errors: ErrorInSuccess if the answer contains an error; BANK_BAD_RESPONSE if it has no record or list, if the list is too
 *         long, or if it breaks the contract in too many places.
 */
export const validateResponse = <T extends Operation>(
  operation: T,
  json: unknown,
  details: ErrorDetails,
  onDrift?: OnDrift,
  onViolation?: OnViolation,
): CheckedAnswer<T> => toEnd(validatingResponse(operation, json, details, onDrift, onViolation));

/** Runs a generator to its end without pausing, and returns its result. */
function toEnd<Result>(steps: Generator<void, Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Like `validateResponse`, but pauses after each record that it interprets. */
function* validatingResponse<T extends Operation>(
  operation: T,
  json: unknown,
  details: ErrorDetails,
  onDrift?: OnDrift,
  onViolation?: OnViolation,
): Generator<void, CheckedAnswer<T>> {
  const content = contentOf(operation, json);
  if (content === undefined) throw badResponse(nothingIn(operation, json), details);
  const { value, drift } = content;
  if (drift !== null) onDrift?.({ operation: operation.id, field: drift });
  if (Array.isArray(value) && value.length > maxRecords)
    throw badResponse(`lists more than ${maxRecords} records, which are not read`, details);

  // Checking one record is enough: a bank spells a name the same way in all records.
  const names =
    operation.answer === null
      ? []
      : otherSpellings(operation.answer, Array.isArray(value) ? value[0] : value);
  if (names.length > 0) onDrift?.({ operation: operation.id, field: 'spelling', names });

  // The only place where JSON gets the contract's type. Members that are not in the contract have no type.
  const validate = validators[operation.id] ?? (() => false);
  const isList = operation.envelope !== null && Array.isArray(value);
  if (isList ? value.every(validate) : validate(value)) return { answer: value as Answer<T>, isValid: true };

  let violations = 0;
  const observer: RecordObserver = {
    onDrift(path, expected) {
      onDrift?.({ operation: operation.id, field: fieldPath(path) }, path, expected);
    },
    onViolation(path, expected, message) {
      if (++violations > maxViolations) throw badResponse('breaks the contract in too many places', details);
      onViolation?.(path, expected);
      return badResponse(`breaks the contract at "${path.join('.')}": ${message}`, details);
    },
  };
  const interpret = (record: unknown, place: Path): unknown => {
    if (validate(record)) return record;
    if (isObject(record) && Object.values(record).some(isTooLong))
      throw badResponse(`holds a list of more than ${maxListLength} entries in a record`, details);
    return interpretRecord(operation.answer ?? z.looseObject({}), record, place, observer);
  };
  if (!isList) return { answer: interpret(value, []) as Answer<T>, isValid: violations === 0 };
  const answer: unknown[] = [];
  for (const [index, record] of value.entries()) {
    answer.push(interpret(record, [index]));
    yield;
  }
  return { answer: answer as Answer<T>, isValid: violations === 0 };
}

/** Two limits: values in an answer that break the contract, and entries of a list within a record. */
const maxViolations = 1000;
export const maxListLength = 10_000;

const isTooLong = (field: unknown) => Array.isArray(field) && field.length > maxListLength;

function nothingIn({ envelope }: Operation, json: unknown): string {
  if (json === undefined) return 'is empty';
  if (!isObject(json)) return 'is not a JSON object';
  return envelope === null ? 'holds nothing that the contract knows' : `has no list under "${envelope}"`;
}

/**
 * Returns a value of an answer for code that computes with it.
 * Errors: BANK_BAD_RESPONSE, if the value broke the contract.
 */
export function unwrap<T>(value: T): Exclude<T, Error> {
  if (value instanceof Error) throw value;
  return value as Exclude<T, Error>;
}

/**
 * Finds the first error in a record, at any depth: one that replaces a broken value, or one that the bank reports. Returns null
 * for a record without errors.
 */
export function brokenValueIn(record: unknown): Error | null {
  // A work list is used instead of recursion, because the bank decides how deeply the record is nested.
  const values = [record];
  for (const value of values) {
    if (value instanceof Error) return value;
    if (typeof value !== 'object' || value === null) continue;
    if (isObject(value) && hasError(value))
      return new BankqlError('BANK_REJECTED', 'The bank answers with an error within the record.');
    for (const member of Object.values(value)) values.push(member);
  }
  return null;
}

/** A field's path without list positions, so that the drifts of all entries count as one field. */
const fieldPath = (path: Path) => path.filter((key) => typeof key !== 'number').join('.');

const badResponse = (what: string, details: ErrorDetails, cause?: unknown) =>
  new BankqlError('BANK_BAD_RESPONSE', `The bank's answer to ${details.operation} ${what}.`, details, {
    cause,
  });
