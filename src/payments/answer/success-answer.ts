import { isObject } from '../../is-object.ts';
import type { AnswerBody } from './answer-body.ts';
import {
  decimal,
  idText,
  isEmptyContainer,
  isEmptyText,
  isReceiptMember,
  isSame,
  type Sent,
  scalarOf,
} from './answer-values.ts';
import { contradicts } from './contradiction.ts';
import {
  type About,
  type Fact,
  isKnown,
  meaningsIn,
  recordFacts,
  repetitionAt,
  statusMeaning,
} from './facts.ts';
import { fold, type Meaning } from './payment-words.ts';

/**
 * bankql understands a success if it understands every fact in it, and if one of them is evidence about this
 * payment.
 */

/** The meaning of an answer, and the members that bankql does not understand. */
export interface Finding {
  readonly meaning: Meaning | null;
  readonly names: readonly string[];
  /** The settings with which bankql would understand the answer, if the names alone do not tell them. */
  readonly hint?: string | undefined;
  /** The bank's code in a refusal that is not understood, if there is one. */
  readonly code?: string | undefined;
}
export const finding = (
  meaning: Meaning | null,
  names: readonly string[] = [],
  hint: string | undefined = undefined,
  code: string | undefined = undefined,
): Finding => ({ meaning, names, hint, code });

export const pathOf = ({ path }: Pick<Fact, 'path'>): string => path.join('.');

export function readSuccess({ kind, value }: AnswerBody, about: About): Finding {
  if (kind === 'empty') return finding('done');
  if (typeof value === 'string') return finding(statusMeaning(value, about));
  if (about.operation.envelope !== null) return readRequests(value, about);
  if (!isObject(value)) return finding(null);
  return isEmptyContainer(value) ? finding('done') : readRecord(value, about);
}

/** Reads a record. It has a meaning only if bankql understands every fact in it. */
function readRecord(record: object, about: About): Finding {
  const facts = recordFacts(record);
  const outside = facts.filter(({ path }) => path.length === 1);
  const meanings = meaningsIn(facts, about);
  const [stated = null] = meanings.every((meaning) => meaning === meanings[0]) ? meanings : [];
  const names = facts.filter((fact) => !isKnown(fact, { ...about, stated })).flatMap(pathsOf);
  const isAccepted =
    meanings.includes('accepted') &&
    meanings.every((meaning) => meaning === 'accepted' || meaning === 'done');
  if (isAccepted && !speaksOfFailure(record, about)) return finding('accepted', names);
  const hasReceipt = outside.some(({ place, value }) => isReceiptMember(place, value, about));
  const hasEvidence = isOfAnother(facts, about.sent)
    ? hasReceipt && meanings.length > 0
    : hasReceipt || meaningsIn(outside, about).length > 0;
  const isProven = names.length === 0 && hasEvidence && (stated !== null || meanings.length === 0);
  return finding(isProven ? (stated ?? 'done') : null, names);
}

/**
 * Whether a record may be another payment's: it names another counterparty, by an id that is not the payee's account number, and repeats
 * neither the payee nor the amount.
 */
function isOfAnother(facts: readonly Fact[], sent: Sent): boolean {
  const named = facts.filter(
    ({ place, value }) => /^otheraccount(?:_|$)/.test(place) && !isEmptyText(value) && !isObject(value),
  );
  const isPayee = named.some(({ value }) => isSame(value, sent.toAccountId, idText));
  const isRepeated = facts
    .map((fact) => repetitionAt(fact, sent))
    .some((found) => found?.isSame && /^(?:toAccountId|amount)$/.test(found.what));
  return named.length > 0 && !isPayee && !isRepeated;
}

/** The folded name of the list of transaction requests. */
export const requestsName = /^transactionrequests?$/;

/** The answer to putTransactionsRequestAccount is judged by its entry for this payment. */
function readRequests(value: unknown, about: About): Finding {
  const around = isObject(value) ? value : {};
  const key = Object.keys(around).find((name) => requestsName.test(fold(name)));
  const listed = key === undefined ? value : around[key];
  const own = ownEntry(Array.isArray(listed) ? listed : [listed], about.sent);
  if (own === undefined) {
    const isAccepted =
      key === undefined && isObject(value) && readRecord(value, about).meaning === 'accepted';
    return finding(isAccepted ? 'accepted' : null, key === undefined ? Object.keys(around) : [key]);
  }
  const found = readRecord(own, { ...about, isEntry: true });
  // Members next to the list are about the whole answer.
  const { [key ?? '']: _, ...rest } = key === undefined ? {} : around;
  const whole = isEmptyContainer(rest) ? finding('done') : readRecord(rest, about);
  const isWhole = whole.names.length === 0 && (whole.meaning ?? 'done') === 'done';
  return finding(isWhole ? found.meaning : null, [...whole.names, ...found.names]);
}

/** The entry that repeats the payment, if all other entries differ from the payment; otherwise undefined. */
function ownEntry(entries: readonly unknown[], sent: Sent): object | undefined {
  if (!entries.every(isObject)) return undefined;
  const compared = entries.map((entry) => [entry, repeatsPayment(entry, sent)] as const);
  const own = compared.filter(([, isRepeated]) => isRepeated !== false);
  return own.length === 1 && own[0]?.[1] ? own[0][0] : undefined;
}

/**
 * true: the entry repeats the payee, and the amount and the currency if they were sent. false: it has another
 * value for one of these. null: it lacks one of these. If there is no payment, as in `bankql payments
 * explain`, the entry has to name a payee.
 */
function repeatsPayment(entry: object, sent: Sent): boolean | null {
  const facts = new Map(recordFacts(entry).map((fact) => [fact.place, fact]));
  const compared = (place: string): boolean | null => {
    const fact = facts.get(place);
    return (fact && repetitionAt(fact, sent)?.isSame) ?? null;
  };
  const payee = facts.get('body_to_accountid')?.value;
  const isPayee = sent.toAccountId === null ? !isEmptyText(payee) || null : compared('body_to_accountid');
  // An amount in an unknown form counts as absent, because it may be the one that was sent.
  const isNumber = decimal(scalarOf(facts.get('body_value_amount')?.value) ?? '') !== null;
  const isAmount = isNumber ? compared('body_value_amount') : null;
  const isCurrency = compared('body_value_currency');
  if ([isPayee, isAmount, isCurrency, compared('body_to_bankid')].includes(false)) return false;
  return (isPayee && (isAmount || sent.amount === null) && (isCurrency || sent.currency === null)) || null;
}

/**
 * The paths of a fact for the log. For an object, these are the paths of its members; for a list, those of
 * the members of its first object; otherwise, the path of the fact itself.
 */
function pathsOf({ path, value }: Fact): string[] {
  const [inner] = [value].flat();
  const parts = isObject(inner) && !isEmptyContainer(inner) ? Object.keys(inner) : [];
  return parts.length === 0 ? [pathOf({ path })] : parts.map((part) => pathOf({ path: [...path, part] }));
}

/** Whether a value, or any member of an object, suggests a failure. */
export const speaksOfFailure = (value: unknown, about: About): boolean =>
  about.isLong || contradicts(isObject(value) ? value : { value }, 'accepted', about);
