import type { Operation } from '../contract/operation.ts';
import { isEmpty } from '../contract/record.ts';
import { isObject } from '../is-object.ts';

/** Finds the content of an answer and the errors in it, even if the answer deviates from the specification. */

type JsonObject = Readonly<Record<string, unknown>>;

/** The content of an answer: its record, or its list. */
interface ResponseContent {
  readonly value: unknown;
  /** One of `responseDrifts`; null if the content is at the place that the specification gives. */
  readonly drift: 'envelope' | 'empty-record' | 'empty-body' | null;
}

/** An answer that contains an error, although its status is 2xx. */
export class ErrorInSuccess extends Error {
  override readonly name = 'ErrorInSuccess';
}

/** The names of members that contain an error, or the text of an error. */
export const errorName = /^(error|errors|fault)$/i;
const wordName = /^(message|detail|error_description|title)$/i;
/** Members that contain the code of an error. */
export const codeName = /^(error[_-]?)?code$/i;
/** Members that describe an error. A record may have them too, so they count only in an answer that is known to be an error. */
const reasonName = /^(reason|description)$/i;

/**
 * The record or the list in an answer's JSON, wherever the bank put it: under the operation's key, bare, as the only member, or
 * under another spelling of its name; undefined if the answer has neither. A single record is accepted as a list, and a list of
 * one record as a record.
 * Errors: ErrorInSuccess if the answer contains an error, even next to the record or list: values that the bank could not read
 *         are missing there, and an update would clear them.
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

/** The content of an answer, if it is where the specification has it; otherwise undefined. */
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
  // A bank may leave out every field of a record, and an empty list. Only the answer to a payment must have its list.
  if (isObject(json) && Object.keys(json).length === 0 && (isOneRecord || isListRead))
    return { value: isOneRecord ? json : [], drift: 'empty-record' };
  for (const candidate of [...wrapped(operation, json), json]) {
    const value = isOneRecord ? recordIn(operation, candidate) : listIn(operation, candidate);
    if (value !== undefined) return { value, drift: 'envelope' };
  }
  return isListRead && hasNullList(operation, json) ? { value: [], drift: 'empty-record' } : undefined;
}

/**
 * Whether an answer has, in place of its list, null or the empty text of XML converters, and no other member that may explain
 * this.
 */
const hasNullList = (operation: Operation, json: unknown): boolean =>
  isObject(json) &&
  // `{"message": null}` may be an error without a text.
  envelopeNames(operation, json).some(
    (name) => (json[name] === null || json[name] === '') && !wordName.test(name),
  ) &&
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

/** The values of an answer's members that are named after the operation's resource. */
const wrapped = (operation: Operation, json: unknown): unknown[] =>
  isObject(json) ? envelopeNames(operation, json).map((key) => json[key]) : [];

/** Those keys of an answer that spell the operation's resource in any way, such as `other_accounts`. */
export function envelopeNames({ resource }: Operation, json: object): readonly string[] {
  const name = inCamelCase(resource);
  const names = [name, `${name}s`, `${name}es`];
  return Object.keys(json).filter((key) => names.includes(inCamelCase(key)));
}

const inCamelCase = (name: string) =>
  name.replaceAll(/[-_ ]([a-z])/g, (_separator, letter: string) => letter.toUpperCase());

/** Whether an object has a member of the operation's record. */
export function isRecord({ answer }: Operation, object: JsonObject): boolean {
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

/** Whether an object is an error: it has an error member, or only plain values, one of which is a message. */
function isError(object: JsonObject): boolean {
  if (hasError(object)) return true;
  const members = Object.entries(object);
  return (
    members.every(([, member]) => typeof member !== 'object' || member === null) &&
    members.some(([name, member]) => wordName.test(name) && typeof member === 'string' && member !== '')
  );
}

/** Whether an object holds an error. Called for every answer: comparing lengths first rules out most names cheaply. */
export function hasError(object: JsonObject): boolean {
  for (const name in object)
    if ((name.length === 5 || name.length === 6) && errorName.test(name) && !isNothing(object[name]))
      return true;
  return false;
}

/** The depth to which an error is searched for texts. */
const maxDepth = 4;

/**
 * Whether the value of an error member says that there is no error: null, false, an empty text, zeros, a word for none, an
 * object whose code is zero, or an object or array of only these.
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

/** An answer's texts about an error, including texts nested in the error. */
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
  // Repetitions are dropped, because some frameworks repeat the text.
  return [...new Set(words)].join(' ');
}
