import type { responseDrifts } from '../../bank/answer.ts';
import { maxErrorLength, redact } from '../../bank/errors.ts';
import { type GatewayAnswers, knownGatewayAnswers } from '../../bank/gateway-answers.ts';
import { type HttpResponse, isJsonType, otherCharsetOf, startsWithMark } from '../../bank/http-message.ts';
import type { Operation } from '../../contract/operation.ts';
import { isObject } from '../../is-object.ts';
import { type AnswerBody, readBody } from './answer-body.ts';
import { isEmptyContainer } from './answer-values.ts';
import type { About } from './facts.ts';
import * as words from './payment-words.ts';
import { fold } from './payment-words.ts';
import { readRefusal } from './refusal-answer.ts';
import { toStoredResponse } from './stored-response.ts';
import { type Finding, finding, readSuccess, speaksOfFailure } from './success-answer.ts';
import { bankWordsFor, isTaught, readPaths, taughtContent } from './taught-answer.ts';

/**
 * The meaning of the bank's answer to a payment. bankql has to understand all of the answer: DONE needs evidence of the
 * execution, and REJECTED evidence of the refusal. Everything else is UNKNOWN. Names, words and phrases are in
 * payment-words.ts. The bodies with which a gateway refuses a request before the bank reads it are in bank/gateway-answers.ts.
 */

/**
 * - `DONE`: the bank executed it. `answer`: the parts that bankql reads, see stored-response.ts.
 * - `REJECTED`: the bank did not execute it and will not.
 * - `RELEASED`: the answer refuses the request before the payment is read (credentials, a gateway's limit); nothing is kept,
 *   and the key is free again.
 * - `UNKNOWN`: anything else. `isAccepted`: the bank has the payment, and has not said whether it executed the
 *   payment. `answer`: as for DONE.
 */
interface PaymentVerdict {
  readonly state: 'DONE' | 'REJECTED' | 'RELEASED' | 'UNKNOWN';
  readonly answer: string | null;
  readonly isAccepted: boolean;
  /** The deviations of the answer from the contract, as in docs/real-banks.md. */
  readonly drifts: readonly (keyof typeof responseDrifts)[];
  /** Why the answer is UNKNOWN, if bankql does not understand its shape or its texts. */
  readonly unknown?: UnknownAnswer | undefined;
}

interface UnknownAnswer {
  /** The members that are not understood, such as `data.id`; a limited number of them. */
  readonly names: readonly string[];
  /** The settings with which bankql would understand the answer. */
  readonly hint: string;
  /** The bank's code in a refusal, shortened and without secrets; undefined if it has none. */
  readonly code?: string | undefined;
}

/** An answer that bankql does not understand, and the bank's text in it. */
export interface StrangeAnswer extends UnknownAnswer {
  readonly operation: string;
  readonly status: number;
  readonly text: string | null;
}

interface ClassifyOptions extends Pick<About, 'operation' | 'bankWords' | 'sent'> {
  /** Recognises the answers of gateways in front of the bank (default: without the operator's texts). */
  readonly gateways?: GatewayAnswers | undefined;
  /** Whether a read in this process got the same 401 as this response (bank/refused-reads.ts). */
  readonly isRefusalOfReads?: ((response: Answered) => boolean) | undefined;
  /** The secrets of the request. The bank may repeat them, and no stored answer may contain them. */
  readonly secrets: readonly string[];
  readonly now?: number;
}

type Answered = Pick<HttpResponse, 'status' | 'headers' | 'body'>;

const doneStatuses: ReadonlySet<number> = new Set([200, 201, 203, 204]);
/** 409 is not one of these statuses, because the bank may already have executed the payment. */
const refusalStatuses: ReadonlySet<number> = new Set([400, 402, 403, 404, 405, 413, 415, 422]);
/** The statuses with which a gateway or bank may refuse a request before it reads the payment. */
const earlyStatuses: ReadonlySet<number> = new Set([401, 403, 429]);

export function classifyPaymentResponse(response: Answered, given: ClassifyOptions): PaymentVerdict {
  const { status } = response;
  const bankWords = bankWordsFor(given.operation, given.bankWords);
  const isLong = response.body.length > maxErrorLength;
  const read = { bankWords, isLong, isEntry: false, stated: null, now: given.now ?? Date.now() };
  const options = { ...given, ...read };
  // In a charset other than UTF-8, the same bytes may have another meaning.
  const isForeign = otherCharsetOf(response) !== null;
  const said: AnswerBody = isForeign ? { kind: 'unreadable', value: undefined } : readBody(response);
  if (status >= 200 && status < 300) return classifySuccess(response, said, options);
  const verdict = (state: PaymentVerdict['state']): PaymentVerdict => ({
    ...{ state, answer: null, isAccepted: false },
    drifts: isForeign ? ['charset'] : [],
  });
  const { gateways = knownGatewayAnswers } = options;
  if (gateways.refusalIn(response) !== null) return verdict('RELEASED');
  if (status === 401 && options.isRefusalOfReads?.(response)) return verdict('RELEASED');
  const isReadable = !isLong && isObject(said.value);
  const { meaning, names, hint, code }: Finding =
    refusalStatuses.has(status) && isReadable ? readRefusal(status, said.value, options) : finding(null);
  if (meaning === 'rejected') return verdict('REJECTED');
  const isEarly = earlyStatuses.has(status) && /json|text/.test(said.kind);
  const hints = [hint, isEarly && 'BANK_PAYMENT_NOT_SENT'].filter(Boolean);
  if (hints.length === 0) return verdict('UNKNOWN');
  const shownCode = code && redact(code, options.secrets, maxNameLength);
  const unknown = { names: bounded(names), hint: hints.join(' or '), code: shownCode };
  return { ...verdict('UNKNOWN'), drifts: ['payment-answer'], unknown };
}

function classifySuccess(
  response: Answered,
  said: AnswerBody,
  options: ClassifyOptions & About,
): PaymentVerdict {
  const { status } = response;
  const { operation, bankWords, secrets } = options;
  const found = isTaught(bankWords) ? readPaths(said, options) : readSuccess(said, options);
  const { meaning, names } = found;
  // If the operator has configured the path of the status, even a 202 may mean DONE, because the operator
  // knows what the bank means by it.
  const isDone = meaning === 'done' && (doneStatuses.has(status) || bankWords.statusPath !== undefined);
  const isWhole = said.kind !== 'unreadable' && said.kind !== 'repeated';
  const isSilent = status === 202 && isWhole && !speaksOfFailure(said.value, options);
  const isAccepted = !isDone && (meaning === 'accepted' || (meaning !== 'rejected' && isSilent));
  const state = isDone ? 'DONE' : meaning === 'rejected' ? 'REJECTED' : 'UNKNOWN';
  const isStrange = state === 'UNKNOWN' && !isAccepted && /json|text|repeated/.test(said.kind);
  const content =
    isTaught(bankWords) && operation.envelope === null ? taughtContent(said, bankWords) : said.value;
  return {
    ...{ state, isAccepted },
    answer: isDone || isAccepted ? toStoredResponse(operation, content, secrets) : null,
    drifts: [...driftsOf(response, said, operation), ...(isStrange ? (['payment-answer'] as const) : [])],
    unknown: isStrange ? { names: bounded(names), hint: found.hint ?? hintFor(said, names) } : undefined,
  };
}

/** The maximum number of reported names, and the length to which each is cut. */
const maxNames = 20;
const maxNameLength = 60;
const bounded = (names: readonly string[]) =>
  [...new Set(names)]
    .slice(0, maxNames)
    .map((name) => name.slice(0, maxNameLength).replaceAll(/[\p{C}\s]+/gu, ' '));

/** The settings with which bankql would understand a success. */
function hintFor({ kind, value }: AnswerBody, names: readonly string[]): string {
  if (kind === 'repeated') return 'none: a name occurs twice in one object';
  const isWord = typeof value === 'string' || names.some((name) => words.statusName.test(fold(name)));
  return isWord
    ? 'BANK_PAYMENT_DONE or BANK_PAYMENT_REJECTED'
    : 'BANK_PAYMENT_STATUS or BANK_PAYMENT_RECEIPT';
}

function driftsOf(
  response: Answered,
  { kind, value }: AnswerBody,
  { envelope }: Operation,
): PaymentVerdict['drifts'] {
  const drifts: (keyof typeof responseDrifts)[] = startsWithMark(response) ? ['byte-order-mark'] : [];
  if (otherCharsetOf(response) !== null) drifts.push('charset');
  const type = response.headers['content-type'];
  if (kind === 'json' && type !== undefined && !isJsonType(String(type))) drifts.push('content-type');
  if (envelope === null || kind === 'unreadable' || kind === 'repeated') return drifts;
  if (kind !== 'json' || typeof value === 'string') return [...drifts, 'empty-body'];
  if (isObject(value) && Array.isArray(value[envelope])) return drifts;
  return [...drifts, isObject(value) && isEmptyContainer(value) ? 'empty-record' : 'envelope'];
}
