import { isUtf8 } from 'node:buffer';
import type { HttpResponse } from '../bank/http/http-message.ts';
import { parseExactJson } from '../contract/exact-json.ts';
import type { Operation } from '../contract/operation.ts';
import { readableAnswer, recordsOf } from './readable-answer.ts';

/**
 * What the bank's answer to a payment means.
 * - `DONE`: it accepted the payment. `answer`: the parts that are read, see readable-answer.ts.
 * - `REJECTED`: it says that it did not execute the payment.
 * - `RELEASED`: it did not accept the caller's credentials; nothing is kept, and the key is free again.
 * - `UNKNOWN`: anything else. `answer` as above where it accepted the payment for later.
 */
export interface PaymentVerdict {
  readonly state: 'DONE' | 'REJECTED' | 'RELEASED' | 'UNKNOWN';
  readonly answer: string | null;
}

export interface ClassifyOptions {
  readonly operation: Operation;
  /** The statuses of a refusal: BANK_PAYMENT_REJECTED_STATUSES. */
  readonly rejectedStatuses: ReadonlySet<number>;
  /** What no stored answer may hold; the bank may repeat what it was sent. */
  readonly secrets: readonly string[];
}

/** Refusals whatever their body: with these, nothing that was asked for was looked at, or it was found wanting. */
const refusedWhateverTheBody: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 413, 415, 422]);

/**
 * The statuses of a refusal where nothing else is configured. 402 and 429 (and all that an operator adds) are refusals
 * only with a JSON object for a body: something between bankql and the bank may have answered in its place.
 */
export const defaultRejectedStatuses: ReadonlySet<number> = new Set([...refusedWhateverTheBody, 402, 429]);

/** What the bank's answer to a payment means: the table in docs/payments.md. In doubt it is UNKNOWN. */
export function classifyPaymentResponse(
  { status, body }: Pick<HttpResponse, 'status' | 'body'>,
  options: ClassifyOptions,
): PaymentVerdict {
  const said = readBody(body);
  if (status >= 200 && status < 300) return classifySuccess(status, said, options);
  if (!options.rejectedStatuses.has(status)) return unknown;
  if (status === 401) return { state: 'RELEASED', answer: null };
  const isRefusal = refusedWhateverTheBody.has(status) || (said.kind === 'json' && isObject(said.value));
  return isRefusal ? { state: 'REJECTED', answer: null } : unknown;
}

function classifySuccess(
  status: number,
  said: Body,
  { operation, secrets }: ClassifyOptions,
): PaymentVerdict {
  if (said.kind === 'unreadable') return unknown;
  const { value } = said;
  const records = recordsOf(operation, value);
  if ([value, ...records].some(isErrorAlone)) return unknown;
  // Of a list, one that went well is enough: it may hold earlier requests too.
  if (records.length > 0 && records.every((record) => failure.test(statusOf(record))))
    return { state: 'REJECTED', answer: null };
  if (records.length > 0 && records.every((record) => mentionOfFailure.test(statusOf(record))))
    return unknown;
  return {
    state: status === 202 ? 'UNKNOWN' : 'DONE',
    answer: readableAnswer(operation, value, secrets),
  };
}

const unknown: PaymentVerdict = { state: 'UNKNOWN', answer: null };

interface Body {
  readonly kind: 'empty' | 'json' | 'text' | 'unreadable';
  /** The JSON value, or a short and plain text as if it were a JSON string; undefined where there is neither. */
  readonly value: unknown;
}

const unreadable: Body = { kind: 'unreadable', value: undefined };

/** The longest text that is taken for a status, in bytes. */
const maxStatus = 64;

function readBody(body: Buffer): Body {
  if (!isUtf8(body)) return unreadable;
  const text = body
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trim();
  if (text === '') return { kind: 'empty', value: undefined };
  try {
    return { kind: 'json', value: parseExactJson(text) };
  } catch {
    // What begins like JSON or markup is half of something, and a status is plain words.
    const isStatus = Buffer.byteLength(text) <= maxStatus && !/^[[{"<]|[^\P{Cc}\s]/u.test(text);
    return isStatus ? { kind: 'text', value: text } : unreadable;
  }
}

const failureWords = 'failed|rejected|declined|cancell?ed';
const failure = new RegExp(`^(${failureWords})$`, 'i');
/** As one of several words, such as PAYMENT_FAILED: that may mean anything. */
const mentionOfFailure = new RegExp(`(?<![a-z])(${failureWords})(?![a-z])`, 'i');

function statusOf(record: unknown): string {
  const status = isObject(record) ? record.status : undefined;
  return typeof status === 'string' ? status.trim() : '';
}

/** Whether an object's only news is an error: it says nothing of a payment. */
function isErrorAlone(value: unknown): boolean {
  if (!isObject(value)) return false;
  const saysError = Object.entries(value).some(
    ([name, member]) => /^(error|errors|fault)$/i.test(name) && !isNothing(member),
  );
  // A number is an HTTP status, as frameworks write it beside an error.
  return saysError && isNothing(value.id) && statusOf(value) === '' && isNothing(value.value);
}

const isNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
