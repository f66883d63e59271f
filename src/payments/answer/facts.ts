import { z } from 'zod';
import type { Operation } from '../../contract/operation.ts';
import { recordFields } from '../../contract/record.ts';
import { accountRef, money } from '../../contract/shared-parts.ts';
import { postMakeTransaction, transaction } from '../../contract/transaction.ts';
import { transactionRequest } from '../../contract/transaction-request.ts';
import { isObject } from '../../is-object.ts';
import {
  areLinks,
  bankCode,
  decimal,
  idText,
  isEmptyContainer,
  isEmptyList,
  isEmptyText,
  isLink,
  isOwnDate,
  isPast,
  isReceiptMember,
  isSame,
  type Sent,
  scalarOf,
} from './answer-values.ts';
import * as words from './payment-words.ts';
import { type BankWords, fold, isReason, type Meaning, meaningOf } from './payment-words.ts';

/**
 * A value in an answer, with its place: the names of the members that contain it, from the outermost to its own. bankql
 * understands a value only at a place of the contract's records, of the request that was sent, or of payment-words.ts, and
 * only if it meets the rule below for this place.
 */
export interface Fact {
  /** The names of the place, as the bank writes them. */
  readonly path: readonly string[];
  /** The last name, folded (see `fold`). An entry of a list has the name of the list. */
  readonly name: string;
  /** The place as folded names, such as `details_value_amount`. A folded name contains no `_`. */
  readonly place: string;
  readonly value: unknown;
}

const root: Omit<Fact, 'value'> = { path: [], name: '', place: '' };

/** The facts in an object or a list. `isOpen`: whether a member is replaced by the facts inside it. */
export const factsIn = (
  value: object,
  isOpen: (fact: Fact) => boolean,
  { path, name, place }: Omit<Fact, 'value'> = root,
): Fact[] =>
  Object.entries(value).flatMap(([key, member]) => {
    const own = Array.isArray(value)
      ? { name, place }
      : { name: fold(key), place: place === '' ? fold(key) : `${place}_${fold(key)}` };
    const fact = { path: [...path, key], ...own, value: member };
    return isFilled(member) && isOpen(fact) ? factsIn(member, isOpen, fact) : [fact];
  });

const isFilled = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !isEmptyContainer(value);

/**
 * The facts in a record, and in the records that it contains according to the contract. Some banks send an object instead of its
 * id: docs/real-banks.md.
 */
export const recordFacts = (record: object): Fact[] =>
  factsIn(record, ({ place, value }) => {
    const isOpen = places.get(place) === isRecord || /^(?:thisaccount|otheraccount|challenge)$/.test(place);
    return isOpen && isObject(value);
  });

/** Whether a place is that of a status. A Transaction has its status in its details. */
const isStatusPlace = (place: string) => words.statusName.test(place) || place === 'details_status';
/** Whether a member is a code or a text in which a bank gives a reason. */
const isReasonName = (place: string) => words.reasonName.test(place) || words.textName.test(place);

/** The context in which a record is read. */
export interface About {
  readonly operation: Operation;
  readonly bankWords: BankWords;
  /** The payment, which an answer may repeat. */
  readonly sent: Sent;
  readonly now: number;
  /** Whether the answer is so long that bankql reads only the members that it understands. */
  readonly isLong: boolean;
  /** Whether the record is an entry of a list: the one that repeats the payment. */
  readonly isEntry: boolean;
  /** The meaning of the record's statuses, if they agree. */
  readonly stated: Meaning | null;
}

export const statusMeaning = (value: unknown, { bankWords, operation }: About): Meaning | null =>
  meaningOf(scalarOf(value) ?? '', bankWords, operation.envelope !== null);

/** The meanings of all statuses. A code or a message counts as a status if the operator lists its value. */
export const meaningsIn = (facts: readonly Fact[], about: About): (Meaning | null)[] =>
  facts.flatMap(({ place, value }) => {
    if (isStatusPlace(place)) return [statusMeaning(value, about)];
    const taught = isReasonName(place) && words.taughtMeaning(scalarOf(value) ?? '', about.bankWords);
    return taught ? [taught] : [];
  });

type Rule = (value: unknown, about: About) => boolean;

const isRecord: Rule = (value) => isObject(value);
/** Accepts a free text of the bank if the answer has a status, and if the text says nothing about the outcome. */
const isFreeText: Rule = (value, about) => {
  if (about.stated === null) return false;
  const text = scalarOf(value);
  if (text === null)
    return (
      value === null ||
      (Array.isArray(value) && value.every((entry) => !Array.isArray(entry) && isFreeText(entry, about)))
    );
  if (about.stated === 'rejected' && words.speaksOfExecution(text, words.noBankWords)) return false;
  return !words.isTellingWord(text) && !words.speaksAgainst(text, 'accepted', words.noBankWords);
};
const isOwnTime: Rule = (value, { sent }) => isEmptyText(value) || isOwnDate(value, sent.createdAt) === true;

/** The places of a record of the contract, each with the rule for its kind of value. */
const placesOf = (record: z.ZodObject, at = ''): [string, Rule][] =>
  recordFields(record).flatMap(({ rest, type, also }): [string, Rule][] => {
    const place = at + fold(rest);
    if (type instanceof z.ZodObject) return [[place, isRecord], ...placesOf(type, `${place}_`)];
    return [[place, also !== undefined && 'dateOf' in also ? isOwnTime : isFreeText]];
  });

const asText = (place: string): [string, Rule] => [place, isFreeText];

/** A Map, so that names from the bank never match the members of a prototype. */
const places: ReadonlyMap<string, Rule> = new Map([
  ...[transaction, transactionRequest, accountRef, money].flatMap((record) => placesOf(record)),
  ...placesOf(postMakeTransaction.body, 'body_'),
  ...placesOf(z.object({ to: accountRef, value: money })),
  ...['thisaccount_', 'otheraccount_'].flatMap((at) => placesOf(accountRef, at)),
  ...['thisaccount_id', 'otheraccount_id', 'challenge_id', 'challenge_allowedattempts'].map(asText),
  ...['challenge_challengetype', 'type', 'self', 'links'].map(asText),
]);

/** The values that were sent, and the places where an answer repeats them. */
const repetitions = [
  ['accountId', /^(?:thisaccount(?:_(?:account)?id)?|(?:(?:body_)?from_)?accountid)$/, idText],
  ['bankId', /^(?:(?:body_)?from_|thisaccount_)?bankid$/, bankCode],
  ['toAccountId', /^(?:body_)?to_accountid$/, idText],
  ['toBankId', /^(?:body_)?to_bankid$/, bankCode],
  ['amount', /^(?:(?:body_|details_)?value_)?amount$/, decimal],
  ['currency', /^(?:(?:body_|details_)?value_)?currency$/, idText],
] as const;

/**
 * What the request contains at this place, and whether the answer repeats it; `isSame` is null if one of the two
 * values is missing.
 */
export function repetitionAt({ place, value }: Fact, sent: Sent) {
  const [what, , read] = repetitions.find(([, pattern]) => pattern.test(place)) ?? [];
  if (what === undefined) return null;
  // In the payer's transaction, the amount is negative.
  const shown = place === 'details_value_amount' ? (scalarOf(value)?.replace(/^-/, '') ?? value) : value;
  return { what, isSame: isSame(shown, sent[what], read) };
}

const description: Rule = (value, about) =>
  isEmptyText(value) ||
  (about.sent.description ? value === about.sent.description : about.isEntry && isFreeText(value, about));

/** Rules for places where the kind of value alone is not enough. */
const rules: readonly (readonly [RegExp, Rule])[] = [
  [/^(?:body_)?description$/, description],
  [/^details_description$/, (value, about) => description(value, { ...about, isEntry: true })],
  // The name of somebody who cancelled or paused the payment contradicts a success.
  [
    /^details_(?:cancelled|paused)by/,
    (value, about) => isEmptyText(value) || (about.stated === 'rejected' && isFreeText(value, about)),
  ],
  [/^type$/, (value) => typeof value === 'string' && words.requestTypes.has(fold(value))],
  [/^self$/, isLink],
  // If there is no status, a link to the status means that it still has to be queried.
  [/^links$/, (value, { stated }) => areLinks(value, stated === null ? ['self'] : ['self', 'status'])],
];

/**
 * The places that repeat the request, and those of links. An answer with a receipt, and otherwise only values at these
 * places, needs no status.
 */
const besideReceipt = /^(?:amount|currency|description|from|to|value|body|self|links)(?:_|$)/;

/** Whether bankql understands a fact. */
export function isKnown(fact: Fact, about: About): boolean {
  const { path, place, value } = fact;
  const { stated, operation, sent } = about;
  if (isStatusPlace(place)) return stated !== null;
  if (words.receiptName.test(place))
    return (
      isReceiptMember(place, value, about) ||
      (place === 'transactionids' && (operation.envelope ?? stated) !== null && isEmptyList(value))
    );
  if (path.length === 1 && isEmptyContainer(value)) return true;
  if (words.creationName.test(place)) return isPast(value, about.now, sent.createdAt);
  if (stated === null && !besideReceipt.test(place)) return false;
  const kind = places.get(place);
  if (kind === undefined) return isKnownReason(place, scalarOf(value) ?? '', about);
  // If the request or the answer has no value for this place, the rules of the place apply.
  const isRepeated = repetitionAt(fact, sent)?.isSame;
  return isRepeated ?? (rules.find(([pattern]) => pattern.test(place))?.[1] ?? kind)(value, about);
}

function isKnownReason(place: string, text: string, { stated, bankWords }: About): boolean {
  if (!isReasonName(place)) return false;
  if (words.taughtMeaning(text, bankWords) === stated) return true;
  if (stated !== 'rejected' || !words.reasonName.test(place)) return false;
  return isReason(place === 'code' ? words.readCode(text, bankWords) : words.readText(text, bankWords));
}
