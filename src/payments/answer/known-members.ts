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
  withoutSign,
} from './answer-values.ts';
import { speaksOfExecution } from './contradiction.ts';
import * as words from './payment-words.ts';
import { type BankWords, fold, isReason, type Meaning } from './payment-words.ts';

/**
 * The members that an answer may have. Their names are those of the contract's records and of the request that was sent, and those in
 * payment-words.ts. A known name does not make its value known.
 */

export interface ReadOptions {
  readonly operation: Operation;
  readonly bankWords: BankWords;
  /** The payment, whose values an answer may repeat. */
  readonly sent: Sent;
  readonly now: number;
  /** Whether the answer is so long that only its known members are read. */
  readonly isLong: boolean;
}

/** The context of an object. `stated` is the meaning of its statuses, if they agree. */
export interface About extends ReadOptions {
  readonly isRequest: boolean;
  readonly isEntry: boolean;
  readonly stated: Meaning | null;
}

/** Members that are a code or a text in which a bank says why. */
export const isReasonName = (folded: string): boolean =>
  words.reasonName.test(folded) || words.textName.test(folded);

/** Whether bankql understands a member with this folded name. */
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
  if (stated === null) return repetition.test(folded) && isMember(known, folded, value, about);
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
      const given = own[rest];
      if (typeof given === 'function') return [fold(rest), given];
      if (type instanceof z.ZodObject) return [fold(rest), every(membersOf(type, given))];
      return [fold(rest), also !== undefined && 'dateOf' in also ? isOwnTime : isFreeText];
    }),
  );
const isMember = (known: Known, folded: string, value: unknown, about: About): boolean =>
  known.get(folded)?.(value, about) ?? false;
const every =
  (known: Known): Check =>
  (value, about) =>
    isObject(value) &&
    Object.entries(value).every(([name, member]) => isMember(known, fold(name), member, about));
/** Some banks send an object instead of its id: docs/real-banks.md. */
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
  return !words.isTellingWord(text) && !words.speaksAgainst(text, 'accepted', words.noBankWords);
};
const isOwnTime: Check = (value, { sent }) => isEmptyText(value) || isOwnDate(value, sent.createdAt) === true;
/** The person who stopped a payment contradicts its success. */
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
/** The requested payment, in the form of the request's body. */
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
  // Without a status, a link to the status means that it still has to be queried.
  ['links', (value, { stated }) => areLinks(value, stated === null ? ['self'] : ['self', 'status'])],
]);
/** The members that repeat the request, and links: with only these beside it, a receipt decides without a status. */
const repetition = /^(?:amount|currency|description|from|to|value|body|self|links)$/;
