/**
 * A text as searches compare it: without case, white space and accents, which people leave out and capitals lack, and with
 * one form of each letter, such as σ for ς.
 */
export const foldText = (text: string): string =>
  text
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/\s|[\u0300-\u036f]/g, '')
    .replaceAll('ς', 'σ');
