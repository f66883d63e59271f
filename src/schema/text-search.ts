/** Letters that have no decomposition in Unicode, and what people write in their place. */
const spelt: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  ł: 'l',
  ħ: 'h',
  ı: 'i',
  ς: 'σ',
};

/** More combining marks in a row than any text needs (UAX #15, Stream-Safe Text Format); the last two decompose to marks. */
const mostMarks = 30;
const furtherMarks = new RegExp(String.raw`([\p{M}\uff9e\uff9f]{${mostMarks}})[\p{M}\uff9e\uff9f]+`, 'gu');

/** The longest text that is compared, in UTF-16 units: the work on a list is bounded by the number of its entries. */
const mostUnits = 500;

/**
 * The part of a text that is compared: its beginning, with at most `mostMarks` marks in a row. Normalizing or comparing longer runs
 * takes a time that grows with the square of their length: seconds for a text of 50 kB.
 */
export const comparedPart = (text: string): string =>
  text.length <= mostMarks ? text : text.slice(0, mostUnits).replaceAll(furtherMarks, '$1');

/**
 * A text as searches compare it: without case, white space and accents, which people leave out and capitals lack, and with
 * one form of each letter, such as σ for ς and ss for ß.
 */
export const foldText = (text: string): string =>
  comparedPart(text)
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/\s|[\u0300-\u036f]/g, '')
    .replaceAll(/[ßæœøđðłħıς]/g, (letter) => spelt[letter] ?? letter);
