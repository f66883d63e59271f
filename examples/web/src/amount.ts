/** Formats an amount of the bank with all its digits: Intl formats texts of digits exactly, but would round a number. */
export function format(amount: string, currency: string): string {
  const options: Intl.NumberFormatOptions = { style: 'currency', currency };
  try {
    const usual = new Intl.NumberFormat('en-IE', options);
    // By default, Intl rounds to the usual decimals of the currency, such as none for forints.
    const { maximumFractionDigits: shown = 0 } = usual.resolvedOptions();
    const all = amount.split('.')[1]?.length ?? 0;
    const digits = { minimumFractionDigits: all, maximumFractionDigits: all };
    const exact = all > shown ? new Intl.NumberFormat('en-IE', { ...options, ...digits }) : usual;
    return exact.format(amount as Intl.StringNumericLiteral);
  } catch {
    // The currency is not a code of three letters.
    return `${amount} ${currency}`;
  }
}

/** An IBAN in groups of four, as on paper. */
export const formatIban = (iban: string): string =>
  /^[A-Z]{2}\d{2}[A-Z0-9]{10,30}$/.test(iban) ? iban.replace(/(.{4})(?=.)/g, '$1 ') : iban;

/** Converts the text that a person typed to digits with a point; null if it is ambiguous, or not an amount above zero. */
export function parse(typed: string): string | null {
  const text = typed.trim().replace(/^(\d+),(\d{1,2})$/, '$1.$2');
  return /^\d{1,15}(\.\d{1,2})?$/.test(text) && /[1-9]/.test(text) ? text : null;
}
