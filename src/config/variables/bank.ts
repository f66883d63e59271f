import { bankAddress } from '../address-formats.ts';
import { flag, id, optional } from '../formats.ts';
import type { Variable } from '../variable.ts';

/** Which bank, and how it is reached. */
export const bankVariables = {
  BANK_BASE_URL: {
    ...optional(bankAddress, 'none: the sandbox bank'),
    description: "the bank's address; every path of the specification is appended to it",
  },
  BANK_ALLOW_HTTP: {
    ...flag(false),
    description: 'accept plain http to a bank that is not on loopback',
  },
  BANK_ID: {
    ...optional(id('BANK_ID'), 'none; `SNDBCY2N` with the sandbox'),
    description: 'the bank where a query names none',
  },
  BANK_DEFAULT_VIEW: {
    ...optional(id('BANK_DEFAULT_VIEW'), '`owner`'),
    description: 'the view where a query names none',
  },
  BANK_ACCOUNT_SCOPE: {
    ...optional(id('BANK_ACCOUNT_SCOPE'), '`views`'),
    description:
      'the last segment of the path by which a single account is read, such as `account` at banks that answer one account there',
  },
} as const satisfies Record<string, Variable>;
