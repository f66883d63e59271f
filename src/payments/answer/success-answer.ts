import { z } from 'zod';
import type { Operation } from '../../contract/operation.ts';
import { recordFields } from '../../contract/record.ts';
import { accountRef, money } from '../../contract/shared-parts.ts';
import { postMakeTransaction, transaction } from '../../contract/transaction.ts';
import { transactionRequest } from '../../contract/transaction-request.ts';
import { isObject } from '../../is-object.ts';
import type { AnswerBody } from './answer-body.ts';
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
import { contradicts, speaksAgainst, speaksOfExecution } from './contradiction.ts';
import * as words from './payment-words.ts';
import { type BankWords, fold, isReason, type Meaning, meaningOf } from './payment-words.ts';

/** A success is understood if every member is known, and it needs evidence that is about this payment. */

export interface ReadOptions {
  readonly operation: Operation;
  readonly bankWords: BankWords;
  /** The payment, which an answer may repeat. */
  readonly sent: Sent;
  readonly now: number;
  /** Whether the answer is so long that only its known members are read. */
  readonly isLong: boolean;
}

/** The meaning of an answer, and its members that are not known. */
export interface Finding {
  readonly meaning: Meaning | null;
  readonly names: readonly string[];
  /** The settings that would help, if the names do not tell. */
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

/** The context of an object. `stated` is the meaning of its statuses, if they agree. */
export interface About extends ReadOptions {
  readonly isRequest: boolean;
  readonly isEntry: boolean;
  readonly stated: Meaning | null;
}
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

const isReasonName = (folded: string) => words.reasonName.test(folded) || words.textName.test(folded);

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

/** Whether a member with this name, folded, is understood. */
export function isKnown(folded: string, value: unknown, about: About): boolean {
  const { stated, isRequest, bankWords, sent, now } = about;
  if (words.statusName.test(folded)) return stated !== null;
  if (words.receiptName.test(folded))
    return (
      isReceiptMember(folded, value, about) ||
      (folded === 'transactionids' && (isRequest || stated !== null) && isEmptyList(value))
    );
  if (isEmptyContainer(value)) return true;
  if (words.creationName.test(folded)) return isPast(value, now, sent.createdAt);
  if (stated === null) return repetitions.has(folded) && isMember(known, folded, value, about);
  if (isMember(known, folded, value, about)) return true;
  if (!isReasonName(folded)) return false;
  const text = scalarOf(value) ?? '';
  if (words.taughtMeaning(text, bankWords) === stated) return true;
  if (stated !== 'rejected' || !words.reasonName.test(folded)) return false;
  return isReason(folded === 'code' ? words.readCode(text, bankWords) : words.readText(text, bankWords));
}

type Check = (value: unknown, about: About) => boolean;
/** A Map, so that names from the bank never match the members of a prototype. */
type Known = ReadonlyMap<string, Check>;
/** The checks of members whose values say more than their kind. */
interface Own {
  readonly [name: string]: Check | Own;
}

/**
 * The members of a record of the contract. Their kind says what their values have to be: a date of this payment, a record, or a text that
 * says nothing about the outcome.
 */
const membersOf = (record: z.ZodObject, own: Own = {}): Known =>
  new Map(
    recordFields(record).map(({ rest, type, also }) => {
      const { [rest]: given = {} } = own;
      const isDate = also !== undefined && 'dateOf' in also;
      const ofKind =
        type instanceof z.ZodObject && typeof given === 'object'
          ? every(membersOf(type, given))
          : isDate
            ? isOwnTime
            : isFreeText;
      return [fold(rest), typeof given === 'function' ? given : ofKind];
    }),
  );
const isMember = (known: Known, folded: string, value: unknown, about: About): boolean =>
  known.get(folded)?.(value, about) ?? false;
const every =
  (known: Known): Check =>
  (value, about) =>
    isObject(value) &&
    Object.entries(value).every(([name, member]) => isMember(known, fold(name), member, about));
/** Some banks write an object in place of its id: docs/real-banks.md. */
const orObject =
  (isId: Check, known: Known): Check =>
  (value, about) =>
    isId(value, about) || every(known)(value, about);
/** Values that were not sent, or that the bank leaves empty, are known only with a status. */
const repeats =
  (sentOf: (sent: Sent) => string | null, read: (text: string) => string | null): Check =>
  (value, about) =>
    isSame(value, sentOf(about.sent), read) ?? isFreeText(value, about);

/** Whether a free text of the bank stands beside a status, and says nothing about the outcome. */
const isFreeText: Check = (value, about) => {
  if (about.stated === null) return false;
  const text = scalarOf(value);
  if (text === null)
    return (
      value === null ||
      (Array.isArray(value) && value.every((entry) => !Array.isArray(entry) && isFreeText(entry, about)))
    );
  if (about.stated === 'rejected' && speaksOfExecution(text, words.noBankWords)) return false;
  return !words.isTellingWord(text) && !speaksAgainst(text, 'accepted', words.noBankWords);
};
const isOwnTime: Check = (value, { sent }) => isEmptyText(value) || isOwnDate(value, sent.createdAt) === true;
/** Who stopped a payment contradicts its success. */
const isStopped: Check = (value, about) =>
  isEmptyText(value) || (about.stated === 'rejected' && isFreeText(value, about));
const description: Check = (value, about) =>
  isEmptyText(value) ||
  (about.sent.description ? value === about.sent.description : about.isEntry && isFreeText(value, about));

const ownMoney = {
  amount: repeats(({ amount }) => amount, decimal),
  currency: repeats(({ currency }) => currency, idText),
};
const payer = {
  account_id: repeats(({ accountId }) => accountId, idText),
  bank_id: repeats(({ bankId }) => bankId, bankCode),
};
const payee = {
  account_id: repeats(({ toAccountId }) => toAccountId, idText),
  bank_id: repeats(({ toBankId }) => toBankId, bankCode),
};
/** What was asked for, as the request's body has it. */
const asked = { description, from: payer, to: payee, value: ownMoney };

const known: Known = new Map<string, Check>([
  ...membersOf(accountRef, payer),
  ...membersOf(money, ownMoney),
  ...membersOf(transaction, {
    details: {
      ...{ cancelled_by_ip_address: isStopped, cancelled_by_user_id: isStopped },
      ...{ paused_by_ip_address: isStopped, paused_by_user_id: isStopped },
      // The meanings of all statuses were compared before.
      status: () => true,
      description: (value, about) => description(value, { ...about, isEntry: true }),
      // The amount is negative in the payer's transaction.
      value: { ...ownMoney, amount: (value, about) => ownMoney.amount(withoutSign(value), about) },
    },
    other_account: orObject(isFreeText, new Map([...membersOf(accountRef), ['id', isFreeText]])),
    this_account: orObject(
      payer.account_id,
      new Map([...membersOf(accountRef, payer), ['id', payer.account_id]]),
    ),
  }),
  ...membersOf(transactionRequest, {
    ...{ description, from: payer },
    body: every(membersOf(postMakeTransaction.body, asked)),
    challenge: orObject(
      isFreeText,
      new Map(['id', 'allowedattempts', 'challengetype'].map((name) => [name, isFreeText])),
    ),
  }),
  ['to', every(membersOf(accountRef, payee))],
  ['value', every(membersOf(money, ownMoney))],
  ['type', (value) => typeof value === 'string' && words.requestTypes.has(fold(value))],
  ['self', isLink],
  // Beside no status, a link to the status is there to be asked.
  ['links', (value, { stated }) => areLinks(value, stated === null ? ['self'] : ['self', 'status'])],
]);
/** What was sent, and links: beside these, a receipt decides without a status. */
const repetitions: ReadonlySet<string> = new Set([
  'amount',
  'currency',
  'description',
  'from',
  'to',
  'value',
  'body',
  'self',
  'links',
]);

const withoutSign = (value: unknown) => scalarOf(value)?.replace(/^-/, '') ?? value;

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

/** The one entry that repeats the payment, while all others differ from it; undefined if there is none. */
function ownEntry(entries: readonly unknown[], sent: Sent): Members | undefined {
  if (!entries.every(isObject)) return undefined;
  const compared = entries.map((entry) => [entry, repeatsPayment(entry, sent)] as const);
  const own = compared.filter(([, isRepeated]) => isRepeated !== false);
  return own.length === 1 && own[0]?.[1] ? own[0][0] : undefined;
}

/**
 * Whether an entry repeats the payee and all that was sent of amount and currency; false if it names others, null if it does not
 * name them. Without a payment, as in `bankql doctor`, it has to name a payee.
 */
function repeatsPayment(entry: Members, { toAccountId, toBankId, amount, currency }: Sent): boolean | null {
  const body = foldedOf(foldedOf(entry).body);
  const to = foldedOf(body.to);
  const value = foldedOf(body.value);
  const account =
    toAccountId === null ? !isEmptyText(to.accountid) || null : isSame(to.accountid, toAccountId, idText);
  // An amount in an unknown form may be this one.
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

/** Whether a member of an object, or a value that is no object, speaks of a failure. */
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
