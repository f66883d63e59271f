import { isEmptyContainer, isEmptyText, scalarOf } from './answer-values.ts';
import { type About, type Fact, factsIn } from './facts.ts';
import * as words from './payment-words.ts';
import { type Meaning, meaningOf } from './payment-words.ts';

/** Members that bankql does not understand prove nothing, but may contradict others. */

/** A text, a number or a boolean. */
const plain = (value: unknown): string =>
  typeof value === 'boolean' ? String(value) : (scalarOf(value) ?? '');
const isNo = (value: unknown): boolean => /^(?:false|no|n|0)$/i.test(plain(value));
const isYes = (value: unknown): boolean => /^(?:true|yes|y|1)$/i.test(plain(value));
/**
 * Whether a member whose name means a failure reports no failure: it is empty, a count of zero, or a flag
 * that is not set.
 */
const isNoFailure = (value: unknown): boolean =>
  isEmptyText(value) || isEmptyContainer(value) || /^(?:false|0)$/i.test(plain(value));

/** Whether anything in an object or a list contradicts an outcome. */
export function contradicts(members: object, outcome: Meaning, about: About): boolean {
  const isOpen = ({ name }: Fact) => outcome === 'rejected' || !words.failureName.test(name);
  return factsIn(members, isOpen).some((fact) => isAgainst(fact, outcome, about));
}

function isAgainst({ name, value }: Fact, outcome: Meaning, { bankWords, sent }: About): boolean {
  if (outcome !== 'rejected' && words.failureName.test(name)) return !isNoFailure(value);
  const text = scalarOf(value) ?? '';
  const meaning = meaningOf(text, bankWords, true);
  const isStatus = words.statusName.test(name);
  const isOwn = name === 'description' && value === sent.description;
  if (outcome === 'rejected') {
    if (words.successName.test(name)) return isYes(value);
    return (isStatus && meaning === 'accepted') || (!isOwn && words.speaksOfExecution(text, bankWords));
  }
  // A word that means neither yes nor success may mean no in some language.
  const isOtherWord = /^\p{L}+$/u.test(text) && !isYes(value) && meaning !== 'done';
  if (words.successName.test(name) && (isNo(value) || isOtherWord)) return true;
  // Some banks use zero as the code of a success.
  if (isStatus && isNo(value) && text !== '0') return true;
  if ((isStatus || words.codeName.test(name)) && /^[45]\d\d$/.test(text)) return true;
  return !isOwn && words.speaksAgainst(text, outcome, bankWords);
}
