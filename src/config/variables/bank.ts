import { bankAddress } from '../address-formats.ts';
import { flag, id, optional } from '../formats.ts';
import type { Variable } from '../variable.ts';

/** Which bank, and how it is reached. */
export const bankVariables = {
  BANK_BASE_URL: {
    ...optional(bankAddress, 'none: the sandbox bank'),
    description: "the bank's address, in front of every path of the specification",
  },
  BANK_ALLOW_HTTP: {
    rarely: 'the bank is reached over plain http, in a network that you trust',
    ...flag(false),
    description: 'accept plain http to a bank that is not on loopback',
  },
  BANK_ID: {
    ...optional(id('BANK_ID'), 'none; `SNDBCY2N` with the sandbox'),
    description: 'the bank of queries that name none',
  },
  BANK_DEFAULT_VIEW: {
    rarely: 'customers see their accounts through another view',
    ...optional(id('BANK_DEFAULT_VIEW'), '`owner`'),
    description: 'the view of queries that name none',
  },
  BANK_ACCOUNT_SCOPE: {
    rarely: 'the bank answers single accounts at another path',
    ...optional(id('BANK_ACCOUNT_SCOPE'), '`views`'),
    description:
      'the last segment of the path by which a single account is read, such as `account` at banks that answer one account there',
  },
} as const satisfies Record<string, Variable>;
