/** The IBAN of a national account number, with its check digits (ISO 13616). */
export function iban(country: string, number: string): string {
  const digits = `${number}${country}00`.replaceAll(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55));
  const check = 98n - (BigInt(digits) % 97n);
  return `${country}${String(check).padStart(2, '0')}${number}`;
}
