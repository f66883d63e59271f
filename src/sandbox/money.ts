import { numberParts } from '../contract/decimal.ts';
import { HttpError } from './request-checks.ts';

/** Amounts in the smallest unit of their currency: 12.5 EUR are 1250n, 12 JPY are 12n. */

/** The currencies of ISO 4217 that do not have two decimals. */
const decimals: readonly (readonly [count: number, currencies: string])[] = [
  [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'],
  [3, 'BHD IQD JOD KWD LYD OMR TND'],
  [4, 'CLF UYW'],
];
const decimalsOf = (currency: string | null | undefined): number =>
  decimals.find(([, currencies]) => currencies.split(' ').includes(currency ?? ''))?.[0] ?? 2;

/**
 * Converts a JSON number to the smallest unit of the currency. `field`: its name in errors.
 * Errors: HttpError 400 if the number is finer than the currency, or has more than 30 digits before the point or 18 after it.
 * The digits are counted before the number is made, because a short text such as "1e999999999" is a huge number.
 */
export function centsOf(field: string, text: string, currency: string | null | undefined): bigint {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = numberParts.exec(text) ?? [];
  const places = fraction.length - Number(exponent);
  if (whole.length + Number(exponent) > 30 || places > 18 || text.length > 60)
    throw new HttpError(400, `${field}: the bank keeps 30 digits before the point and 18 behind it`);
  const digits = BigInt(`${whole}${fraction}`);
  const shift = decimalsOf(currency) - places;
  const unit = 10n ** BigInt(Math.abs(shift));
  if (shift < 0 && digits % unit !== 0n) throw new HttpError(400, 'Invalid amount');
  const cents = shift < 0 ? digits / unit : digits * unit;
  return sign === '-' ? -cents : cents;
}

/** Converts an amount to a decimal number, with all decimals of the currency. */
export function amountOf(cents: bigint, currency: string | null | undefined): string {
  const places = decimalsOf(currency);
  const digits = String(cents < 0n ? -cents : cents).padStart(places + 1, '0');
  const point = digits.length - places;
  const fraction = places === 0 ? '' : `.${digits.slice(point)}`;
  return `${cents < 0n ? '-' : ''}${digits.slice(0, point)}${fraction}`;
}
