import { defaultAnswerLimits } from '../engine/answer-limits.ts';
import { logLevels } from '../server/log.ts';
import {
  anyFlag,
  anyPort,
  anyText,
  bankAddress,
  count,
  type Format,
  flag,
  id,
  keysAddress,
  milliseconds,
  oneOf,
  optional,
  origins,
  port,
  rateLimit,
  refusalStatuses,
  share,
  signatureAlgorithms,
  subscriptionKey,
  text,
  wholeNumber,
} from './formats.ts';

/** What an operator sets variables for: the documentation's sections, in its order. */
export const sections = {
  bank: 'The bank',
  callers: 'Who calls',
  payments: 'Payments',
  resilience: 'A bank that is slow or away',
  limits: 'What one request may cost',
  server: 'The server',
  exploring: 'For people who explore',
  sandbox: 'The sandbox bank',
} as const;

export interface Variable<T = unknown> extends Format<T> {
  readonly section: keyof typeof sections;
  /** What it is, for the documentation: Markdown in one line. */
  readonly description: string;
}

/** Every variable that the process reads. The documentation, `--help` and `.env.example` are made of it. */
export const variables = {
  BANK_BASE_URL: {
    ...optional(bankAddress, 'none: the sandbox bank'),
    section: 'bank',
    description: "the bank's address; every path of the specification is appended to it",
  },
  BANK_ALLOW_HTTP: {
    ...flag(false),
    section: 'bank',
    description: 'accept plain http to a bank that is not on loopback',
  },
  BANK_ID: {
    ...optional(id('BANK_ID'), 'none; `SNDBCY2N` with the sandbox'),
    section: 'bank',
    description: 'the bank where a query names none',
  },
  BANK_DEFAULT_VIEW: {
    ...optional(id('BANK_DEFAULT_VIEW'), '`owner`'),
    section: 'bank',
    description: 'the view where a query names none',
  },
  BANK_SUBSCRIPTION_KEY: {
    ...optional(subscriptionKey),
    section: 'callers',
    description: "the operator's subscription key; it stands for every caller's",
  },
  IDENTITY: {
    ...optional({
      schema: oneOf(['headers', 'jwt'], 'headers').schema,
    }),
    section: 'callers',
    description:
      'who says who calls: `jwt`: a verified bearer token ([how](hardening.md#identity)); `headers`: a trusted proxy, which sets the auth headers. One of them is needed with `BANK_SUBSCRIPTION_KEY` off loopback',
  },
  IDENTITY_JWKS_URL: {
    ...optional(keysAddress, 'none; needed with `jwt`, as the next two'),
    section: 'callers',
    description: "where the issuer's public keys are: https, or loopback",
  },
  IDENTITY_ISSUER: {
    ...optional(anyText),
    section: 'callers',
    description: 'the `iss` that a token must have',
  },
  IDENTITY_AUDIENCE: {
    ...optional(anyText),
    section: 'callers',
    description: 'the `aud` that it must have',
  },
  IDENTITY_ALGORITHMS: {
    ...optional(signatureAlgorithms, '`RS256 ES256 PS256 EdDSA`'),
    section: 'callers',
    description: 'the signatures that are accepted',
  },
  IDENTITY_PROVIDER_CLAIM: {
    ...optional(anyText, '`iss`'),
    section: 'callers',
    description: 'the claim that becomes `Auth-Provider-Name`',
  },
  IDENTITY_AUTH_ID_CLAIM: {
    ...optional(anyText, '`sub`'),
    section: 'callers',
    description: 'the claim that becomes `Auth-ID`',
  },
  RATE_LIMIT: {
    ...optional(rateLimit),
    section: 'callers',
    description:
      'REST calls per seconds of one caller, such as `300/60`; what is over is refused ([how](hardening.md#rate-limits))',
  },
  RATE_LIMIT_PER_KEY: {
    ...optional(rateLimit),
    section: 'callers',
    description: 'the same for all callers with one subscription key',
  },
  PERSISTED_DOCUMENTS: {
    ...optional(anyText),
    section: 'callers',
    description:
      'a manifest of documents that may be asked for by their ids ([how](hardening.md#persisted-documents))',
  },
  PERSISTED_ONLY: { ...flag(false), section: 'callers', description: 'serve nothing else' },
  STATE_URL: {
    ...optional(
      anyText,
      '`memory:` with the sandbox; `sqlite:.bankql/state.db` with a bank on loopback; else required',
    ),
    section: 'payments',
    description:
      'where records of payments are kept: `sqlite:PATH`, `redis://…`, `rediss://…`, `redis+sentinel://…` or `memory:` ([which](payments.md#where-they-are-kept))',
  },
  STATE_WITNESS: {
    ...optional(anyText),
    section: 'payments',
    description:
      'a file, on another disk than the records, that knows how many payments were begun: a store that lost some is noticed ([how](payments.md#a-store-that-lost-records))',
  },
  STATE_ALLOW_VOLATILE: {
    ...flag(false),
    section: 'payments',
    description: 'accept a Redis that may forget payments, which then could be sent twice',
  },
  STATE_WAIT_REPLICAS: {
    ...wholeNumber(0, 0, 10),
    section: 'payments',
    description: 'how many replicas of a Redis have to confirm a payment before it is sent',
  },
  BANK_PAYMENT_REJECTED_STATUSES: {
    ...optional(refusalStatuses, '`400,401,402,403,404,405,413,415,422,429`'),
    section: 'payments',
    description:
      'the statuses with which the bank refuses a payment; any other failure leaves open whether it was executed ([which](payments.md#what-the-banks-answer-means))',
  },
  READY_NEEDS_STATE: {
    ...flag(false),
    section: 'payments',
    description:
      '`/ready` answers 503 while payments cannot be recorded ([how](reliability.md#the-payment-store))',
  },
  IDEMPOTENCY_TTL_DAYS: {
    ...wholeNumber(30, 1, 3650),
    section: 'payments',
    description: "how long a finished payment's record is kept",
  },
  BANK_TIMEOUT_MS: {
    ...milliseconds(5000),
    section: 'resilience',
    description: 'the deadline of a read or a write, connect, body and second attempt included',
  },
  BANK_TRANSFER_TIMEOUT_MS: {
    ...milliseconds(15_000),
    section: 'resilience',
    description: 'the deadline of a payment',
  },
  BANK_CONNECT_TIMEOUT_MS: {
    ...milliseconds(1000),
    section: 'resilience',
    description: 'how much of it connecting may take',
  },
  BANK_CONNECTIONS: {
    ...wholeNumber(64, 1, 10_000),
    section: 'resilience',
    description: 'connections to the bank at the same time, for reads and for writes each',
  },
  BANK_OPERATION_SHARE: {
    ...share(0.5, { above: 0 }),
    section: 'resilience',
    description: 'the share of them that one REST operation may hold while others wait; 1 for all',
  },
  BANK_CONNECTION_PER_CALLER: {
    ...flag(false),
    section: 'resilience',
    description:
      "let a kept connection serve one caller's identity only ([why](../SECURITY.md#what-is-not-defended))",
  },
  BANK_CONNECTION_WAIT_MS: {
    ...milliseconds(250),
    section: 'resilience',
    description: 'how long a call waits for its turn among them',
  },
  BANK_MAX_BODY_BYTES: {
    ...wholeNumber(8 * 1024 * 1024, 1, 2 ** 30),
    section: 'resilience',
    description: 'the longest answer that is read',
  },
  BANK_RETRY_SHARE: {
    ...share(0.1),
    section: 'resilience',
    description: 'the share of reads that may be tried again; 0 for none',
  },
  BANK_BREAKER_THRESHOLD: {
    ...share(0.5),
    section: 'resilience',
    description: 'the share of failed and slow calls that pauses an operation; 0 for never',
  },
  BANK_SLOW_CALL_MS: {
    ...optional(milliseconds(1), '80 % of `BANK_TIMEOUT_MS`'),
    section: 'resilience',
    description: 'from when on a call is slow; a payment after as much of its own deadline',
  },
  BANK_BREAKER_OPEN_MS: {
    ...milliseconds(10_000),
    section: 'resilience',
    description: 'how long it is paused before one call may try',
  },
  OPERATION_TIMEOUT_MS: {
    ...milliseconds(20_000),
    section: 'resilience',
    description: 'how long the reads of one query may take together',
  },
  PUBLIC_CACHE_TTL_MS: {
    ...wholeNumber(60_000, 0, 24 * 60 * 60 * 1000),
    section: 'resilience',
    description: 'how long branches and products are kept; 0 for no cache',
  },
  MAX_REST_CALLS: {
    ...wholeNumber(50, 1, 100_000),
    section: 'limits',
    description:
      'how many REST calls one query may make; one that needs more at least is refused; a payment is not counted',
  },
  LIMIT_TOKENS: {
    ...count(2000),
    section: 'limits',
    description: 'how many tokens the text of a query may have',
  },
  LIMIT_DEPTH: { ...count(15), section: 'limits', description: 'how deep a query may be' },
  LIMIT_ALIASES: {
    ...count(30),
    section: 'limits',
    description:
      'how many aliases it may have, of 128 characters at most; fragments put in, as for the next ones',
  },
  LIMIT_ROOT_FIELDS: { ...count(20), section: 'limits', description: 'how many fields at its root' },
  LIMIT_DIRECTIVES: { ...count(20), section: 'limits', description: 'how many directives' },
  LIMIT_FIELDS: { ...count(500), section: 'limits', description: 'how many fields' },
  LIMIT_ANSWER_VALUES: {
    ...count(defaultAnswerLimits.values),
    section: 'limits',
    description: 'how many values an answer may hold: fields and list entries; what is over ends the query',
  },
  LIMIT_ANSWER_BYTES: {
    // JSON takes up to six characters for one, and V8 has no longer texts than 2^29.
    ...wholeNumber(defaultAnswerLimits.bytes, 1000, 64 * 1024 * 1024),
    section: 'limits',
    description: 'how long the JSON of an answer may be; what is over ends the query',
  },
  LIMIT_BODY_BYTES: {
    ...wholeNumber(100_000, 1, 100_000_000),
    section: 'limits',
    description: 'how long the body of a request may be; a longer one is 413, and its connection closes',
  },
  LIMIT_UNREAD_BYTES: {
    ...wholeNumber(256 * 1024 * 1024, 1, 2 ** 40),
    section: 'limits',
    description:
      'how many bytes of answers may wait for their clients to take them, in all; beyond it requests are 503',
  },
  HOST: { ...text('127.0.0.1'), section: 'server', description: 'the address to listen on' },
  PORT: { ...port(4000), section: 'server', description: 'the port to listen on; 0 for any' },
  METRICS_PORT: {
    ...optional(anyPort),
    section: 'server',
    description: "the port for Prometheus' metrics, on `HOST`; 0 for any, which the start prints",
  },
  CORS_ORIGINS: {
    ...origins,
    section: 'server',
    description: 'the origins whose pages may call, separated by commas',
  },
  MAX_IN_FLIGHT: {
    ...count(1000),
    section: 'server',
    description: 'requests that are under way at the same time; what is over is 503',
  },
  MAX_IN_FLIGHT_PER_CALLER: {
    ...count(100),
    section: 'server',
    description: 'the same for one caller',
  },
  MAX_EVENT_LOOP_LAG_MS: {
    ...milliseconds(500),
    section: 'server',
    description: 'how late the event loop may be before requests are 503',
  },
  DRAIN_DELAY_MS: {
    ...wholeNumber(0, 0, 600_000),
    section: 'server',
    description: 'how long `/ready` answers 503 on SIGTERM before the server stops to listen',
  },
  LOG_LEVEL: {
    ...oneOf(logLevels, 'info'),
    section: 'server',
    description: "pino's levels; payments leave their audit line whatever the level",
  },
  LOG_LEVEL_FILE: {
    ...optional(anyText),
    section: 'server',
    description:
      'a file with a level that stands in for `LOG_LEVEL`, read at the start and on SIGHUP; where it is absent or empty, `LOG_LEVEL` holds',
  },
  NODE_ENV: {
    ...optional(anyText),
    section: 'server',
    description: '`production`: the sandbox bank starts only where `SANDBOX` asks for it',
  },
  GRAPHIQL: {
    ...optional(anyFlag, 'on with the sandbox, else off'),
    section: 'exploring',
    description: 'GraphiQL for browsers',
  },
  INTROSPECTION: {
    ...optional(anyFlag, 'on with the sandbox, else off'),
    section: 'exploring',
    description: 'whether the schema may be asked for',
  },
  SANDBOX: { ...flag(false), section: 'sandbox', description: 'see `NODE_ENV`' },
  SANDBOX_PORT: { ...port(4010), section: 'sandbox', description: "the sandbox bank's port; 0 for any" },
  SANDBOX_DB: {
    ...text(':memory:'),
    section: 'sandbox',
    description: "the sandbox bank's SQLite file",
  },
  SANDBOX_LATENCY_MS: {
    ...wholeNumber(0, 0, 600_000),
    section: 'sandbox',
    description: 'how long the sandbox bank waits before each answer',
  },
  SANDBOX_FAULTS: {
    ...optional(anyText),
    section: 'sandbox',
    description:
      'what goes wrong with the sandbox bank: `slow-day`, `flaky`, `down`, or faults such as `getCustomer:status=503:rate=0.2; *:latency=300` ([docs/sandbox.md](sandbox.md#a-bad-day))',
  },
} as const satisfies Record<string, Variable>;

export type VariableName = keyof typeof variables;

export const variableNames = Object.keys(variables) as VariableName[];

/** What each variable says. */
export type Values = {
  readonly [Name in VariableName]: (typeof variables)[Name] extends Variable<infer T> ? T : never;
};
