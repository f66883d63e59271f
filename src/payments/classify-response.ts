import { isUtf8 } from 'node:buffer';
import type { HttpResponse } from '../bank/http/http-message.ts';
import { whatTakesTooLong } from '../bank/response-limits.ts';
import { parseExactJson } from '../contract/exact-json.ts';
import type { Operation } from '../contract/operation.ts';
import { hintsAtFailure, isFailure } from './failure-words.ts';
import { isObject, recordsOf, toStoredResponse } from './stored-response.ts';

/**
 * What the bank's answer to a payment means.
 * - `DONE`: it accepted the payment. `answer`: the parts that bankql reads, see stored-response.ts.
 * - `REJECTED`: it says that it did not execute the payment.
 * - `RELEASED`: it did not accept the caller's credentials; nothing is kept, and the key is free again.
 * - `UNKNOWN`: anything else. `answer` as above if it accepted the payment for later execution.
 */
export interface PaymentVerdict {
  readonly state: 'DONE' | 'REJECTED' | 'RELEASED' | 'UNKNOWN';
  readonly answer: string | null;
}

export interface ClassifyOptions {
  readonly operation: Operation;
  /** The statuses of a refusal: BANK_PAYMENT_REJECTED_STATUSES. */
  readonly rejectedStatuses: ReadonlySet<number>;
  /** Values that no stored answer may contain; the bank may echo what it was sent. */
  readonly secrets: readonly string[];
}

/** Refusals whatever their body: the request was not processed, or was rejected as invalid. */
const refusedWhateverTheBody: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 413, 415, 422]);

/**
 * The default statuses of a refusal. 402 and 429 (and those that an operator adds) count only with a JSON object as the
 * body: otherwise an intermediary may have answered instead of the bank.
 */
export const defaultRejectedStatuses: ReadonlySet<number> = new Set([...refusedWhateverTheBody, 402, 429]);

/** Classifies the bank's answer to a payment by the table in docs/payments.md. In doubt it is UNKNOWN. */
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
  const { envelope } = operation;
  const records = recordsOf(operation, value);
  // In a list, one success is enough not to reject: it may contain earlier requests too.
  if (records.length > 0 && records.every(isFailure)) return { state: 'REJECTED', answer: null };
  if (records.length > 0 && records.every((record) => hintsAtFailure(record, envelope))) return unknown;
  if (envelope !== null && hintsAtFailure(besideList(value, envelope), envelope)) return unknown;
  return {
    state: status === 202 ? 'UNKNOWN' : 'DONE',
    answer: toStoredResponse(operation, value, secrets),
  };
}

/** The members of an envelope besides the list that it contains. */
const besideList = (value: unknown, envelope: string): unknown =>
  isObject(value) && Array.isArray(value[envelope]) ? { ...value, [envelope]: null } : null;

const unknown: PaymentVerdict = { state: 'UNKNOWN', answer: null };

interface Body {
  readonly kind: 'empty' | 'json' | 'text' | 'unreadable';
  /** The JSON value, or a short plain text as if it were a JSON string; undefined if it is neither. */
  readonly value: unknown;
}

const unreadable: Body = { kind: 'unreadable', value: undefined };

/** The longest text that is taken for a status, in bytes. */
const maxStatus = 64;

function readBody(body: Buffer): Body {
  if (!isUtf8(body) || whatTakesTooLong(body) !== null) return unreadable;
  const text = body
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trim();
  if (text === '') return { kind: 'empty', value: undefined };
  try {
    return { kind: 'json', value: parseExactJson(text) };
  } catch {
    // Text that begins like JSON or markup is a truncated document; a status is plain words.
    const isStatus = Buffer.byteLength(text) <= maxStatus && !/^[[{"<]|[^\P{Cc}\s]/u.test(text);
    return isStatus ? { kind: 'text', value: text } : unreadable;
  }
}
