/** The currencies of ISO 4217 that do not have two decimals. */
const exceptions = new Map(
  [
    [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'] as const,
    [3, 'BHD IQD JOD KWD LYD OMR TND'] as const,
    [4, 'CLF UYW'] as const,
    // Metals, units of account and codes for tests have no smallest unit.
    [null, 'XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX'] as const,
  ].flatMap(([decimals, codes]) => codes.split(' ').map((code) => [code, decimals])),
);
const known = new Set<string>();

/**
 * How many decimals a currency has by ISO 4217; null if it is unknown. Not those of Intl: they say how amounts are usually
 * shown (a forint without decimals), and change with the version of Node.
 */
export function currencyDecimals(code: string): number | null {
  if (known.size === 0) for (const currency of Intl.supportedValuesOf('currency')) known.add(currency);
  const exception = exceptions.get(code);
  return exception === undefined && known.has(code) ? 2 : (exception ?? null);
}
