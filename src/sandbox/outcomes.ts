import { iban } from './seed/iban.ts';

/** Two accounts of another bank whose transfers do not end well, there to be tried. */
export const closedAccount = iban('GB', 'TSTB60161300000001');
export const slowAccount = iban('GB', 'TSTB60161300000002');

/** How a transfer to an IBAN of another bank ends where it does not just arrive. */
export const outcomes: Readonly<Record<string, 'FAILED' | 'PENDING'>> = {
  [closedAccount]: 'FAILED',
  [slowAccount]: 'PENDING',
};
