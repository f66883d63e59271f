import { maxErrorLength } from '../bank/errors.ts';
import { type GatewayAnswers, knownGatewayAnswers } from '../bank/gateway-answers.ts';
import { type HttpResponse, otherCharsetOf, startsWithMark } from '../bank/http-message.ts';
import { withoutHeadOffice } from '../bank/ids.ts';
import { isJsonType, type responseDrifts } from '../bank/response.ts';
import { numberParts, plainDecimal } from '../contract/decimal.ts';
import type { Operation } from '../contract/operation.ts';
import { isObject } from '../is-object.ts';
import { type AnswerBody, readBody } from './answer-body.ts';
import * as words from './payment-words.ts';
import { type BankWords, fold, type Meaning, meaningOf, type Reason } from './payment-words.ts';
import type { PaymentRecord } from './store.ts';
import { toStoredResponse } from './stored-response.ts';

/**
 * The meaning of the bank's answer to a payment, in a closed world: an answer decides only if bankql understands all of it.
 * DONE needs evidence of the execution, REJECTED of the refusal; everything else is UNKNOWN. Names, words and phrases are in
 * payment-words.ts.
 */

/**
 * - `DONE`: the bank executed it. `answer`: the parts that bankql reads, see stored-response.ts.
 * - `REJECTED`: the bank did not execute it and will not.
 * - `RELEASED`: the answer refuses the request before the payment is read (credentials, a gateway's limit); nothing is kept, and the key is
 *   free again.
 * - `UNKNOWN`: anything else. `isAccepted`: the bank has the payment and has not said that it executed it; `answer` then as above.
 */
interface PaymentVerdict {
  readonly state: 'DONE' | 'REJECTED' | 'RELEASED' | 'UNKNOWN';
  readonly answer: string | null;
  readonly isAccepted: boolean;
  /** The deviations of the answer from the contract, as in docs/real-banks.md. */
  readonly drifts: readonly (keyof typeof responseDrifts)[];
  /** Why the answer is UNKNOWN, if its shape or its texts are not known. */
  readonly unknown?: UnknownAnswer | undefined;
}

interface UnknownAnswer {
  /** The unknown members, such as `data.id`; bounded. */
  readonly names: readonly string[];
  /** The settings that would help. */
  readonly hint: string;
}

/** An answer whose shape or texts are not known, and the bank's text in it. */
export interface StrangeAnswer extends UnknownAnswer {
  readonly operation: string;
  readonly status: number;
  readonly text: string | null;
}

type Sent = Pick<PaymentRecord, 'toBankId' | 'toAccountId' | 'currency' | 'amount' | 'description'> &
  Partial<Pick<PaymentRecord, 'bankId' | 'accountId'>>;

interface ClassifyOptions {
  readonly operation: Operation;
  readonly bankWords: BankWords;
  /** The answers of gateways in front of the bank (default: those that are known without settings). */
  readonly gateways?: GatewayAnswers | undefined;
  /** The payment, which an answer may repeat. */
  readonly sent: Sent;
  /** Values that no stored answer may contain; the bank may repeat the request. */
  readonly secrets: readonly string[];
  readonly now?: number;
}

type Answered = Pick<HttpResponse, 'status' | 'headers' | 'body'>;

/** The meaning of an answer, and its members that are not known. */
interface Finding {
  readonly meaning: Meaning | null;
  readonly names: readonly string[];
}
const finding = (meaning: Meaning | null, names: readonly string[] = []): Finding => ({ meaning, names });

const doneStatuses: ReadonlySet<number> = new Set([200, 201, 203, 204]);
/** Without 409: the bank may have executed the payment before. */
const refusalStatuses: ReadonlySet<number> = new Set([400, 402, 403, 404, 405, 413, 415, 422]);

export function classifyPaymentResponse(response: Answered, options: ClassifyOptions): PaymentVerdict {
  const { status } = response;
  const body = readBody(response);
  // In another charset the same bytes may say something else.
  const isForeign = otherCharsetOf(response) !== null;
  const said: AnswerBody = isForeign ? { kind: 'unreadable', value: undefined } : body;
  if (status >= 200 && status < 300) return classifySuccess(response, said, options);
  const verdict = (state: PaymentVerdict['state']): PaymentVerdict => ({
    state,
    answer: null,
    isAccepted: false,
    drifts: isForeign ? ['charset'] : [],
  });
  const { gateways = knownGatewayAnswers } = options;
  if (gateways.refusalIn(response) !== null) return verdict('RELEASED');
  if (status === 401) return verdict(mayBeExecuted(body) ? 'UNKNOWN' : 'RELEASED');
  const isReadable = response.body.length <= maxErrorLength && isObject(said.value);
  if (!refusalStatuses.has(status) || !isReadable) return verdict('UNKNOWN');
  const { meaning, names } = readRefusal(status, said.value, options.bankWords);
  if (meaning === 'rejected') return verdict('REJECTED');
  const unknown = { names: bounded(names), hint: 'BANK_PAYMENT_REJECTED' };
  return { ...verdict('UNKNOWN'), drifts: ['payment-answer'], unknown };
}

function classifySuccess(response: Answered, said: AnswerBody, options: ClassifyOptions): PaymentVerdict {
  const { status } = response;
  const { operation, bankWords, secrets } = options;
  const { statusPath, receiptPath } = bankWords;
  const isTaught = statusPath !== undefined || receiptPath !== undefined;
  const { meaning, names } = isTaught ? readPaths(said, options) : readSuccess(said, options);
  // An operator who names the place of the status knows what the bank means by 202.
  const isDone = meaning === 'done' && (doneStatuses.has(status) || statusPath !== undefined);
  const isSilent = status === 202 && !speaksOfFailure(said, bankWords);
  const isAccepted = !isDone && (meaning === 'accepted' || (meaning !== 'rejected' && isSilent));
  const state = isDone ? 'DONE' : meaning === 'rejected' ? 'REJECTED' : 'UNKNOWN';
  const isStrange = state === 'UNKNOWN' && !isAccepted && /json|text|repeated/.test(said.kind);
  const content = isTaught && operation.envelope === null ? taughtContent(said, bankWords) : said.value;
  return {
    ...{ state, isAccepted },
    answer: isDone || isAccepted ? toStoredResponse(operation, content, secrets) : null,
    drifts: [...driftsOf(response, said, operation), ...(isStrange ? (['payment-answer'] as const) : [])],
    unknown: isStrange ? { names: bounded(names), hint: hintFor(said, names, isTaught) } : undefined,
  };
}

/** The context of an object. `stated` is the meaning of its statuses, if they agree. */
interface About extends ClassifyOptions {
  readonly isRequest: boolean;
  readonly isEntry: boolean;
  readonly stated: Meaning | null;
}
type Members = Readonly<Record<string, unknown>>;
type Member = readonly [name: string, value: unknown];
type Check = (value: unknown, about: About) => boolean;
type Checks = Readonly<Record<string, Check>>;

/** A Map, so that names from the bank never match the members of a prototype. */
const checksOf = (checks: Checks): ReadonlyMap<string, Check> => new Map(Object.entries(checks));

function readSuccess({ kind, value }: AnswerBody, options: ClassifyOptions): Finding {
  const isRequest = options.operation.envelope !== null;
  const about: About = { ...options, isRequest, isEntry: false, stated: null };
  if (kind === 'empty') return finding('done');
  if (typeof value === 'string') return finding(meaningOf(value, options.bankWords, isRequest));
  if (isRequest) return readRequests(value, about);
  if (!isObject(value)) return finding(null);
  return isEmptyContainer(value) ? finding('done') : readObject(value, about);
}

/** Reads an object. It decides only if every member is known. */
function readObject(object: Members, about: About): Finding {
  const members = Object.entries(object);
  const statuses = members.flatMap(([name, value]) => statusesIn(fold(name), value, about));
  // A Transaction has its id on the outside and its status in its details.
  const inside = membersOf(membersOf(object).details);
  const meanings = 'status' in inside ? [...statuses, statusMeaning(inside.status, about)] : statuses;
  const [stated = null] = meanings.every((meaning) => meaning === meanings[0]) ? meanings : [];
  const strange = members.filter(([name, value]) => !isKnown(fold(name), value, { ...about, stated }));
  const names = strange.flatMap(([name, value]) => pathsOf(name, value));
  const isAccepted =
    meanings.includes('accepted') &&
    meanings.every((meaning) => meaning === 'accepted' || meaning === 'done');
  if (isAccepted && !speaksOfFailure({ kind: 'json', value: object }, about.bankWords))
    return finding('accepted', names);
  const hasReceipt = members.some(([name, value]) => isReceiptMember(fold(name), value));
  const hasEvidence = hasReceipt || statuses.length > 0;
  const isProven = names.length === 0 && hasEvidence && (stated !== null || meanings.length === 0);
  return finding(isProven ? (stated ?? 'done') : null, names);
}

const isReasonName = (folded: string) => words.reasonNames.has(folded) || words.textNames.has(folded);

const statusMeaning = (value: unknown, { bankWords, isRequest }: About) =>
  meaningOf(scalarOf(value) ?? '', bankWords, isRequest);

/** The meanings of a member that is a status. A code or a message counts as a status if the operator lists its value. */
function statusesIn(folded: string, value: unknown, about: About): (Meaning | null)[] {
  if (words.statusNames.has(folded)) return [statusMeaning(value, about)];
  const taught = isReasonName(folded)
    ? words.taughtMeaning(scalarOf(value) ?? '', about.bankWords)
    : undefined;
  return taught === undefined ? [] : [taught];
}

function isKnown(folded: string, value: unknown, about: About): boolean {
  const { stated, isRequest, bankWords } = about;
  const text = scalarOf(value) ?? '';
  if (words.statusNames.has(folded)) return stated !== null;
  if (words.receiptNames.has(folded))
    return (
      isReceiptMember(folded, value) ||
      (folded === 'transactionids' && (isRequest || stated !== null) && isEmptyList(value))
    );
  if (isEmptyContainer(value) || repetitions.get(folded)?.(value, about)) return true;
  if (stated === null) return false;
  if (isReasonName(folded) && words.taughtMeaning(text, bankWords) === stated) return true;
  if (stated === 'rejected' && words.reasonNames.has(folded))
    return isReason(folded === 'code' ? words.readCode(text, bankWords) : words.readText(text, bankWords));
  return besideStatus.get(folded)?.(value, about) ?? false;
}

const isReason = (reason: Reason) => reason === 'decides' || reason === 'reason';

/** Whether a value is the one that was sent; null if one of them is missing. */
function isSame(
  value: unknown,
  own: string | null | undefined,
  read: (text: string) => string | null,
): boolean | null {
  const text = scalarOf(value);
  if (own == null || isEmptyText(value)) return null;
  return text !== null && read(text) !== null && read(text) === read(own);
}
const idText = (text: string) => text.replaceAll(/\s+/g, '').toLowerCase();
const bankCode = (text: string) => withoutHeadOffice(idText(text));
/** A decimal by its value: 5.00 is 5. */
function decimal(text: string): string | null {
  const [number, , , , exponent = '0'] = text.length > 100 ? [] : (numberParts.exec(text.trim()) ?? []);
  if (number === undefined || Math.abs(Number(exponent)) > 100) return null;
  const [, sign = '', whole = '', fraction = ''] =
    /^(-?)0*(\d+?)(?:\.(\d*?)0*)?$/.exec(plainDecimal(number)) ?? [];
  return `${sign}${whole}.${fraction}`;
}

/** Values that were not sent, or that the bank leaves empty, are known only with a status. */
const repeats =
  (sentOf: (sent: Sent) => string | null | undefined, read: (text: string) => string | null): Check =>
  (value, about) =>
    isSame(value, sentOf(about.sent), read) ?? (about.stated !== null && isFreeText(value));
const every = (checks: Checks): Check => {
  const known = checksOf(checks);
  return (value, about) =>
    isObject(value) &&
    Object.entries(value).every(([name, member]) => known.get(fold(name))?.(member, about) ?? false);
};
const each = (names: ReadonlySet<string>, check: Check): Checks =>
  Object.fromEntries([...names].map((name) => [name, check]));

/** Whether a free text of the bank says nothing about the outcome. */
const isFreeText = (value: unknown): boolean => {
  const text = scalarOf(value);
  if (text === null)
    return (
      value === null ||
      (Array.isArray(value) && value.every((entry) => !Array.isArray(entry) && isFreeText(entry)))
    );
  return !words.isTellingWord(text) && !isReason(words.readText(text, words.noBankWords));
};
const freeTextsIn = (record: keyof typeof words.freeTextNames) =>
  every(each(words.freeTextNames[record], isFreeText));
/** Some banks write the object in place of its id: docs/real-banks.md. */
const idOr = (record: keyof typeof words.freeTextNames): Check => {
  const isObjectOfTexts = freeTextsIn(record);
  return (value, about) => isFreeText(value) || isObjectOfTexts(value, about);
};

const amount = repeats(({ amount }) => amount, decimal);
const currency = repeats(({ currency }) => currency, idText);
const payee = every({
  accountid: repeats(({ toAccountId }) => toAccountId, idText),
  bankid: repeats(({ toBankId }) => toBankId, bankCode),
});
const payer = every({
  accountid: repeats(({ accountId }) => accountId, idText),
  bankid: repeats(({ bankId }) => bankId, bankCode),
});
const description: Check = (value, { sent, isEntry, stated }) =>
  isEmptyText(value) ||
  (sent.description ? value === sent.description : isEntry && stated !== null && isFreeText(value));

/** Members that repeat the payment, its creation time, and links to itself. */
const repetitions = checksOf({
  ...{ amount, currency, description, value: every({ amount, currency }), to: payee, from: payer },
  body: every({
    ...{ to: payee, value: every({ amount, currency }), description, from: payer },
    challengetype: (value, { stated }) => stated !== null && isFreeText(value),
  }),
  ...each(words.creationNames, (value, { now }) => isPast(value, now)),
  links: (value) => areLinks(value),
  self: (value) => isLink(value),
});

/** The other members of the specification's records, which need a status that decides. */
const besideStatus = checksOf({
  ...each(words.freeTextNames.record, isFreeText),
  otheraccount: idOr('account'),
  thisaccount: idOr('account'),
  challenge: idOr('challenge'),
  type: (value) => typeof value === 'string' && words.requestTypes.has(fold(value)),
  metadata: freeTextsIn('metadata'),
  details: every({
    ...each(words.freeTextNames.details, isFreeText),
    ...each(
      words.freeTextNames.stopped,
      (value, { stated }) => isEmptyText(value) || (stated === 'rejected' && isFreeText(value)),
    ),
    // The meanings of all statuses were compared before.
    status: () => true,
    description: (value, about) => description(value, { ...about, isEntry: true }),
    // The value is negative in the payer's transaction.
    value: every({
      amount: (value, about) => amount(scalarOf(value)?.replace(/^-/, '') ?? value, about),
      currency,
    }),
    newbalance: freeTextsIn('money'),
  }),
});

/** The answer to putTransactionsRequestAccount is judged by its entry for this payment. */
function readRequests(value: unknown, about: About): Finding {
  const around = isObject(value) ? value : {};
  const key = Object.keys(around).find((name) => /^transactionrequests?$/.test(fold(name)));
  const listed = key === undefined ? value : around[key];
  const entries: readonly unknown[] = Array.isArray(listed) ? listed : [listed];
  const own = ownEntry(entries, key !== undefined && Array.isArray(listed), about.sent);
  if (own === undefined) {
    const isAccepted =
      key === undefined && isObject(value) && readObject(value, about).meaning === 'accepted';
    return finding(isAccepted ? 'accepted' : null, key === undefined ? Object.keys(around) : [key]);
  }
  const found = readObject(own, { ...about, isEntry: true });
  // Members next to the list are about the whole answer.
  const { [key ?? '']: _, ...rest } = key === undefined ? {} : around;
  const whole = isEmptyContainer(rest) ? finding('done') : readObject(rest, about);
  const isWhole = whole.names.length === 0 && (whole.meaning ?? 'done') === 'done';
  return finding(isWhole ? found.meaning : null, [...whole.names, ...found.names]);
}

/**
 * The only entry under the contract's key, or the one entry that repeats payee and value while all others differ. Otherwise
 * undefined.
 */
function ownEntry(entries: readonly unknown[], isContractsList: boolean, sent: Sent): Members | undefined {
  if (!entries.every(isObject)) return undefined;
  if (entries.length === 1 && isContractsList) return entries[0];
  const compared = entries.map((entry) => [entry, repeatsPayment(entry, sent)] as const);
  const own = compared.filter(([, isSame]) => isSame !== false);
  return own.length === 1 && own[0]?.[1] ? own[0][0] : undefined;
}

/** Whether an entry repeats payee and value; false if it names others, null if it does not name them. */
function repeatsPayment(entry: Members, { toAccountId, toBankId, amount, currency }: Sent): boolean | null {
  const body = membersOf(membersOf(entry).body);
  const to = membersOf(body.to);
  const value = membersOf(body.value);
  const account = isSame(to.accountid, toAccountId, idText);
  // An amount in an unknown form may be this one.
  const isAmount =
    decimal(scalarOf(value.amount) ?? '') === null ? null : isSame(value.amount, amount, decimal);
  const isCurrency = isSame(value.currency, currency, idText);
  if ([account, isAmount, isCurrency, isSame(to.bankid, toBankId, bankCode)].includes(false)) return false;
  return (account && isAmount && (isCurrency || currency === null)) || null;
}

const membersOf = (value: unknown): Members =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, member]) => [fold(name), member]))
    : {};

/** A success is decided by the values at the operator's paths. */
function readPaths({ value: root }: AnswerBody, { bankWords, operation }: ClassifyOptions): Finding {
  const { statusPath, receiptPath } = bankWords;
  const meaningAt = (value: unknown) =>
    typeof value === 'boolean'
      ? (words.taughtMeaning(String(value), bankWords) ?? null)
      : meaningOf(scalarOf(value) ?? '', bankWords, operation.envelope !== null);
  const status = statusPath && placeOf(root, statusPath);
  const receipt = receiptPath && placeOf(root, receiptPath);
  const names = isObject(root) ? Object.keys(root) : [];
  const meaning = status === undefined ? 'done' : meaningAt(status.value);
  if (meaning !== 'done') return finding(meaning, names);

  const beside = [status, receipt].flatMap((place) => place?.beside ?? []);
  const isOtherStatus = ([name, value]: Member) =>
    words.statusNames.has(fold(name)) && meaningAt(value) !== 'done';
  const isContradicted =
    beside.some((member) => memberOfFailure(member, bankWords)) ||
    (status === undefined && beside.some(isOtherStatus)) ||
    (receipt !== undefined && !isReceipt(receipt.value));
  return finding(isContradicted ? null : 'done', names);
}

/** The value at a path, and all members next to it and next to the objects on the way. */
function placeOf(root: unknown, path: readonly string[]) {
  let value = root;
  const beside: Member[] = [];
  for (const key of path) {
    if (isObject(value)) beside.push(...Object.entries(value).filter(([name]) => name !== key));
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? Reflect.get(value, key)
        : undefined;
  }
  return { value, beside };
}

/** The stored part of an answer to makeTransaction that is read by paths. */
const taughtContent = ({ value }: AnswerBody, { statusPath, receiptPath }: BankWords) => ({
  id: receiptPath && scalarOf(placeOf(value, receiptPath).value),
  status: statusPath && scalarOf(placeOf(value, statusPath).value),
});

/** Whether an answer cannot be read, or a member of it speaks of a failure. */
const speaksOfFailure = ({ kind, value }: AnswerBody, bankWords: BankWords): boolean =>
  kind === 'unreadable' ||
  kind === 'repeated' ||
  Object.entries(isObject(value) ? value : { value }).some((member) => memberOfFailure(member, bankWords));

function memberOfFailure([name, value]: Member, bankWords: BankWords): boolean {
  const folded = fold(name);
  const text = scalarOf(value) ?? '';
  const isNo = value === false || /^(?:false|0)$/i.test(text);
  if (words.failureName.test(folded)) return !(isNo || isEmptyText(value) || isEmptyContainer(value));
  if (words.successName.test(folded)) return isNo;
  const said = [words.readCode(text, bankWords), words.readText(text, bankWords)];
  return meaningOf(text, bankWords, false) === 'rejected' || said.some(isReason);
}

/** Reads a refusal: it has only the members of one, and a code that decides, or only codes and texts that are reasons. */
function readRefusal(status: number, object: Members, bankWords: BankWords): Finding {
  const found = Object.entries(object).flatMap(([name, value]) => {
    const isError = /^errors?$/.test(fold(name));
    const inner: unknown =
      fold(name) === 'errors' && Array.isArray(value) && value.length === 1 ? value[0] : value;
    if (!isError || !isObject(inner))
      return [[name, readReason(status, fold(name), inner, bankWords)] as const];
    return Object.entries(inner).map(([part, member]) => {
      const says = isObject(member) ? 'strange' : readReason(status, fold(part), member, bankWords);
      return [`${name}.${part}`, says] as const;
    });
  });
  const says = new Set(found.map(([, reason]) => reason));
  const isRejected =
    !says.has('strange') && (says.has('decides') || (says.has('reason') && !says.has('unknown')));
  if (isRejected) return finding('rejected');
  return finding(
    null,
    found.filter(([, reason]) => reason === 'strange' || reason === 'unknown').map(([name]) => name),
  );
}

/** `strange`: a member that is not understood; texts with unknown words do not count. */
function readReason(
  status: number,
  folded: string,
  value: unknown,
  bankWords: BankWords,
): Reason | 'strange' {
  const text = scalarOf(value);
  const isPlain = text !== null && !isEmptyText(value);
  const unless = (isUnderstood: boolean) => (isUnderstood || isEmptyText(value) ? 'neutral' : 'strange');
  if (words.timeNames.has(folded)) return unless(isPast(value));
  if (words.requestIdNames.has(folded)) return unless(isReceipt(value));
  if (words.textNames.has(folded) || /^errors?$/.test(folded))
    return isPlain ? words.readText(text, bankWords) : unless(isEmptyContainer(value));
  if (!/^(?:status|statuscode|code)$/.test(folded)) return 'strange';
  if (!isPlain || text === String(status)) return unless(isPlain);
  const reason = words.readCode(text, bankWords);
  if (folded === 'status' && words.readText(text, bankWords) === 'neutral') return 'neutral';
  return reason === 'unknown' ? 'strange' : reason;
}

/** Whether a 401 speaks of an execution all the same: otherwise the caller was refused, whatever the body is. */
function mayBeExecuted({ kind, value }: AnswerBody): boolean {
  if (typeof value !== 'object' || value === null)
    return kind === 'repeated' || words.mentionOfExecution.test(scalarOf(value) ?? '');
  const names = Object.keys(value).map(fold);
  return Object.entries(value).some(([name, member]) => {
    const folded = fold(name);
    const text = scalarOf(member) ?? '';
    const isPaymentsId = !/^(?:uu)?id$/.test(folded) || names.every((each) => words.receiptNames.has(each));
    if (words.receiptNames.has(folded) && isPaymentsId && isReceipt(member)) return true;
    if (words.successName.test(folded) && member === true) return true;
    if (words.statusNames.has(folded) && /done|accepted/.test(meaningOf(text, words.noBankWords, true) ?? ''))
      return true;
    if (/(?:code|status)$/.test(folded) && /^5\d\d$/.test(text)) return true;
    return mayBeExecuted({ kind, value: member });
  });
}

/** A text or a number. Booleans are no words. */
const scalarOf = (value: unknown): string | null =>
  typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : null;
const isEmptyText = (value: unknown): boolean => value == null || scalarOf(value) === '';
const isEmptyList = (value: unknown): boolean =>
  isEmptyText(value) || (Array.isArray(value) && value.every(isEmptyText));
const isEmptyContainer = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;

/** The specification has several `transaction_ids` in one text. */
const isReceiptMember = (folded: string, value: unknown): boolean =>
  words.receiptNames.has(folded) &&
  isReceipt(
    folded === 'transactionids' && typeof value === 'string'
      ? value.split(/[,\s]+/).filter((id) => id !== '')
      : value,
  );

/** Longer texts are no ids: the record would not hold them. */
const maxReceipt = 4000;
/** Removed first, because the digits of a UUID may spell a code of ISO 20022, such as ACFC. */
const uuid = /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/gi;

/** Whether a value is an id, or a list of ids: no white space, no sign, and no word such as error, null, none or 0. */
function isReceipt(value: unknown): boolean {
  if (Array.isArray(value))
    return value.length > 0 && value.every((id) => !Array.isArray(id) && isReceipt(id));
  const text = scalarOf(value) ?? '';
  const isId =
    /^[^-+\p{C}\p{Z}][^\p{C}\p{Z}]*$/u.test(text) && /[\p{L}\p{N}]/u.test(text) && !/^[0.]*$/.test(text);
  if (!isId || text.length > maxReceipt) return false;
  const isCode = words.readCode(text, words.noBankWords) !== 'unknown';
  const parts = text.replaceAll(uuid, '').split(/[^\p{L}\p{N}]+/u);
  return !isCode && ![text, ...parts].some(words.isTellingWord);
}

const dateTime = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:?\d\d)?)?$/;
/** The bank's clock may be ahead, and a time without a zone may be local time in the easternmost zone. */
const aheadMs = 5 * 60_000;
const easternmostMs = 14 * 60 * 60_000;

/** Whether a value is a real date that is not in the future. */
function isPast(value: unknown, now = Date.now()): boolean {
  const [, day, time = '00:00', zone] = dateTime.exec(scalarOf(value) ?? '') ?? [];
  if (day === undefined || new Date(`${day}T00:00Z`).getUTCDate() !== Number(day.slice(-2))) return false;
  return (
    Date.parse(`${day}T${time}${zone ?? 'Z'}`) <= now + aheadMs + (zone === undefined ? easternmostMs : 0)
  );
}

const isAddress = (value: unknown) => typeof value === 'string' && /^(?:https?:\/\/|\/)\S*$/i.test(value);
const isLink = (value: unknown): boolean =>
  isAddress(value) || (isObject(value) && Object.keys(value).length === 1 && isAddress(value.href));
const isLinkName = (name: unknown) => typeof name === 'string' && /^(?:self|status)$/.test(fold(name));
/** Links named self or status; others lead to a step that is missing. */
const areLinks = (links: unknown): boolean =>
  Array.isArray(links)
    ? links.every((link) => {
        const { rel, href, method = 'GET', ...more } = isObject(link) ? link : {};
        return isLinkName(rel) && isAddress(href) && method === 'GET' && isEmptyContainer(more);
      })
    : isObject(links) && Object.entries(links).every(([name, link]) => isLinkName(name) && isLink(link));

/** At most this many names are reported, each cut to this length. */
const maxNames = 20;
const maxNameLength = 60;
const bounded = (names: readonly string[]) =>
  [...new Set(names)]
    .slice(0, maxNames)
    .map((name) => name.slice(0, maxNameLength).replaceAll(/[\p{C}\s]+/gu, ' '));
const pathsOf = (name: string, value: unknown): string[] => {
  const inner: unknown = Array.isArray(value) ? value[0] : value;
  return isObject(inner) ? Object.keys(inner).map((part) => `${name}.${part}`) : [name];
};

/** The settings that would make bankql understand a success. */
function hintFor({ kind, value }: AnswerBody, names: readonly string[], isTaught: boolean): string {
  if (kind === 'repeated') return 'none: a name occurs twice in one object';
  const isWord =
    isTaught || typeof value === 'string' || names.some((name) => words.statusNames.has(fold(name)));
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
