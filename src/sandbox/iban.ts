/** The remainder of an IBAN divided by 97 (ISO 13616), with its letters as numbers and its first four characters last. */
function remainder(iban: string): bigint {
  const digits = `${iban.slice(4)}${iban.slice(0, 4)}`.replaceAll(/[A-Z]/g, (letter) =>
    String(letter.charCodeAt(0) - 55),
  );
  return BigInt(digits) % 97n;
}

/** The IBAN of a national account number, with its check digits. */
export function iban(country: string, number: string): string {
  const check = 98n - remainder(`${country}00${number}`);
  return `${country}${String(check).padStart(2, '0')}${number}`;
}

/** Whether a text is an IBAN without spaces whose check digits are right. */
export const isIban = (text: string): boolean =>
  /^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(text) && remainder(text) === 1n;

/** Two accounts of another bank, for tests: transfers to them fail or stay pending. */
export const closedAccount = iban('GB', 'TSTB60161300000001');
export const slowAccount = iban('GB', 'TSTB60161300000002');
