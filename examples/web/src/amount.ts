/**
 * An amount as the bank writes it. All its digits are shown: Intl formats texts of digits exactly, where a number would
 * have been rounded.
 */
export function format(amount: string, currency: string): string {
  const options: Intl.NumberFormatOptions = { style: 'currency', currency };
  try {
    const usual = new Intl.NumberFormat('en-IE', options);
    // It rounds to how the currency is usually shown, such as forints without decimals.
    const { maximumFractionDigits: shown = 0 } = usual.resolvedOptions();
    const all = amount.split('.')[1]?.length ?? 0;
    const digits = { minimumFractionDigits: all, maximumFractionDigits: all };
    const exact = all > shown ? new Intl.NumberFormat('en-IE', { ...options, ...digits }) : usual;
    return exact.format(amount as Intl.StringNumericLiteral);
  } catch {
    // A currency that is no code of three letters.
    return `${amount} ${currency}`;
  }
}

/** An IBAN in groups of four, as it stands on paper. */
export const formatIban = (iban: string): string =>
  /^[A-Z]{2}\d{2}[A-Z0-9]{10,30}$/.test(iban) ? iban.replace(/(.{4})(?=.)/g, '$1 ') : iban;

/** What a person typed as digits with a point; null where it could mean two things, or no amount above zero. */
export function parse(typed: string): string | null {
  const text = typed.trim().replace(/^(\d+),(\d{1,2})$/, '$1.$2');
  return /^\d{1,15}(\.\d{1,2})?$/.test(text) && /[1-9]/.test(text) ? text : null;
}
