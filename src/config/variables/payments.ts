import { storeAddress } from '../address-formats.ts';
import { anyText, flag, optional, outcomeWords, refusalStatuses, wholeNumber } from '../formats.ts';
import type { Variable } from '../variable.ts';

/** Where payments are recorded, and what the bank's answers to them mean. */
export const paymentsVariables = {
  STATE_URL: {
    isSecret: true,
    ...optional(
      storeAddress,
      '`memory:` with the sandbox; `sqlite:.bankql/state.db` with a bank on loopback; else required',
    ),
    description:
      'where records of payments are kept: `sqlite:PATH`, `postgres://…` or `memory:` ([which](payments.md#where-they-are-kept))',
  },
  STATE_WITNESS: {
    ...optional(anyText),
    description:
      'a file on another disk that counts payments, so that bankql notices a store that lost some ([how](payments.md#a-store-that-lost-records))',
  },
  STATE_ALLOW_VOLATILE: {
    rarely: 'you test against a PostgreSQL that does not sync',
    ...flag(false),
    description: 'accept a PostgreSQL that may forget payments, which then could be sent twice',
  },
  STATE_WAIT_REPLICAS: {
    rarely: 'PostgreSQL has standbys and fails over',
    ...wholeNumber(0, 0, 10),
    description:
      'how many standbys of a PostgreSQL have to confirm a payment before it is sent; at least one if several hosts are named',
  },
  BANK_PAYMENT_DONE: {
    rarely: '`bankql doctor` or a payment of unknown outcome shows a word that bankql does not know',
    ...outcomeWords,
    description:
      'words with which the bank says that it executed a payment, separated by commas, besides the [known ones](payments.md#the-banks-words)',
  },
  BANK_PAYMENT_REJECTED_WORDS: {
    rarely: '`bankql doctor` or a payment of unknown outcome shows a word that bankql does not know',
    ...outcomeWords,
    description:
      'words with which the bank says that it did not execute a payment and will not, separated by commas, besides the [known ones](payments.md#the-banks-words)',
  },
  BANK_PAYMENT_REJECTED_STATUSES: {
    rarely: 'the bank refuses payments with other statuses, or executes some of these',
    ...optional(refusalStatuses, '`400,401,402,403,404,405,413,415,422,429`'),
    description:
      'HTTP statuses with which the bank refuses a payment; after any other failure the outcome is unknown ([which](payments.md#what-the-banks-answer-means))',
  },
  READY_NEEDS_STATE: {
    rarely: 'replicas that cannot pay should get no requests at all',
    ...flag(false),
    description:
      '`/ready` answers 503 while payments cannot be recorded ([how](reliability.md#the-payment-store))',
  },
  IDEMPOTENCY_TTL_DAYS: {
    rarely: 'the law or your apps need records for longer',
    ...wholeNumber(30, 1, 3650),
    description: "how long a finished payment's record is kept",
  },
} as const satisfies Record<string, Variable>;
