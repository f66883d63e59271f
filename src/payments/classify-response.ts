import { isUtf8 } from 'node:buffer';
import { maxErrorLength } from '../bank/errors.ts';
import { type HttpResponse, partialContent, textOf } from '../bank/http-message.ts';
import { withoutHeadOffice } from '../bank/ids.ts';
import { whatTakesTooLong } from '../bank/json-limits.ts';
import type { responseDrifts } from '../bank/response.ts';
import { parseExactJson } from '../contract/exact-json.ts';
import type { Operation } from '../contract/operation.ts';
import { isObject } from '../is-object.ts';
import {
  mayBeExecuted,
  meaningOf,
  mentionsExecution,
  normalized,
  type Outcome,
  readOutcome,
  type Vocabulary,
} from './outcome-words.ts';
import type { PaymentRecord } from './store.ts';
import { type AnswerContent, readContent, toStoredResponse } from './stored-response.ts';

/**
 * What the bank's answer to a payment means.
 * - `DONE`: the bank confirmed the payment. `answer`: the parts that bankql reads, see stored-response.ts.
 * - `REJECTED`: the bank says that it did not execute it.
 * - `RELEASED`: the bank did not accept the caller's credentials; nothing is kept, and the key is free again.
 * - `UNKNOWN`: anything else. `isAccepted`: the bank has the payment, and has not said that it executed it; `answer` then
 *   as above.
 */
interface PaymentVerdict {
  readonly state: 'DONE' | 'REJECTED' | 'RELEASED' | 'UNKNOWN';
  readonly answer: string | null;
  readonly isAccepted: boolean;
  /** How the answer deviates as a whole, if it does: see responseDrifts. */
  readonly drift?: keyof typeof responseDrifts | undefined;
}

interface ClassifyOptions extends Vocabulary {
  /** The statuses of a refusal: BANK_PAYMENT_REJECTED_STATUSES. */
  readonly rejectedStatuses: ReadonlySet<number>;
  /** The payment: a list may contain others. */
  readonly sent: Pick<PaymentRecord, 'toBankId' | 'toAccountId' | 'currency' | 'amount' | 'description'>;
  /** Values that no stored answer may contain; the bank may echo what it was sent. */
  readonly secrets: readonly string[];
}

const noContent = 204;

type Answered = Pick<HttpResponse, 'status' | 'headers' | 'body'>;

/**
 * Whether a successful answer may lack a part of its body: it is 206, or its body is empty and nothing in its head says so, so that the
 * connection may have broken before the body came.
 */
const isIncomplete = ({ status, headers, body }: Answered): boolean =>
  status === partialContent ||
  (body.length === 0 &&
    status !== noContent &&
    headers['content-length'] === undefined &&
    headers['transfer-encoding'] === undefined);

const verdict = (state: PaymentVerdict['state']): PaymentVerdict => ({
  state,
  answer: null,
  isAccepted: false,
});

/**
 * Classifies the bank's answer to a payment by the table in docs/payment-operations.md. DONE needs evidence, and so does REJECTED,
 * because a firewall or a proxy may have answered instead of the bank; everything else is UNKNOWN.
 */
export function classifyPaymentResponse(response: Answered, options: ClassifyOptions): PaymentVerdict {
  const { status, body } = response;
  if (status >= 200 && status < 300)
    return isIncomplete(response) ? verdict('UNKNOWN') : classifySuccess(response, readBody(body), options);
  if (!options.rejectedStatuses.has(status)) return verdict('UNKNOWN');
  const { kind, value } = body.length > maxErrorLength ? unreadable : readBody(body);
  const said = kind === 'json' && isObject(value) ? value : null;
  if (said !== null && mayBeExecuted(said, options)) return verdict('UNKNOWN');
  // The bank, or a proxy in front of it, does not accept the credentials: nothing was executed.
  if (status === 401) return verdict('RELEASED');
  return verdict(said === null ? 'UNKNOWN' : 'REJECTED');
}

function classifySuccess({ status, body }: Answered, said: Body, options: ClassifyOptions): PaymentVerdict {
  const content = readContent(options.operation, said.value);
  const outcome = outcomeOf(said, content, options);
  if (outcome === 'rejected')
    return verdict(
      body.length > maxErrorLength || mentionsExecution(said.value, options) ? 'UNKNOWN' : 'REJECTED',
    );
  const isAccepted = outcome === 'accepted' || (status === 202 && outcome !== 'doubtful');
  if (outcome !== 'done' && !isAccepted) return verdict('UNKNOWN');
  return {
    state: isAccepted ? 'UNKNOWN' : 'DONE',
    answer: toStoredResponse(options.operation, content, options.secrets),
    isAccepted,
    drift: driftOf(options.operation, said),
  };
}

/** How an answer with a list deviates from the contract's shape. */
function driftOf(operation: Operation, { kind, value }: Body): PaymentVerdict['drift'] {
  if (operation.envelope === null) return undefined;
  if (kind !== 'json') return 'empty-body';
  if (isObject(value) && Array.isArray(value[operation.envelope])) return undefined;
  return isObject(value) && Object.keys(value).length === 0 ? 'empty-record' : 'envelope';
}

/** What the body of a successful response says of the payment. */
function outcomeOf(
  { kind, value }: Body,
  { envelope, isList, records }: AnswerContent,
  options: ClassifyOptions,
): Outcome {
  if (kind === 'unreadable') return 'doubtful';
  if (kind === 'empty' || (isObject(value) && Object.keys(value).length === 0)) return 'done';
  if (typeof value === 'string') return meaningOf(value, options);
  const { operation, sent } = options;
  const isContractsList =
    isList && operation.envelope !== null && (envelope === null || envelope === operation.envelope);
  // The contract's list may contain other requests too.
  const own = new Set(isContractsList ? entriesOf(sent, records) : records);
  if (own.size === 0 && records.length > 0) return 'doubtful';
  const all = records.map((record) => readOutcome(record, options));
  // All entries: the failed one may be an earlier request, and this payment may be one that the bank spelt in another way.
  if (all.length > 0 && all.every((outcome) => outcome === 'rejected')) return 'rejected';
  const outcomes = all
    .filter((_, index) => own.has(records[index]))
    // The list is the evidence, if nothing in the entry says otherwise.
    .map((outcome) => (isContractsList && outcome === 'silent' ? 'done' : outcome));
  // Members next to the list are about the whole answer.
  const around =
    envelope !== null && isObject(value) ? readOutcome({ ...value, [envelope]: null }, options) : 'silent';
  if (around !== 'done' && around !== 'silent') return around === 'rejected' ? 'doubtful' : around;
  if (outcomes.length === 0) return isContractsList ? 'done' : value === false ? 'doubtful' : 'silent';
  // Of several entries nobody knows which one is this payment: the worst one counts.
  if (outcomes.includes('rejected')) return 'doubtful';
  const order = ['doubtful', 'unclear', 'silent', 'accepted', 'done'] as const;
  return order.find((outcome) => outcomes.includes(outcome)) ?? 'doubtful';
}

type Sent = ClassifyOptions['sent'];

/** The entries of a list that name the payment's payee; if none does, those that name no other payee, amount or currency. */
function entriesOf(sent: Sent, list: readonly unknown[]): readonly unknown[] {
  const compared = list.map((entry) => ({ entry, payment: comparedWith(sent, entry) }));
  const best = compared.some(({ payment }) => payment === 'the same') ? 'the same' : 'not known';
  return compared.filter(({ payment }) => payment === best).map(({ entry }) => entry);
}

/** Whether an entry is the payment that was sent: another if it names another payee, currency or amount, not known if it names no payee. */
function comparedWith(sent: Sent, entry: unknown): 'the same' | 'another' | 'not known' {
  const body = isObject(entry) && isObject(entry.body) ? entry.body : {};
  const to = isObject(body.to) ? body.to : {};
  const value = isObject(body.value) ? body.value : {};
  const bankCode = (text: string) => withoutHeadOffice(normalized(text));
  const compare = (said: unknown, own: string | null, read: (text: string) => string | number) => {
    if (said == null || said === '' || own === null) return 'not known';
    const value = read(String(said));
    if (Number.isNaN(value)) return 'not known';
    return value === read(own) ? 'the same' : 'another';
  };
  const payee = compare(to.account_id, sent.toAccountId, normalized);
  const others = [
    compare(to.bank_id, sent.toBankId, bankCode),
    compare(value.currency, sent.currency, normalized),
    compare(value.amount, sent.amount, Number),
  ];
  return others.includes('another') ? 'another' : payee;
}

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
  const text = textOf({ body }).trim();
  if (text === '') return { kind: 'empty', value: undefined };
  try {
    const value = parseExactJson(text);
    return isUnusable(text) ? unreadable : { kind: 'json', value };
  } catch {
    // Text that begins like JSON or markup is a truncated document; a status is plain words.
    const isStatus = Buffer.byteLength(text) <= maxStatus && !/^[[{"<]|[^\P{Cc}\s]/u.test(text);
    return isStatus ? { kind: 'text', value: text } : unreadable;
  }
}

const jsonToken = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/g;

/** An object or a list that is being read: its members so far, with the texts of their values. */
interface Reading {
  readonly values: Map<string, string>;
  /** The member whose value begins at `start`; null between members, and in a list. */
  name: string | null;
  start: number;
}

/** The most levels of an answer: a value with thousands of them overflows the stack when it is turned into text. */
const maxLevels = 64;

/**
 * Whether valid JSON is deeper than any answer, or an object in it has the same member twice with different values: parsing would
 * keep the last one, and nobody knows which one holds.
 */
function isUnusable(json: string): boolean {
  let inside: Reading = { values: new Map(), name: null, start: 0 };
  const outer: Reading[] = [];
  let text = '';
  for (const { 0: token, index } of json.matchAll(jsonToken)) {
    if (token === '{' || token === '[') {
      if (outer.length === maxLevels) return true;
      outer.push(inside);
      inside = { values: new Map(), name: null, start: 0 };
    } else if (token === ':') {
      inside.name = String(JSON.parse(text));
      inside.start = index + 1;
    } else if (token.startsWith('"')) text = token;
    else {
      const { values, name, start } = inside;
      const value = json.slice(start, index).trim();
      if (name !== null && (values.get(name) ?? value) !== value) return true;
      if (name !== null) values.set(name, value);
      inside.name = null;
      if (token !== ',') inside = outer.pop() ?? inside;
    }
  }
  return false;
}
