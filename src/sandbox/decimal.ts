import { numberParts, plainDecimal } from '../contract/decimal.ts';
import { HttpError } from './request-checks.ts';

/**
 * Exact arithmetic on the text of a JSON number: `units` divided by ten to the power of `scale`. A result has
 * as many decimals as the operand that has more of them, so that "12000.10" and "1" give "12001.10".
 */
interface Decimal {
  readonly units: bigint;
  readonly scale: number;
}

/** Errors: Error if the text is no decimal, which the contract's shapes rule out before. */
function read(text: string): Decimal {
  const [whole = '', fraction = ''] = plainDecimal(text).split('.');
  return { units: BigInt(whole + fraction), scale: fraction.length };
}

function write({ units, scale }: Decimal): string {
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0');
  const point = digits.length - scale;
  const text = scale === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`;
  return units < 0n ? `-${text}` : text;
}

function unitsAt({ units, scale }: Decimal, wanted: number): bigint {
  return units * 10n ** BigInt(wanted - scale);
}

export function add(left: string, right: string): string {
  const [a, b] = [read(left), read(right)];
  const scale = Math.max(a.scale, b.scale);
  return write({ units: unitsAt(a, scale) + unitsAt(b, scale), scale });
}

export function negate(text: string): string {
  const { units, scale } = read(text);
  return write({ units: -units, scale });
}

/** Negative if `left` is smaller, zero if both are equal, positive otherwise. */
export function compare(left: string, right: string): number {
  const { units } = read(add(left, negate(right)));
  return units < 0n ? -1 : units > 0n ? 1 : 0;
}

/** How many decimals a value has without the zeros at its end. */
export const decimalsNeeded = (text: string): number =>
  /\.(\d*[1-9])/.exec(plainDecimal(text))?.[1]?.length ?? 0;

/**
 * Checks an amount in a request before calculating with it: "1e999999999" is a short text and a huge number.
 * Errors: HttpError 400 if it has more than 30 digits before the point, or more than 18 behind it.
 */
export function checkDigits(field: string, text: string): void {
  const [, , whole = '', fraction = '', exponent = '0'] = numberParts.exec(text) ?? [];
  const shift = Number(exponent);
  if (whole.length + shift > 30 || fraction.length - shift > 18 || whole.length + fraction.length > 48) {
    throw new HttpError(400, `${field}: the bank keeps 30 digits before the point and 18 behind it`);
  }
}
