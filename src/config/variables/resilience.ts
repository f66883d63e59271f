import { flag, milliseconds, optional, share, wholeNumber } from '../formats.ts';
import type { Variable } from '../variable.ts';

/** What happens when the bank is slow or away. */
export const resilienceVariables = {
  BANK_TIMEOUT_MS: {
    ...milliseconds(5000),
    description: 'the deadline of a read or a write, connect, body and second attempt included',
  },
  BANK_TRANSFER_TIMEOUT_MS: {
    ...milliseconds(15_000),
    description: 'the deadline of a payment',
  },
  BANK_CONNECT_TIMEOUT_MS: {
    ...milliseconds(1000),
    description: 'how much of it connecting may take',
  },
  BANK_CONNECTIONS: {
    ...wholeNumber(64, 1, 10_000),
    description: 'connections to the bank at the same time, for reads and for writes each',
  },
  BANK_OPERATION_SHARE: {
    ...share(0.5, { above: 0 }),
    description: 'the share of them that one REST operation may hold while others wait; 1 for all',
  },
  BANK_CONNECTION_PER_CALLER: {
    ...flag(false),
    description:
      "let a kept connection serve one caller's identity only ([why](../SECURITY.md#what-is-not-defended))",
  },
  BANK_CONNECTION_WAIT_MS: {
    ...milliseconds(250),
    description: 'how long a call waits for its turn among them',
  },
  BANK_MAX_BODY_BYTES: {
    ...wholeNumber(8 * 1024 * 1024, 1, 2 ** 30),
    description: 'the longest answer that is read',
  },
  BANK_RETRY_SHARE: {
    ...share(0.1),
    description: 'the share of reads that may be tried again; 0 for none',
  },
  BANK_BREAKER_THRESHOLD: {
    ...share(0.5),
    description: 'the share of failed and slow calls that pauses an operation; 0 for never',
  },
  BANK_SLOW_CALL_MS: {
    ...optional(milliseconds(1), '80 % of `BANK_TIMEOUT_MS`'),
    description: 'from when on a call is slow; a payment after as much of its own deadline',
  },
  BANK_BREAKER_OPEN_MS: {
    ...milliseconds(10_000),
    description: 'how long it is paused before one call may try',
  },
  OPERATION_TIMEOUT_MS: {
    ...milliseconds(20_000),
    description: 'how long the reads of one query may take together',
  },
  PUBLIC_CACHE_TTL_MS: {
    ...wholeNumber(60_000, 0, 24 * 60 * 60 * 1000),
    description: 'how long branches and products are kept; 0 for no cache',
  },
} as const satisfies Record<string, Variable>;
