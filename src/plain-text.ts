/**
 * Texts from people and their tools. Editors on Windows put a byte order mark at the beginning of a file, `echo` ends it with a
 * line break, and a value that is copied from a page may contain invisible characters.
 */

/**
 * The text of a file, without a byte order mark.
 * Errors: an Error that says why the bytes are not UTF-8.
 */
export function decodeText(bytes: Uint8Array): string {
  // In UTF-16 and UTF-32, ASCII characters contain zero bytes. Text in UTF-8 has none.
  if (bytes.includes(0) || isMarkedUtf16(bytes))
    throw new Error('it is in UTF-16, or no text: save it in UTF-8.');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new Error('it is not in UTF-8: save it in UTF-8.', { cause });
  }
}

const isMarkedUtf16 = ([first, second]: Uint8Array): boolean =>
  (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);

/** A text without the white space and invisible characters at its ends. */
export const trimmed = (text: string): string => text.replaceAll(/^[\s\p{Cf}]+|[\s\p{Cf}]+$/gu, '');

/**
 * A text without the line breaks and invisible characters at its ends. Blanks are kept, because they may be a part of the
 * text.
 */
export const withoutLineEnds = (text: string): string =>
  text.replaceAll(/^[\r\n\p{Cf}]+|[\r\n\p{Cf}]+$/gu, '');

const names: Readonly<Record<string, string>> = { '\r': '\\r', '\n': '\\n', '\t': '\\t' };

/** A visible escape sequence for a character. */
export const escaped = (character: string): string =>
  names[character] ?? `\\u{${character.codePointAt(0)?.toString(16)}}`;

/**
 * A text in one line, with its invisible characters escaped: controls, white space other than a blank, and characters that
 * fonts do not show or do not have.
 */
export const visible = (text: string): string =>
  text.replaceAll(/[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800]|(?! )\p{Zs}/gu, escaped);

/** Whether at most `edits` insertions, deletions or replacements of characters turn one word into the other. */
function isSimilar(one: string, other: string, edits: number): boolean {
  if (one === other) return true;
  const [rest, otherRest] = [one.slice(1), other.slice(1)];
  if (one[0] === other[0]) return isSimilar(rest, otherRest, edits);
  const isAfterEdit = (a: string, b: string) => isSimilar(a, b, edits - 1);
  return (
    edits > 0 && (isAfterEdit(rest, other) || isAfterEdit(one, otherRest) || isAfterEdit(rest, otherRest))
  );
}

/** The name that a misspelt word may mean: it differs by at most two edits. Two transposed letters count as two edits. */
export const meantBy = <N extends string>(word: string, names: readonly N[]): N | undefined =>
  [1, 2].flatMap((edits) => names.filter((name) => isSimilar(word, name, edits)))[0];
