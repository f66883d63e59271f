/** Decimal numbers as texts, which preserve every digit. */

/**
 * The maximum length of a number that is written without an exponent, in characters: 1e999999999 would have a
 * billion of them.
 */
export const maxDecimalLength = 1000;

const plain = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?`;

/** A JSON number, as the source of a regular expression. */
export const jsonNumberSource = String.raw`${plain}(?:[eE][+-]?\d+)?`;

/** A valid JSON number. */
export const jsonNumber = new RegExp(`^${jsonNumberSource}$`);

/** A JSON number without an exponent. */
export const plainNumber = new RegExp(`^${plain}$`);

/** The parts of a number: sign, whole, fraction, exponent. It may have leading zeros. */
export const numberParts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** A number without an exponent: "1.5e3" becomes "1500". No digit is rounded or dropped. Errors: Error if it is no number. */
export function plainDecimal(text: string): string {
  if (plainNumber.test(text)) return text;
  const parts = numberParts.exec(text);
  if (parts === null) throw new Error('The text is no decimal number');
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts;
  const all = `${whole}${fraction}`;
  const point = whole.length + Number(exponent);
  const left = (point > 0 ? all.slice(0, point).padEnd(point, '0') : '').replace(/^0+(?=\d)/, '') || '0';
  const right = point >= all.length ? '' : all.slice(Math.max(point, 0)).padStart(all.length - point, '0');
  return `${sign}${left}${right === '' ? '' : `.${right}`}`;
}
