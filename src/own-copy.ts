/**
 * A copy of a text. In V8, a part of a text, such as a match, refers to the whole text and keeps it in memory. The copy does not.
 */
export const ownCopy = (text: string): string => Buffer.from(text).toString();
