import { redact } from '../bank/errors.ts';
import { envelopeNames, type OnDrift, validateResponse } from '../bank/response.ts';
import { parseExactJson } from '../contract/exact-json.ts';
import type { Answer, Operation } from '../contract/operation.ts';
import { shorten } from '../errors.ts';
import { isObject } from '../is-object.ts';

/**
 * The maximum length of a text in a stored answer, in characters, and of the whole answer; longer texts are cut,
 * further records omitted.
 */
const maxText = 4000;
const maxAnswer = 32_000;

/** The bank's answer to a payment, whatever its shape: a list under the envelope's key, a bare list, an object, or only a status. */
export interface AnswerContent {
  /** The key under which it holds its record or list: the contract's, or another spelling of it; null if it has none. */
  readonly envelope: string | null;
  readonly isList: boolean;
  readonly records: readonly unknown[];
}

export function readContent(operation: Operation, value: unknown): AnswerContent {
  if (typeof value === 'string') return { envelope: null, isList: false, records: [{ status: value }] };
  if (Array.isArray(value)) return { envelope: null, isList: true, records: value };
  if (!isObject(value)) return { envelope: null, isList: false, records: [] };
  const names = operation.envelope === null ? [] : [operation.envelope, ...envelopeNames(operation, value)];
  const envelope = names.find((name) => isObject(value[name]) || Array.isArray(value[name])) ?? null;
  const content = envelope === null ? value : value[envelope];
  return Array.isArray(content)
    ? { envelope, isList: true, records: content }
    : { envelope, isList: false, records: [content] };
}

/**
 * The parts of the bank's answer that bankql reads, in the contract's own shape, bounded and without `secrets`. The
 * record stores it, so that a replay returns the same answer as the first call.
 * Shape: JSON text; null if there is no such part.
 */
export function toStoredResponse(
  { envelope, answer }: Operation,
  { records, isList }: AnswerContent,
  secrets: readonly string[],
): string | null {
  const names = answer === null ? ['id', 'status'] : Object.keys(answer.shape);
  const read = (record: unknown) => (isObject(record) ? pick(record, names) : null);
  if (envelope !== null) {
    if (!isList && !records.some((record) => hasMembers(read(record)))) return null;
    const texts: string[] = [];
    let length = 0;
    for (const record of records) {
      const text = write(read(record), secrets);
      length += text.length + 1;
      if (length > maxAnswer) break;
      texts.push(text);
    }
    return `{${JSON.stringify(envelope)}:[${texts.join()}]}`;
  }
  // Only one record can be the receipt of this payment: of several, it is not known which one is.
  if (records.length !== 1) return null;
  const receipt = read(records[0]);
  if (!hasMembers(receipt)) return null;
  const text = write(receipt, secrets);
  return text.length > maxAnswer ? null : text;
}

/** Reads a stored answer; null if it is not readable. */
export function readStoredResponse<T extends Operation>(
  operation: T,
  text: string | null,
  onDrift?: OnDrift,
): Answer<T> | null {
  if (text === null) return null;
  try {
    return validateResponse(operation, parseExactJson(text), { operation: operation.id }, onDrift).answer;
  } catch {
    // The payment's outcome stands, even if the bank's answer is malformed.
    return null;
  }
}

function pick(record: Readonly<Record<string, unknown>>, names: readonly string[]) {
  const picked: Record<string, unknown> = {};
  for (const name of names) if (record[name] != null) picked[name] = record[name];
  return picked;
}

const hasMembers = (record: object | null): boolean => record !== null && Object.keys(record).length > 0;

function write(record: object | null, secrets: readonly string[]): string {
  return JSON.stringify(record, (_name, member) => {
    if (typeof member !== 'string') return member;
    return shorten(redact(member, secrets, maxText), maxText);
  });
}
