import type { Operation } from '../../contract/operation.ts';
import type { AnswerBody } from './answer-body.ts';
import { isEmptyContainer, isReceipt, scalarOf } from './answer-values.ts';
import { contradicts } from './contradiction.ts';
import { type About, isKnown, type ReadOptions } from './known-members.ts';
import * as words from './payment-words.ts';
import { type BankWords, fold, type Meaning } from './payment-words.ts';
import {
  type Finding,
  finding,
  type Member,
  meaningsIn,
  namesAnother,
  requestsName,
  statusMeaning,
} from './success-answer.ts';

/** A success that is decided by the values at the operator's paths. */

type Path = readonly string[];

/**
 * A path into the list of transaction requests applies only to putTransactionsRequestAccount; every other path applies to both
 * operations.
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

export function readPaths({ value }: AnswerBody, options: ReadOptions): Finding {
  const { statusPath, receiptPath, neutralPaths = [] } = options.bankWords;
  if (options.isLong) return finding(null, [], 'none: the answer is longer than 64 kB');
  const root = neutralPaths.reduce(without, value);
  const isRequest = options.operation.envelope !== null;
  const about: About = { ...options, isRequest, isEntry: isRequest, stated: null };
  const meaning = statusPath === undefined ? 'done' : meaningAt(valueAt(root, statusPath), about);
  if (meaning === null)
    return finding(null, [nameOf(statusPath)], 'BANK_PAYMENT_DONE or BANK_PAYMENT_REJECTED');
  const beside = membersBeside(root, [statusPath ?? [], receiptPath ?? []]);
  const against = beside.filter(
    ({ member }) => contradicts(member, meaning, options) || namesAnother(member, options.sent),
  );
  // The value at the status' path is the evidence, so the members beside it may be unknown.
  const strange = statusPath === undefined ? beside.filter(isStrange(beside, about)) : [];
  if (
    meaning === 'done' &&
    receiptPath !== undefined &&
    !isReceipt(valueAt(root, receiptPath), options, true)
  )
    return finding(null, [nameOf(receiptPath)], 'BANK_PAYMENT_RECEIPT or BANK_PAYMENT_STATUS');
  const names = [...new Set([...against, ...strange])].map(({ path }) => nameOf(path));
  return names.length === 0
    ? finding(meaning, names)
    : finding(null, names, 'BANK_PAYMENT_NEUTRAL or BANK_PAYMENT_STATUS');
}

const nameOf = (path: Path = []): string => path.join('.');

/** Booleans have a meaning only if the operator lists them. */
const meaningAt = (value: unknown, about: About): Meaning | null =>
  typeof value === 'boolean'
    ? (words.taughtMeaning(String(value), about.bankWords) ?? null)
    : statusMeaning(value, about);

/** A member that is not on one of the paths, with its own path. */
interface Beside {
  readonly path: Path;
  readonly member: Member;
}

/** The members of the objects and lists on the way to the paths. */
function membersBeside(value: unknown, paths: readonly Path[], at: Path = []): Beside[] {
  const ways = paths.filter((path) => path.length > 0);
  if (typeof value !== 'object' || value === null || ways.length === 0) return [];
  return Object.entries(value).flatMap(([key, member]): Beside[] => {
    const path = [...at, key];
    const inner = ways.filter(([first]) => first === key).map(([, ...rest]) => rest);
    return inner.length === 0 ? [{ path, member: [key, member] }] : membersBeside(member, inner, path);
  });
}

/** Whether a member is neither known nor empty. Statuses have to agree that the payment is done. */
function isStrange(beside: readonly Beside[], about: About): (one: Beside) => boolean {
  const meanings = meaningsIn(
    beside.map(({ member }) => member),
    about,
  );
  const isDone = meanings.length > 0 && meanings.every((meaning) => meaning === 'done');
  return ({ member: [name, value] }) => {
    const folded = fold(name);
    // All members are checked for words of a failure.
    if (words.failureName.test(folded) || (words.successName.test(folded) && value === true)) return false;
    return !isKnown(folded, value, { ...about, stated: isDone ? 'done' : null });
  };
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
 * A copy of a value without what is at a path, and without the objects that are empty then. An entry of a list becomes an empty object,
 * so that the others keep their places.
 */
function without(value: unknown, [key, ...rest]: Path): unknown {
  if (typeof value !== 'object' || value === null || key === undefined || !Object.hasOwn(value, key))
    return value;
  const left = rest.length === 0 ? {} : without(Reflect.get(value, key), rest);
  if (Array.isArray(value)) return value.map((entry, index) => (String(index) === key ? left : entry));
  const others = Object.entries(value).filter(([name]) => name !== key);
  return Object.fromEntries(isEmptyContainer(left) ? others : [...others, [key, left]]);
}

/** The stored part of an answer to makeTransaction that is read by paths. */
export const taughtContent = ({ value }: AnswerBody, { statusPath, receiptPath }: BankWords) => ({
  id: receiptPath && scalarOf(valueAt(value, receiptPath)),
  status: statusPath && scalarOf(valueAt(value, statusPath)),
});
