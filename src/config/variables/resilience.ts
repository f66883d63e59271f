import { flag, milliseconds, optional, share, wholeNumber } from '../formats.ts';
import type { Variable } from '../variable.ts';

/** What happens when the bank is slow or away. */
export const resilienceVariables = {
  BANK_TIMEOUT_MS: {
    ...milliseconds(5000),
    description: 'the deadline of a read or a write, including the connection, the body and a second attempt',
  },
  BANK_TRANSFER_TIMEOUT_MS: {
    rarely: 'the bank needs longer for a payment',
    ...milliseconds(15_000),
    description: 'the deadline of a payment',
  },
  BANK_CONNECT_TIMEOUT_MS: {
    rarely: 'the bank is far away',
    ...milliseconds(1000),
    description: 'the deadline for connecting',
  },
  BANK_CONNECTIONS: {
    ...wholeNumber(64, 1, 10_000),
    description: 'the maximum number of connections to the bank, for reads and for writes each',
  },
  BANK_OPERATION_SHARE: {
    rarely: 'one operation makes most of the calls',
    ...share(0.5, { above: 0 }),
    description: 'the share of connections that one bank operation may use while others wait; 1 for all',
  },
  BANK_CONNECTION_PER_CALLER: {
    rarely: 'the bank remembers who uses a connection',
    ...flag(false),
    description: 'use a pooled connection for one caller only ([why](../SECURITY.md#what-is-not-defended))',
  },
  BANK_CONNECTION_WAIT_MS: {
    rarely: 'bursts should wait for a connection instead of failing',
    ...milliseconds(250),
    description: 'how long a call waits for a connection',
  },
  BANK_MAX_BODY_BYTES: {
    rarely: "the bank's lists are longer",
    ...wholeNumber(8 * 1024 * 1024, 1, 2 ** 30),
    description: 'the maximum length of an answer of the bank',
  },
  BANK_RETRY_SHARE: {
    rarely: 'the bank must get no second attempts',
    ...share(0.1),
    description: 'the share of reads that may be retried; 0 for none',
  },
  BANK_BREAKER_THRESHOLD: {
    rarely: 'breakers open too early or too late',
    ...share(0.5),
    description:
      'the share of failed and slow calls at which the breaker of a bank operation opens; 0 for never',
  },
  BANK_SLOW_CALL_MS: {
    rarely: 'calls that slow are normal at the bank',
    ...optional(milliseconds(1), '80 % of `BANK_TIMEOUT_MS`'),
    description:
      'the duration from which a call counts as slow; a payment after the same share of its own deadline',
  },
  BANK_BREAKER_OPEN_MS: {
    rarely: 'the bank recovers faster or slower',
    ...milliseconds(10_000),
    description: 'how long a breaker stays open before one trial call',
  },
  OPERATION_TIMEOUT_MS: {
    rarely: 'your queries read long chains of records',
    ...milliseconds(20_000),
    description: 'the deadline for all reads of one query',
  },
  PUBLIC_CACHE_TTL_MS: {
    rarely: 'branches and products change more often',
    ...wholeNumber(60_000, 0, 24 * 60 * 60 * 1000),
    description: 'how long branches and products are cached; 0 for no cache',
  },
} as const satisfies Record<string, Variable>;
