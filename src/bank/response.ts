import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { parseExactJson } from '../contract/exact-json.ts';
import { interpretRecord, type Path, type RecordObserver } from '../contract/interpretations.ts';
import type { Answer, Operation } from '../contract/operation.ts';
import { isEmpty } from '../contract/record.ts';
import { otherSpellings } from '../contract/spelling.ts';
import { validators } from '../contract/validators.generated.ts';
import { BankqlError, type ErrorDetails } from '../errors.ts';
import { isObject } from '../is-object.ts';
import {
  byteOrderMark,
  decoderOf,
  type HttpResponse,
  inUtf8,
  isSaidToEnd,
  otherCharsetOf,
  partialContent,
  textOf,
} from './http-message.ts';
import { maxRecords, whatTakesTooLong } from './json-limits.ts';

const jsonType = /^(application\/([\w.-]+\+)?json|text\/json)\s*(;|$)/i;

export const isJsonType = (type: string): boolean => jsonType.test(type);

/** Content types under which banks send JSON all the same: the defaults of servers without a configured type. */
const untoldType = /^(text\/(plain|html)|application\/octet-stream)\s*(;|$)/i;

/** A deviation from the specification that bankql accepted, because its meaning is known. */
export interface Drift {
  readonly operation: string;
  /** The field's path in a record, such as `location.latitude`; of the answer itself, one of `responseDrifts`. */
  readonly field: string;
  /** The members that are not read, if the drift is `spelling`. */
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

/** Receives each drift; for a value, also its position in the content, and the type that the contract expects. */
export type OnDrift = (drift: Drift, path?: Path, expected?: string) => void;
type OnViolation = (path: Path, expected: string) => void;

/**
 * The JSON of an answer, its amounts exact; with `keepDigits` its other numbers too (exactNumber). A charset that it declares is
 * decoded. Undefined for an empty body whose head says that it is empty.
 * Errors: BANK_BAD_RESPONSE if it is not JSON, not in UTF-8 or its charset, only a part of an answer, or would take too long to
 *         parse; its text is never shown.
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
  const isTyped = type === undefined || jsonType.test(String(type));
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
 * Whether a body is empty and its head says so. If only the connection's end tells the body's, the answer may have been cut off
 * before its first byte.
 */
const saysEmpty = ({ status, headers, body }: HttpResponse): boolean =>
  status === 200 && body.length === 0 && isSaidToEnd(headers);

/** Whether a PUT is answered with nothing but its status, as 204 has it. */
export const isEmptyResponse = (response: HttpResponse): boolean =>
  response.status !== partialContent && isBlank(response);

/**
 * Compares an answer with the operation's shape.
 *
 * Shape:  the record, or the list without its envelope, and whether all of it keeps the contract. If a value breaks the
 *         contract, a BANK_BAD_RESPONSE error replaces it: GraphQL reports the error at the field that asks for the value
 *         and keeps the siblings. A broken value that nobody selects has no effect. Code that computes with a value calls
 *         `unwrap` first. Known deviations of real banks are interpreted and reported as drift: see
 *         contentOf for answers, contract/interpretations.ts for values.
 * Errors: ErrorInSuccess; BANK_BAD_RESPONSE if there is no record or no list, if the list is too long, or if it is broken
 *         in so many places that saying so would cost more than the answer is worth.
 */
export function validateResponse<T extends Operation>(
  operation: T,
  json: unknown,
  details: ErrorDetails,
  onDrift?: OnDrift,
  onViolation?: OnViolation,
): { readonly answer: Answer<T>; readonly isValid: boolean } {
  const content = contentOf(operation, json);
  if (content === undefined) throw badResponse(nothingIn(operation, json), details);
  const { value, drift } = content;
  if (drift !== null) onDrift?.({ operation: operation.id, field: drift });
  if (Array.isArray(value) && value.length > maxRecords)
    throw badResponse(`lists more than ${maxRecords} records, which are not read`, details);

  // One record tells: a bank spells a name the same in all of them.
  const names =
    operation.answer === null
      ? []
      : otherSpellings(operation.answer, Array.isArray(value) ? value[0] : value);
  if (names.length > 0) onDrift?.({ operation: operation.id, field: 'spelling', names });

  // The only place where JSON gets the contract's type. Members outside of the contract have no type.
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
  const answer = isList ? value.map((record, index) => interpret(record, [index])) : interpret(value, []);
  return { answer: answer as Answer<T>, isValid: violations === 0 };
}

/** Values that break the contract, and entries of a list within a record, that an answer may have. */
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
 * An error that replaces a value of a record at any depth, or that the bank wrote there; null if the whole record matches
 * the contract.
 */
export function brokenValueIn(record: unknown): Error | null {
  // A work list instead of recursion: the bank decides how deeply the record is nested.
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

/** A field's name without its place in a list, so that it can be counted. */
const fieldPath = (path: Path) => path.filter((key) => typeof key !== 'number').join('.');

const badResponse = (what: string, details: ErrorDetails, cause?: unknown) =>
  new BankqlError('BANK_BAD_RESPONSE', `The bank's answer to ${details.operation} ${what}.`, details, {
    cause,
  });

type JsonObject = Readonly<Record<string, unknown>>;

/** The content of an answer: its record, or its list. */
interface ResponseContent {
  readonly value: unknown;
  /** One of `responseDrifts`; null if the content is where the specification has it. */
  readonly drift: 'envelope' | 'empty-record' | 'empty-body' | null;
}

/** An answer that contains an error, although its status is 2xx. */
export class ErrorInSuccess extends Error {
  override readonly name = 'ErrorInSuccess';
}

/** The names of members that contain an error, or the text of one. */
export const errorName = /^(error|errors|fault)$/i;
const wordName = /^(message|detail|error_description|title)$/i;
/** Members that hold the code of an error. */
export const codeName = /^(error[_-]?)?code$/i;
/** Members that describe an error if the answer is known to be one: a record may have them too. */
const reasonName = /^(reason|description)$/i;

/**
 * The record or the list in an answer's JSON, wherever the bank put it: under the operation's key, bare, as the only
 * member, or under another spelling of its name; undefined if the answer has neither. A single record is accepted as a
 * list, and a list of one as a record.
 * Errors: ErrorInSuccess, also if there is an error next to the record or list: what the bank could not read is missing there,
 *         and an update would clear it.
 */
export function contentOf(operation: Operation, json: unknown): ResponseContent | undefined {
  const object = isObject(json) ? json : null;
  const content = contentInPlace(operation, object) ?? contentElsewhere(operation, json);
  if (content === undefined) {
    if (object !== null && isError(object)) throw new ErrorInSuccess();
    return undefined;
  }
  if (operation.answer === null) return content;
  const { value, drift } = content;
  if (object !== null && hasError(object)) throw new ErrorInSuccess();
  if (drift !== null && isObject(value) && hasError(value)) throw new ErrorInSuccess();
  return content;
}

/** The content of an answer that has it where the specification says. */
function contentInPlace(operation: Operation, answer: JsonObject | null): ResponseContent | undefined {
  if (answer === null) return undefined;
  const { envelope } = operation;
  if (envelope === null) return isRecord(operation, answer) ? { value: answer, drift: null } : undefined;
  const listed = answer[envelope];
  return Array.isArray(listed) ? { value: listed, drift: null } : undefined;
}

function contentElsewhere(operation: Operation, json: unknown): ResponseContent | undefined {
  const isOneRecord = operation.envelope === null;
  const isListRead = !isOneRecord && operation.kind === 'read';
  if (json === undefined) return isListRead ? { value: [], drift: 'empty-body' } : undefined;
  // A bank may leave out every field of a record. Only the answer to a payment must have the key of
  // the list.
  if (isObject(json) && Object.keys(json).length === 0 && (isOneRecord || isListRead))
    return { value: isOneRecord ? json : [], drift: 'empty-record' };
  for (const candidate of [...wrapped(operation, json), json]) {
    const value = isOneRecord ? recordIn(operation, candidate) : listIn(operation, candidate);
    if (value !== undefined) return { value, drift: 'envelope' };
  }
  return isListRead && hasNullList(operation, json) ? { value: [], drift: 'empty-record' } : undefined;
}

/** Whether an answer holds null in place of its list, and nothing beside it that may say why. */
const hasNullList = (operation: Operation, json: unknown): boolean =>
  isObject(json) &&
  // `{"message": null}` may be an error without words.
  envelopeNames(operation, json).some((name) => json[name] === null && !wordName.test(name)) &&
  Object.values(json).every((value) => value === 0 || isEmpty(value));

function recordIn(operation: Operation, candidate: unknown): JsonObject | undefined {
  const only: unknown = Array.isArray(candidate) && candidate.length === 1 ? candidate[0] : candidate;
  return isObject(only) && isRecord(operation, only) ? only : undefined;
}

function listIn(operation: Operation, candidate: unknown): unknown[] | undefined {
  if (isList(candidate)) return candidate;
  return isObject(candidate) && isOnlyRecord(operation, candidate) ? [candidate] : undefined;
}

/** Whether a value in an unexpected place is a list of records. */
const isList = (value: unknown): value is unknown[] =>
  Array.isArray(value) && (value.length === 0 || value.some(isObject));

/** The values that an answer holds under one of the names of the operation's content. */
const wrapped = (operation: Operation, json: unknown): unknown[] =>
  isObject(json) ? envelopeNames(operation, json).map((key) => json[key]) : [];

/** The keys of an answer that are the operation's resource in any spelling, such as `other_accounts`. */
export function envelopeNames({ resource }: Operation, json: object): readonly string[] {
  const name = inCamelCase(resource);
  const names = [name, `${name}s`, `${name}es`];
  return Object.keys(json).filter((key) => names.includes(inCamelCase(key)));
}

const inCamelCase = (name: string) =>
  name.replaceAll(/[-_ ]([a-z])/g, (_separator, letter: string) => letter.toUpperCase());

/** Whether an object has a member of the operation's record. */
function isRecord({ answer }: Operation, object: JsonObject): boolean {
  if (answer === null) return true;
  for (const name in object) if (Object.hasOwn(answer.shape, name)) return true;
  return false;
}

/**
 * Whether an object in place of a list is the list's only record. Its members must distinguish it from an error, which
 * may also have a `message` or a `code`.
 */
function isOnlyRecord({ answer }: Operation, object: JsonObject): boolean {
  if (answer === null || hasError(object)) return false;
  const isKnown = (name: string) => Object.hasOwn(answer.shape, name);
  const present = Object.keys(object).filter((name) => object[name] != null);
  return (
    present.some((name) => isKnown(name) && !wordName.test(name)) &&
    !present.some((name) => !isKnown(name) && wordName.test(name))
  );
}

/** Whether an object holds an error, or only plain values, including a message. */
function isError(object: JsonObject): boolean {
  if (hasError(object)) return true;
  const members = Object.entries(object);
  return (
    members.every(([, member]) => typeof member !== 'object' || member === null) &&
    members.some(([name, member]) => wordName.test(name) && typeof member === 'string' && member !== '')
  );
}

/** Whether an object holds an error. Called for every answer: comparing lengths first rules out most names cheaply. */
function hasError(object: JsonObject): boolean {
  for (const name in object)
    if ((name.length === 5 || name.length === 6) && errorName.test(name) && !isNothing(object[name]))
      return true;
  return false;
}

/** How many levels of an error are searched for texts. */
const maxDepth = 4;

/**
 * Whether a member says that there is no error: null, false, an empty text, zeros or a word for none, an object with such a code, or an
 * object or array of only these.
 */
function isNothing(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return !value || noError.test(String(value));
  if (depth >= maxDepth) return false;
  const members = Object.entries(value);
  return (
    members.some(([name, member]) => codeName.test(name) && /^0+$/.test(String(member))) ||
    members.every(([, member]) => isNothing(member, depth + 1))
  );
}

const noError = /^\s*(0+|false|none|null)\s*$/i;

/** The texts of an answer that describe an error, including texts nested in the error. */
export function errorWords(answer: object, depth = 0): string {
  const words = Object.entries(answer)
    .flatMap(([name, member]) => {
      if (typeof member === 'string')
        return [errorName, wordName, reasonName].some((names) => names.test(name)) ? member : [];
      if (!errorName.test(name) || depth >= maxDepth) return [];
      const errors: readonly unknown[] = Array.isArray(member) ? member : [member];
      return errors.map((error) =>
        isObject(error) ? errorWords(error, depth + 1) : typeof error === 'string' ? error : '',
      );
    })
    .filter((text) => text !== '');
  // Some frameworks repeat the text.
  return [...new Set(words)].join(' ');
}
