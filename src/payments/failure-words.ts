import { isObject } from './stored-response.ts';

/** How a bank reports a failure in an answer with a success status: the words of docs/payments.md. */

const failure = /^(failed|rejected|declined|cancell?ed)$/i;
/** Also matches within a longer word or text, such as PaymentFailed or NO_ERROR, which may mean anything. */
const mentionOfFailure = /fail|reject|declin|cancel|error|denied|refus|insufficient|unavailable/i;
const success =
  /^(ok|success|successful|succeeded|accepted|approved|booked|completed?|confirmed|done|executed|processed|settled)$/i;

/** The members that state the outcome, and those whose names only end that way, such as `transactionStatus`. */
const statusName = /^(status|state|result)$/i;
const statusLikeName = /(status|state|result)$/i;
const errorName = /^(error|errors|fault)$/i;
const successName = /^(ok|success|successful|succeeded)$/i;

/** The statuses in a record. A number is an HTTP status, as frameworks add it to an error. */
function statusesOf(record: unknown): readonly string[] {
  if (!isObject(record)) return [];
  return Object.entries(record).flatMap(([name, member]) =>
    statusName.test(name) && typeof member === 'string' && member.trim() !== '' ? [member.trim()] : [],
  );
}

/** Whether a record says that the payment failed, and states no other outcome. */
export function isFailure(record: unknown): boolean {
  const statuses = statusesOf(record);
  return statuses.length > 0 && statuses.every((status) => failure.test(status));
}

/** Whether a value, or anything inside it, casts doubt on the success. */
export function hintsAtFailure(record: unknown, envelope: string | null): boolean {
  // A work list instead of recursion: the bank decides how deeply the value is nested.
  const members: { readonly name: string; readonly value: unknown }[] = [{ name: 'status', value: record }];
  for (const { name, value } of members) {
    if (typeof value === 'string' && mentionOfFailure.test(value)) {
      if (statusLikeName.test(name) || name === envelope) return true;
    } else if (Array.isArray(value)) {
      for (const item of value) members.push({ name, value: item });
    } else if (isObject(value)) {
      if (hasError(value)) return true;
      for (const [name, member] of Object.entries(value)) members.push({ name, value: member });
    }
  }
  return false;
}

/** Whether an object reports an error without a known word of success, or has a `success` that is false. */
function hasError(object: Readonly<Record<string, unknown>>): boolean {
  const entries = Object.entries(object);
  if (entries.some(([name, member]) => successName.test(name) && /^(false|no|0)$/i.test(String(member))))
    return true;
  if (!entries.some(([name, member]) => errorName.test(name) && !isNothing(member))) return false;
  const statuses = statusesOf(object);
  return statuses.length === 0 || !statuses.every((status) => success.test(status));
}

const isNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0);
