import { isObject } from '../../is-object.ts';
import type { AnswerBody } from './answer-body.ts';
import {
  bankCode,
  decimal,
  idText,
  isEmptyContainer,
  isEmptyText,
  isOwnDate,
  isReceiptMember,
  isSame,
  type Sent,
  scalarOf,
  withoutSign,
} from './answer-values.ts';
import { contradicts } from './contradiction.ts';
import { type About, isKnown, isReasonName, type ReadOptions } from './known-members.ts';
import * as words from './payment-words.ts';
import { fold, type Meaning, meaningOf } from './payment-words.ts';

/** A success is understood if every member is known, and it needs evidence that is about this payment. */

/** The meaning of an answer, and its unknown members. */
export interface Finding {
  readonly meaning: Meaning | null;
  readonly names: readonly string[];
  /** The settings that would help, if the names do not show it. */
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

type Members = Readonly<Record<string, unknown>>;
export type Member = readonly [name: string, value: unknown];

export function readSuccess({ kind, value }: AnswerBody, options: ReadOptions): Finding {
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
  const statuses = members.flatMap((member) => statusesIn(member, about));
  const meanings = meaningsIn(members, about);
  const [stated = null] = meanings.every((meaning) => meaning === meanings[0]) ? meanings : [];
  const strange = members.filter(([name, value]) => !isKnown(fold(name), value, { ...about, stated }));
  const names = strange.flatMap(([name, value]) => pathsOf(name, value));
  const isAccepted =
    meanings.includes('accepted') &&
    meanings.every((meaning) => meaning === 'accepted' || meaning === 'done');
  if (isAccepted && !speaksOfFailure(object, about)) return finding('accepted', names);
  const hasReceipt = members.some(([name, value]) => isReceiptMember(fold(name), value, about));
  const hasEvidence = isOfAnother(object, about.sent)
    ? hasReceipt && meanings.length > 0
    : hasReceipt || statuses.length > 0;
  const isProven = names.length === 0 && hasEvidence && (stated !== null || meanings.length === 0);
  return finding(isProven ? (stated ?? 'done') : null, names);
}

export const statusMeaning = (value: unknown, { bankWords, isRequest }: About): Meaning | null =>
  meaningOf(scalarOf(value) ?? '', bankWords, isRequest);

/** The meanings of a member that is a status. A code or a message counts as a status if the operator lists its value. */
function statusesIn([name, value]: Member, about: About): (Meaning | null)[] {
  const folded = fold(name);
  if (words.statusName.test(folded)) return [statusMeaning(value, about)];
  const taught = isReasonName(folded)
    ? words.taughtMeaning(scalarOf(value) ?? '', about.bankWords)
    : undefined;
  return taught === undefined ? [] : [taught];
}

/** The meanings of all statuses. A Transaction has its id on the outside and its status in its details. */
export const meaningsIn = (members: readonly Member[], about: About): (Meaning | null)[] =>
  members.flatMap(([name, value]) => {
    const inside = fold(name) === 'details' ? foldedOf(value) : {};
    const more = 'status' in inside ? [statusMeaning(inside.status, about)] : [];
    return [...statusesIn([name, value], about), ...more];
  });

/**
 * Whether a record may be another payment's: it names another counterparty, by an id that is not the payee's account number, and repeats
 * neither the payee nor the amount.
 */
function isOfAnother(object: Members, sent: Sent): boolean {
  const { otheraccount, ...record } = foldedOf(object);
  const named = isObject(otheraccount) ? Object.values(otheraccount) : [otheraccount];
  const isNamed = named.some((id) => !isEmptyText(id));
  const isPayee = [named].flat().some((id) => isSame(id, sent.toAccountId, idText));
  const body = foldedOf(record.body);
  const { value } = foldedOf(record.details);
  const amounts = [record.amount, foldedOf(record.value).amount, foldedOf(body.value).amount];
  const isRepeated =
    [record.to, body.to].some((to) => isSame(foldedOf(to).accountid, sent.toAccountId, idText)) ||
    [...amounts, withoutSign(foldedOf(value).amount)].some((text) => isSame(text, sent.amount, decimal));
  return isNamed && !isPayee && !isRepeated;
}

/** Whether a member says for certain that the record is another payment's: by its payer or the time of its creation. */
export function namesAnother([name, value]: Member, sent: Sent): boolean {
  const folded = fold(name);
  if (words.creationName.test(folded)) return isOwnDate(value, sent.createdAt) === false;
  if (folded === 'bankid') return isSame(value, sent.bankId, bankCode) === false;
  if (folded === 'thisaccount' && isObject(value)) {
    const { id, accountid = id, bankid } = foldedOf(value);
    return namesAnother(['accountid', accountid], sent) || namesAnother(['bankid', bankid], sent);
  }
  return /^(?:accountid|thisaccount)$/.test(folded) && isSame(value, sent.accountId, idText) === false;
}

/** Matches the name of the list of transaction requests, without `-`, `_` and case. */
export const requestsName = /^transactionrequests?$/;

/** Reads the answer to putTransactionsRequestAccount, whose entry for this payment decides. */
function readRequests(value: unknown, about: About): Finding {
  const around = isObject(value) ? value : {};
  const key = Object.keys(around).find((name) => requestsName.test(fold(name)));
  const listed = key === undefined ? value : around[key];
  const own = ownEntry(Array.isArray(listed) ? listed : [listed], about.sent);
  if (own === undefined) {
    const isAccepted =
      key === undefined && isObject(value) && readObject(value, about).meaning === 'accepted';
    return finding(isAccepted ? 'accepted' : null, key === undefined ? Object.keys(around) : [key]);
  }
  const found = readObject(own, { ...about, isEntry: true });
  // Members next to the list concern the whole answer.
  const { [key ?? '']: _, ...rest } = key === undefined ? {} : around;
  const whole = isEmptyContainer(rest) ? finding('done') : readObject(rest, about);
  const isWhole = whole.names.length === 0 && (whole.meaning ?? 'done') === 'done';
  return finding(isWhole ? found.meaning : null, [...whole.names, ...found.names]);
}

/** The one entry that repeats the payment, while all others differ from it; undefined if there is none. */
function ownEntry(entries: readonly unknown[], sent: Sent): Members | undefined {
  if (!entries.every(isObject)) return undefined;
  const compared = entries.map((entry) => [entry, repeatsPayment(entry, sent)] as const);
  const own = compared.filter(([, isRepeated]) => isRepeated !== false);
  return own.length === 1 && own[0]?.[1] ? own[0][0] : undefined;
}

/**
 * Whether an entry repeats the payee and all that was sent of amount and currency; false if it names others, null if it does not
 * name them. Without a payment, as in `bankql payments explain`, it has to name a payee.
 */
function repeatsPayment(entry: Members, { toAccountId, toBankId, amount, currency }: Sent): boolean | null {
  const body = foldedOf(foldedOf(entry).body);
  const to = foldedOf(body.to);
  const value = foldedOf(body.value);
  const account =
    toAccountId === null ? !isEmptyText(to.accountid) || null : isSame(to.accountid, toAccountId, idText);
  // An amount in an unknown form may be the sent one.
  const isAmount =
    decimal(scalarOf(value.amount) ?? '') === null ? null : isSame(value.amount, amount, decimal);
  const isCurrency = isSame(value.currency, currency, idText);
  if ([account, isAmount, isCurrency, isSame(to.bankid, toBankId, bankCode)].includes(false)) return false;
  return (account && (isAmount || amount === null) && (isCurrency || currency === null)) || null;
}

const foldedOf = (value: unknown): Members =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, member]) => [fold(name), member]))
    : {};

/** Whether a member of an object, or a value other than an object, suggests a failure. */
export const speaksOfFailure = (value: unknown, options: ReadOptions): boolean =>
  options.isLong ||
  Object.entries(isObject(value) ? value : { value }).some((member) =>
    contradicts(member, 'accepted', options),
  );

/** The paths of a member, at least one: the members of its object, or of the first object of its list. */
const pathsOf = (name: string, value: unknown): string[] => {
  const inner: unknown = Array.isArray(value) ? value[0] : value;
  return isObject(inner) && !isEmptyContainer(inner)
    ? Object.keys(inner).map((part) => `${name}.${part}`)
    : [name];
};
