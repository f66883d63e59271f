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

/**
 * A text as searches compare it: without case, white space and accents, which people leave out and capitals lack, and with
 * one form of each letter, such as σ for ς and ss for ß.
 */
export const foldText = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/\s|[\u0300-\u036f]/g, '')
    .replaceAll(/[ßæœøđðłħıς]/g, (letter) => spelt[letter] ?? letter);
