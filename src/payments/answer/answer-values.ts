import { STATUS_CODES } from 'node:http';
import { withoutHeadOffice } from '../../bank/ids.ts';
import { numberParts, plainDecimal } from '../../contract/decimal.ts';
import { isObject } from '../../is-object.ts';
import type { PaymentRecord } from '../payment-record.ts';
import * as words from './payment-words.ts';
import { type BankWords, fold } from './payment-words.ts';

/** The values in an answer to a payment: texts, ids, decimals, times and links. */

/** The payment that was sent. */
export interface Sent
  extends Pick<PaymentRecord, 'toBankId' | 'toAccountId' | 'currency' | 'amount' | 'description'> {
  /** Null in `bankql payments explain`, which explains answers without a payment. */
  readonly bankId: string | null;
  readonly accountId: string | null;
  readonly trackId: string | null;
  /** The time of the request, in milliseconds since 1970. */
  readonly createdAt: number;
  /** Every other text of the request, such as the ids in its path and those of the caller. */
  readonly others: readonly string[];
}

/** A text or a number. `true` and `false` have no meaning here, because banks use both for success and for failure. */
export const scalarOf = (value: unknown): string | null =>
  typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : null;
export const isEmptyText = (value: unknown): boolean => value == null || scalarOf(value) === '';
export const isEmptyList = (value: unknown): boolean =>
  isEmptyText(value) || (Array.isArray(value) && value.every(isEmptyText));
export const isEmptyContainer = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;

/** Converts a text to a form in which equal values are equal; null if the text is no such value. */
type Read = (text: string) => string | null;
export const idText = (text: string): string => text.replaceAll(/\s+/g, '').toLowerCase();
export const bankCode = (text: string): string => withoutHeadOffice(idText(text));
/** Converts decimals of equal value to the same text: 5.00 and 5 are equal. */
export function decimal(text: string): string | null {
  const [number, , , , exponent = '0'] = text.length > 100 ? [] : (numberParts.exec(text.trim()) ?? []);
  if (number === undefined || Math.abs(Number(exponent)) > 100) return null;
  const [, sign = '', whole = '', fraction = ''] =
    /^(-?)0*(\d+?)(?:\.(\d*?)0*)?$/.exec(plainDecimal(number)) ?? [];
  return `${sign}${whole}.${fraction}`;
}

/** Whether a value equals the one that was sent; null if one of them is missing. */
export function isSame(value: unknown, own: string | null, read: Read): boolean | null {
  const text = scalarOf(value);
  if (own == null || isEmptyText(value)) return null;
  return text !== null && read(text) !== null && read(text) === read(own);
}

/** The maximum length of an id. A record cannot store a longer one. */
const maxReceipt = 4000;
/** The names of HTTP statuses that mean no success, such as `BAD_REQUEST`. */
const errorNames: ReadonlySet<string> = new Set(
  Object.entries(STATUS_CODES).flatMap(([code, name = '']) => (Number(code) < 400 ? [] : [fold(name)])),
);

/**
 * Whether a value may be an id, or a list of ids. An id has no white space, does not begin with a sign, and has at least one letter
 * or one digit that is not 0. It is neither the status of an error nor a word such as error, null or none.
 */
export function isId(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0 && value.every((id) => !Array.isArray(id) && isId(id));
  const text = scalarOf(value) ?? '';
  const hasFormOfId =
    /^[^-+\p{C}\p{Z}<>{}[\]"][^\p{C}\p{Z}<>{}[\]"]*$/u.test(text) && /[\p{L}1-9]/u.test(text);
  if (!hasFormOfId || text.length > maxReceipt || /^[45]\d\d$/.test(text)) return false;
  const isError = errorNames.has(fold(text)) || words.speaksAgainst(text, 'done', words.noBankWords);
  return !isError && ![text, ...words.wordsOf(text)].some(words.isTellingWord);
}

interface ReceiptOptions {
  readonly sent: Sent;
  readonly bankWords: BankWords;
}

/** The ids of a request. A bank may repeat them in any text. */
export const sentIds = ({ bankId, accountId, toBankId, toAccountId, others }: Sent): (string | null)[] => [
  ...[bankId, accountId, toBankId, toAccountId],
  ...others,
];

/**
 * Whether a value is an id, or a list of ids, that the bank has chosen: it was not sent, and is not one of the operator's words.
 */
export function isReceipt(
  value: unknown,
  { sent, bankWords }: ReceiptOptions,
  isTrackIdReceipt = false,
): boolean {
  if (!isId(value)) return false;
  const texts = [...sentIds(sent), sent.currency, sent.description, isTrackIdReceipt ? null : sent.trackId];
  return [value].flat().every((id) => {
    const isSent = texts.some((text) => isSame(id, text, idText)) || isSame(id, sent.amount, decimal);
    return !isSent && words.taughtMeaning(scalarOf(id) ?? '', bankWords) !== 'rejected';
  });
}

/** Whether a member is a receipt by its name and its value. The specification allows several `transaction_ids` in one text. */
export const isReceiptMember = (folded: string, value: unknown, options: ReceiptOptions): boolean =>
  words.receiptName.test(folded) &&
  isReceipt(
    folded === 'transactionids' && typeof value === 'string'
      ? value.split(/[,\s]+/).filter((id) => id !== '')
      : value,
    options,
  );

const hourMs = 60 * 60_000;
const dateTime = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:?\d\d)?)?$/;
/**
 * How far a time may be in the future: the bank's clock may be ahead, and a time without a zone may be local
 * time in any zone.
 */
const aheadMs = 5 * 60_000;
const easternmostMs = 14 * hourMs;
const westernmostMs = 12 * hourMs;
/**
 * The maximum age of a record in an answer, relative to the request. An older record belongs to an earlier payment: a bank that
 * detects a duplicate answers with that payment.
 */
const maxAgeMs = 48 * hourMs;

const isDay = (day: string) => new Date(`${day}T00:00Z`).getUTCDate() === Number(day.slice(-2));

/**
 * Whether a value is a real date that is not in the future. With `since`, it must not be earlier than `since` by more than
 * `maxAgeMs`.
 */
export function isPast(value: unknown, now: number, since = Number.NEGATIVE_INFINITY): boolean {
  const [, day, time = '00:00', zone] = dateTime.exec(scalarOf(value) ?? '') ?? [];
  if (day === undefined || !isDay(day)) return false;
  const at = Date.parse(`${day}T${time}${zone ?? 'Z'}`);
  const [earliest, latest] = zone === undefined ? [at - easternmostMs, at + westernmostMs] : [at, at];
  return earliest <= now + aheadMs && latest >= since - maxAgeMs;
}

/** A date in the forms of docs/real-banks.md. */
const anyDate = /^(\d{4}-\d\d-\d\d)(?:[T ]?[\d:.,Z+-]*(?: ?(?:UTC|GMT))?(?:\[[\w/+-]+\])?)$/i;

/** Whether a date, even one in the future, may belong to this payment; null if the value is not a date. */
export function isOwnDate(value: unknown, since: number): boolean | null {
  const [, day] = anyDate.exec(scalarOf(value) ?? '') ?? [];
  if (day === undefined || !isDay(day)) return null;
  return Date.parse(`${day}T23:59:59Z`) + westernmostMs >= since - maxAgeMs;
}

const isAddress = (value: unknown) => typeof value === 'string' && /^(?:https?:\/\/|\/)\S*$/i.test(value);
export const isLink = (value: unknown): boolean =>
  isAddress(value) || (isObject(value) && Object.keys(value).length === 1 && isAddress(value.href));

/**
 * Whether every link has one of these names. A link with another name may lead to a step that the payment still
 * needs.
 */
export function areLinks(links: unknown, names: readonly string[]): boolean {
  const isLinkName = (name: unknown) => typeof name === 'string' && names.includes(fold(name));
  return Array.isArray(links)
    ? links.every((link) => {
        const { rel, href, method = 'GET', ...more } = isObject(link) ? link : {};
        return isLinkName(rel) && isAddress(href) && method === 'GET' && isEmptyContainer(more);
      })
    : isObject(links) && Object.entries(links).every(([name, link]) => isLinkName(name) && isLink(link));
}
