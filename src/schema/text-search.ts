import { badUserInput } from '../errors.ts';

/** The maximum length of the argument `search`, in characters. */
const maxSearchLength = 255;

const onlyAscii = /^[\0-\x7f]*$/;
const marks = /\p{M}+/gu;

/**
 * A text without case and marks, so that "ΑΘΗΝΑ" equals "Αθήνα". ASCII needs no NFD, which takes ten times as long.
 * Separate marks are removed before NFD, because NFD takes quadratic time for many marks on one letter.
 */
const foldText = (text: string): string =>
  onlyAscii.test(text)
    ? text.toLowerCase()
    : text.replace(marks, '').normalize('NFD').replace(marks, '').toLowerCase().replaceAll('ς', 'σ');

/**
 * The argument `search`, folded once for all entries; null if it is absent or empty.
 * Errors: BAD_USER_INPUT for a text that is too long: comparing it with each entry would take seconds.
 */
export function foldSearch(text: string | null | undefined): string | null {
  if (!text) return null;
  if (text.length > maxSearchLength)
    throw badUserInput(`search can have up to ${maxSearchLength} characters.`, 'search');
  return foldText(text) || null;
}

/** Whether a value of the bank is a text that contains a folded text. */
export const containsFolded = (value: unknown, folded: string): boolean =>
  typeof value === 'string' && foldText(value).includes(folded);
