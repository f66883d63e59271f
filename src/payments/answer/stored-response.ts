import { type OnDrift, validateResponse } from '../../bank/answer.ts';
import { redact } from '../../bank/errors.ts';
import { envelopeNames } from '../../bank/tolerance.ts';
import { parseExactJson } from '../../contract/exact-json.ts';
import type { Answer, Operation } from '../../contract/operation.ts';
import { shorten } from '../../errors.ts';
import { isObject } from '../../is-object.ts';
import { fold } from './payment-words.ts';

/**
 * Two limits, in characters: of a text in a stored answer, and of the whole answer. Longer texts are cut, and
 * further records are left out.
 */
const maxText = 4000;
const maxAnswer = 32_000;

/**
 * The parts of the bank's answer that bankql reads, in the contract's own shape, bounded and without `secrets`. The record
 * stores these parts, so that a replay returns the same answer as the first call. `value`: the answer in any shape, such as a
 * bare list or only a status.
 * Shape: JSON text; null if there is no such part.
 */
export function toStoredResponse(
  operation: Operation,
  value: unknown,
  secrets: readonly string[],
): string | null {
  const { envelope, answer } = operation;
  const names = answer === null ? ['id', 'status'] : Object.keys(answer.shape);
  const content = contentOf(operation, value);
  const isList = Array.isArray(content);
  const records = (isList ? content : [content]).map((record) =>
    isObject(record) ? pick(answer === null ? withTransactionId(record) : record, names) : null,
  );
  if (envelope !== null) {
    if (!isList && !records.some(hasMembers)) return null;
    const texts: string[] = [];
    let length = 0;
    for (const record of records) {
      const text = write(record, secrets);
      length += text.length + 1;
      if (length > maxAnswer) break;
      texts.push(text);
    }
    return `{${JSON.stringify(envelope)}:[${texts.join()}]}`;
  }
  // If the answer has several records, it is unknown which one is the receipt of this payment.
  const [receipt = null, ...others] = records;
  if (others.length > 0 || !hasMembers(receipt)) return null;
  const text = write(receipt, secrets);
  return text.length > maxAnswer ? null : text;
}

/** The record or the list in an answer: under the contract's key, or another spelling of it, or the answer itself. */
function contentOf(operation: Operation, value: unknown): unknown {
  if (typeof value === 'string') return { status: value };
  if (!isObject(value)) return value;
  const names = operation.envelope === null ? [] : [operation.envelope, ...envelopeNames(operation, value)];
  return names.map((name) => value[name]).find((held) => isObject(held) || Array.isArray(held)) ?? value;
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
    // The payment's outcome is valid, even if the bank's answer is malformed.
    return null;
  }
}

/**
 * Converts an answer that the contract does not define: the value of `transaction_id`, in any spelling,
 * becomes the `id`.
 */
function withTransactionId(record: Readonly<Record<string, unknown>>) {
  const name = Object.keys(record).find((each) => fold(each) === 'transactionid' && record[each] != null);
  return name === undefined ? record : { ...record, id: record[name] };
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
