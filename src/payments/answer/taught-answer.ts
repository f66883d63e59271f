import type { Operation } from '../../contract/operation.ts';
import { isObject } from '../../is-object.ts';
import type { AnswerBody } from './answer-body.ts';
import { isEmptyContainer, isOwnDate, isReceipt, type Sent, scalarOf } from './answer-values.ts';
import { contradicts } from './contradiction.ts';
import {
  type About,
  type Fact,
  factsIn,
  isKnown,
  meaningsIn,
  recordFacts,
  repetitionAt,
  statusMeaning,
} from './facts.ts';
import * as words from './payment-words.ts';
import { type BankWords, fold, type Meaning } from './payment-words.ts';
import { type Finding, finding, pathOf, requestsName } from './success-answer.ts';

/** Reads a success by the values at the operator's paths (BANK_PAYMENT_STATUS, BANK_PAYMENT_RECEIPT). */

type Path = readonly string[];

/**
 * The operator's words for one operation. A path into the list of transaction requests is for putTransactionsRequestAccount
 * only; every other path is for both operations.
 */
export function bankWordsFor({ envelope }: Operation, words: BankWords): BankWords {
  const isOther = (path: Path | undefined) => envelope === null && requestsName.test(fold(path?.[0] ?? ''));
  return {
    ...words,
    statusPath: isOther(words.statusPath) ? undefined : words.statusPath,
    receiptPath: isOther(words.receiptPath) ? undefined : words.receiptPath,
  };
}

export const isTaught = ({ statusPath, receiptPath }: BankWords): boolean =>
  statusPath !== undefined || receiptPath !== undefined;

export function readPaths({ value }: AnswerBody, given: About): Finding {
  const { statusPath, receiptPath, neutralPaths = [] } = given.bankWords;
  if (given.isLong) return finding(null, [], 'none: the answer is longer than 64 kB');
  const root = neutralPaths.reduce(without, value);
  const about: About = { ...given, isEntry: given.operation.envelope !== null };
  const meaning = statusPath === undefined ? 'done' : meaningAt(valueAt(root, statusPath), about);
  if (meaning === null)
    return finding(null, [nameOf(statusPath)], 'BANK_PAYMENT_DONE or BANK_PAYMENT_REJECTED');
  const isReceiptMissing =
    meaning === 'done' && receiptPath !== undefined && !isReceipt(valueAt(root, receiptPath), about, true);
  if (isReceiptMissing)
    return finding(null, [nameOf(receiptPath)], 'BANK_PAYMENT_RECEIPT or BANK_PAYMENT_STATUS');
  // Each member beside the paths is read as if it were alone.
  const beside = factsBeside(root, [statusPath ?? [], receiptPath ?? []]).map(({ path, value: member }) => {
    const key = path.at(-1) ?? '';
    return { path, folded: fold(key), alone: { [key]: member }, facts: recordFacts({ [key]: member }) };
  });
  const meanings = meaningsIn(
    beside.flatMap(({ facts }) => facts),
    about,
  );
  const isDone = meanings.length > 0 && meanings.every((each) => each === 'done');
  const around: About = { ...about, stated: isDone ? 'done' : null };
  const wrong = beside.filter(({ folded, alone, facts }) => {
    const isOfAnother = facts.some((fact) => namesAnother(fact, about.sent));
    if (isOfAnother || contradicts(alone, meaning, about)) return true;
    // The value at the status' path is the evidence, so bankql need not understand the members beside it.
    if (statusPath !== undefined || words.failureName.test(folded)) return false;
    const isYes = words.successName.test(folded) && Object.values(alone)[0] === true;
    return !isYes && !facts.every((fact) => isKnown(fact, around));
  });
  return wrong.length === 0
    ? finding(meaning)
    : finding(null, wrong.map(pathOf), 'BANK_PAYMENT_NEUTRAL or BANK_PAYMENT_STATUS');
}

const nameOf = (path: Path = []): string => path.join('.');

/** Booleans count only if the operator lists them. */
const meaningAt = (value: unknown, about: About): Meaning | null =>
  typeof value === 'boolean'
    ? (words.taughtMeaning(String(value), about.bankWords) ?? null)
    : statusMeaning(value, about);

/** The values beside the paths: the other members of each object or list that a path goes through. */
function factsBeside(value: unknown, paths: readonly Path[]): Fact[] {
  const isOnTheWay = ({ path }: Fact, beyond: number) =>
    paths.some((way) => way.length >= path.length + beyond && path.every((part, at) => part === way[at]));
  if (typeof value !== 'object' || value === null || paths.every((path) => path.length === 0)) return [];
  return factsIn(value, (fact) => isOnTheWay(fact, 1)).filter((fact) => !isOnTheWay(fact, 0));
}

/** Whether the payer or the time of creation in a fact proves that the record is another payment's. */
function namesAnother(fact: Fact, sent: Sent): boolean {
  const { place, value } = fact;
  if (words.creationName.test(place)) return isOwnDate(value, sent.createdAt) === false;
  const isPayer = /^(?:accountid|bankid|thisaccount(?:_|$))/.test(place);
  const isNothing = place === 'thisaccount' && isObject(value);
  return isPayer && !isNothing && repetitionAt(fact, sent)?.isSame === false;
}

const valueAt = (root: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? Reflect.get(value, key)
        : undefined,
    root,
  );

/**
 * A copy without the value at a path, and without objects that would be left empty. An entry of a list
 * becomes an empty object, so that the others keep their places.
 */
function without(value: unknown, [key, ...rest]: Path): unknown {
  if (typeof value !== 'object' || value === null || key === undefined || !Object.hasOwn(value, key))
    return value;
  const left = rest.length === 0 ? {} : without(Reflect.get(value, key), rest);
  if (Array.isArray(value)) return value.map((entry, index) => (String(index) === key ? left : entry));
  const others = Object.entries(value).filter(([name]) => name !== key);
  return Object.fromEntries(isEmptyContainer(left) ? others : [...others, [key, left]]);
}

/** The part of an answer to makeTransaction that is stored if its meaning comes from the operator's paths. */
export function taughtContent({ value }: AnswerBody, { statusPath, receiptPath }: BankWords) {
  const storedAt = (path: Path | undefined) => {
    const found = path && valueAt(value, path);
    // As a text, a number whose digits are lost would look like an id of the bank.
    return typeof found === 'number' ? found : scalarOf(found);
  };
  return { id: storedAt(receiptPath), status: storedAt(statusPath) };
}
