import type { Operation } from '../contract/operation.ts';

/** What an answer holds: its record, or its list. */
export interface ResponseContent {
  readonly value: unknown;
  /** How it drifts: it stood elsewhere than the specification has it, or says nothing; null for neither. */
  readonly drift: 'envelope' | 'empty-record' | null;
}

/** An answer that tells of an error, although its status is that of a success. */
export class ErrorInSuccess extends Error {
  override readonly name = 'ErrorInSuccess';
}

/** The members that hold an error, and those that hold words about one. */
const errorName = /^(error|errors|fault)$/i;
const wordName = /^(message|detail|error_description|title)$/i;
/** What says something about an error where it is known that there is one: a record may have these too. */
const reasonName = /^(reason|description)$/i;

/**
 * The record or the list in an answer's JSON, wherever the bank put it: under the operation's key, bare, alone, or under
 * another spelling of what it is; undefined where there is none. For each of these the other is taken too: an only record
 * for a list, and a list of one for a record.
 * Errors: ErrorInSuccess.
 */
export function contentOf(operation: Operation, json: unknown): ResponseContent | undefined {
  const content = operation.envelope === null ? recordIn(operation, json) : listIn(operation, json);
  if (content === undefined && isObject(json) && isError(json)) throw new ErrorInSuccess();
  return content;
}

function recordIn(operation: Operation, json: unknown): ResponseContent | undefined {
  if (isObject(json) && isRecord(operation, json)) return { value: json, drift: null };
  // The specification lets a bank leave out every field of a record.
  if (isObject(json) && Object.keys(json).length === 0) return { value: json, drift: 'empty-record' };
  for (const candidate of [json, ...wrapped(operation, json)]) {
    const only: unknown = Array.isArray(candidate) && candidate.length === 1 ? candidate[0] : candidate;
    if (isObject(only) && isRecord(operation, only)) return { value: only, drift: 'envelope' };
  }
  return undefined;
}

function listIn(operation: Operation, json: unknown): ResponseContent | undefined {
  if (isObject(json) && operation.envelope !== null) {
    const listed = json[operation.envelope];
    if (Array.isArray(listed)) return { value: listed, drift: null };
  }
  for (const candidate of [...wrapped(operation, json), json]) {
    if (isList(candidate)) return { value: candidate, drift: 'envelope' };
    if (isObject(candidate) && isOnlyRecord(operation, candidate))
      return { value: [candidate], drift: 'envelope' };
  }
  return undefined;
}

/** Whether a list that is not where it belongs is one of records. */
const isList = (value: unknown): value is unknown[] =>
  Array.isArray(value) && (value.length === 0 || value.some(isObject));

/** What an answer holds under a name of what the operation answers, in any of its spellings: `other_accounts`. */
function wrapped({ resource }: Operation, json: unknown): unknown[] {
  if (!isObject(json)) return [];
  const name = inCamelCase(resource);
  const names = [name, `${name}s`, `${name}es`];
  return Object.keys(json)
    .filter((key) => names.includes(inCamelCase(key)))
    .map((key) => json[key]);
}

const inCamelCase = (name: string) =>
  name.replaceAll(/[-_ ]([a-z])/g, (_separator, letter: string) => letter.toUpperCase());

const names = new WeakMap<object, readonly string[]>();

/** The members of a record. They are asked for with every answer. */
function namesIn(record: NonNullable<Operation['answer']>): readonly string[] {
  const known = names.get(record) ?? Object.keys(record.shape);
  names.set(record, known);
  return known;
}

/** Whether an object has a member of the operation's record. Beside an error, an id alone may be that of the error. */
function isRecord({ answer }: Operation, object: Readonly<Record<string, unknown>>): boolean {
  if (answer === null) return true;
  const names = namesIn(answer);
  for (const name of names) if (object[name] != null && name !== 'id') return true;
  return names.some((name) => object[name] !== undefined) && !hasError(object);
}

/**
 * Whether an object where a list belongs is the list's only record: its members have to tell it from an error, which may
 * have a `message` or a `code` too.
 */
function isOnlyRecord({ answer }: Operation, object: Readonly<Record<string, unknown>>): boolean {
  if (answer === null || hasError(object)) return false;
  const isKnown = (name: string) => Object.hasOwn(answer.shape, name);
  const present = Object.keys(object).filter((name) => object[name] != null);
  return (
    present.some((name) => isKnown(name) && !wordName.test(name)) &&
    !present.some((name) => !isKnown(name) && wordName.test(name))
  );
}

/** Whether an object holds an error, or nothing but plain values, one of which is a message. */
function isError(object: Readonly<Record<string, unknown>>): boolean {
  if (hasError(object)) return true;
  const members = Object.entries(object);
  return (
    members.every(([, member]) => typeof member !== 'object' || member === null) &&
    members.some(([name, member]) => wordName.test(name) && typeof member === 'string' && member !== '')
  );
}

const hasError = (object: Readonly<Record<string, unknown>>): boolean =>
  Object.entries(object).some(([name, member]) => errorName.test(name) && !isNothing(member));

const isNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0);

/** How deep an error is looked into for its words. */
const maxDepth = 4;

/** The words of an answer that tells of an error: its texts that say so, those inside of an error included. */
export function errorWords(answer: object, depth = 0): string {
  const words = Object.entries(answer)
    .flatMap(([name, member]) => {
      if (typeof member === 'string')
        return [errorName, wordName, reasonName].some((names) => names.test(name)) ? member : [];
      if (!errorName.test(name) || depth >= maxDepth) return [];
      const errors: readonly unknown[] = Array.isArray(member) ? member : [member];
      return errors.map((error) => (isObject(error) ? errorWords(error, depth + 1) : textOf(error)));
    })
    .filter((text) => text !== '');
  // Some frameworks say it twice.
  return [...new Set(words)].join(' ');
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : '');

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
