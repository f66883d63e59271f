import { isEmptyContainer, isEmptyText, type Sent, scalarOf } from './answer-values.ts';
import * as words from './payment-words.ts';
import { type BankWords, fold, type Meaning, meaningOf } from './payment-words.ts';

/** Members that bankql does not know cannot decide, but they may say that another member is wrong. */

interface ContradictionOptions {
  readonly bankWords: BankWords;
  readonly sent: Sent;
}

/** A text, a number or a boolean. */
const plain = (value: unknown): string =>
  typeof value === 'boolean' ? String(value) : (scalarOf(value) ?? '');
const isNo = (value: unknown): boolean => /^(?:false|no|n|0)$/i.test(plain(value));
const isYes = (value: unknown): boolean => /^(?:true|yes|y|1)$/i.test(plain(value));
/** A counter of errors that is zero, or a flag that is not set. */
const isNoFailure = (value: unknown): boolean =>
  isEmptyText(value) || isEmptyContainer(value) || /^(?:false|0)$/i.test(plain(value));

/** Whether a member, or any value inside it, contradicts an outcome. */
export function contradicts(
  [name, value]: readonly [name: string, value: unknown],
  outcome: Meaning,
  options: ContradictionOptions,
): boolean {
  const folded = fold(name);
  if (outcome !== 'rejected' && words.failureName.test(folded)) return !isNoFailure(value);
  if (typeof value === 'object' && value !== null) {
    const isList = Array.isArray(value);
    return Object.entries(value).some(([part, member]) =>
      contradicts([isList ? name : part, member], outcome, options),
    );
  }
  const text = scalarOf(value) ?? '';
  const meaning = meaningOf(text, options.bankWords, true);
  const isStatus = words.statusName.test(folded);
  const isOwn = folded === 'description' && value === options.sent.description;
  if (outcome === 'rejected') {
    if (words.successName.test(folded)) return isYes(value);
    return (isStatus && meaning === 'accepted') || (!isOwn && speaksOfExecution(text, options.bankWords));
  }
  // A word that means neither yes nor success may mean no in some language.
  const isOtherWord = /^\p{L}+$/u.test(text) && !isYes(value) && meaning !== 'done';
  if (words.successName.test(folded) && (isNo(value) || isOtherWord)) return true;
  // Some banks use zero as the code of a success.
  if (isStatus && isNo(value) && text !== '0') return true;
  if ((isStatus || words.codeName.test(folded)) && /^[45]\d\d$/.test(text)) return true;
  return !isOwn && words.speaksAgainst(text, outcome, options.bankWords);
}

/** Whether a text says that a payment was executed: by a word of success in a text without a no, or by one of a duplicate. */
export function speaksOfExecution(said: string, bankWords: BankWords): boolean {
  if (words.taughtMeaning(said, bankWords) === 'rejected') return false;
  if (said.length > words.maxRead) return true;
  const single = words.wordsOf(said);
  if (single.some(words.isDuplicateWord)) return true;
  const isDone = (word: string) => meaningOf(word, bankWords, false) === 'done';
  return single.some(isDone) && !single.some(words.isNoWord);
}
