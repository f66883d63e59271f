import { compressions } from '../server/response.ts';
import { logLevels } from '../telemetry/log.ts';
import { operationNameModes, samplers } from '../telemetry/options.ts';
import {
  anyFlag,
  anyPort,
  anyText,
  bankAddress,
  collectorAddress,
  collectorHeaders,
  count,
  counterAddress,
  type Format,
  flag,
  headerNames,
  id,
  keysAddress,
  milliseconds,
  oneOf,
  optional,
  origins,
  outcomeWords,
  port,
  proxyAddress,
  rateLimit,
  refusalStatuses,
  share,
  signatureAlgorithms,
  storeAddress,
  subscriptionKey,
  text,
  time,
  viewerTemplate,
  wholeNumber,
  workerCount,
} from './formats.ts';
import { memoryBounds } from './memory-bounds.ts';

/** One variable of the environment. */
export interface Variable<T = unknown> extends Format<T> {
  /** Describes the variable for the documentation: Markdown in one line. */
  readonly description: string;
  /** Few operators change it: when they do, as the end of the sentence "Change it if …". Left out for the others. */
  readonly rarely?: string;
  /** The option of `bankql sandbox` that has taken its place. */
  readonly option?: string;
  /** Another name that stands before this one, as it is usual elsewhere. */
  readonly alias?: string;
  /** It holds a secret: a file may hold it instead, and nothing shows it whole. */
  readonly isSecret?: boolean;
}

/** A secret may be in a file of its own: the variable with this ending names it. */
export const fileEnding = '_FILE';

/** Which bank, and how it is reached. */
/** Which parts of the schema are served. */
const schemaNames = ['full', 'app'] as const;

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
  BANK_ALL_PRODUCTS_ID: {
    rarely: 'the bank has an id with which it lists all of its products',
    ...optional(id('BANK_ALL_PRODUCTS_ID'), 'none; `SNDBCY2N` with the sandbox'),
    description:
      'the id with which postProducts lists all products of the bank, for queries of `products` without `filter`',
  },
  BANK_ACCOUNT_SCOPE: {
    rarely: 'the bank answers single accounts at another path',
    ...optional(id('BANK_ACCOUNT_SCOPE'), '`views`'),
    description:
      'the last segment of the path by which a single account is read, such as `account` at banks that answer one account there',
  },
} as const satisfies Record<string, Variable>;

/** The way to the bank. */
export const networkVariables = {
  BANK_TLS_CERT: {
    ...optional(anyText),
    description:
      'a PEM file with the client certificate for the bank and its chain; read at the start, on SIGHUP and when it changes, like the next two',
  },
  BANK_TLS_KEY: {
    ...optional(anyText),
    description: 'a PEM file with its private key, without a passphrase',
  },
  BANK_TLS_CA: {
    ...optional(anyText, "none: Node's"),
    description:
      "a PEM file with the authorities that are trusted for the bank's certificate, instead of Node's",
  },
  BANK_PROXY: {
    ...optional(proxyAddress),
    description:
      'the proxy to the bank, such as `http://user:password@proxy.example:3128`; also to `IDENTITY_JWKS_URL`, unless `NO_PROXY` names its host',
  },
  HTTPS_PROXY: {
    rarely: 'your environment sets it for every program; otherwise use `BANK_PROXY`',
    ...optional(proxyAddress),
    alias: 'https_proxy',
    description: 'the proxy for https, unless `NO_PROXY` names the host; `https_proxy` too',
  },
  NO_PROXY: {
    rarely: 'a host must be reached without the proxy',
    ...optional(anyText),
    alias: 'no_proxy',
    description:
      'hosts that are reached without a proxy: names (with their subdomains), addresses, `*.name`, `name:port` or `*`, separated by commas; `no_proxy` too',
  },
  BANK_CONNECTION_MAX_AGE_MS: {
    rarely: "the bank's addresses change more often, or never",
    ...wholeNumber(60_000, 0, 86_400_000),
    description:
      "the maximum age of a pooled connection to the bank, so that bankql follows changes of the bank's addresses; 0 for no maximum",
  },
} as const satisfies Record<string, Variable>;

/** Callers and their rate limits. */
export const callersVariables = {
  BANK_SUBSCRIPTION_KEY: {
    isSecret: true,
    ...optional(subscriptionKey),
    description: "the operator's subscription key, used for every caller",
  },
  IDENTITY: {
    ...optional({
      schema: oneOf(['headers', 'jwt'], 'headers').schema,
    }),
    description:
      'how callers are identified: `jwt`, by a verified bearer token ([how](hardening.md#identity)); `headers`, by a trusted proxy that sets the auth headers. Required with `BANK_SUBSCRIPTION_KEY` unless `HOST` is loopback',
  },
  IDENTITY_JWKS_URL: {
    ...optional(keysAddress, 'none; required with `jwt`, like the next two'),
    description: "where the issuer's public keys are: https, or loopback",
  },
  IDENTITY_ISSUER: {
    ...optional(anyText),
    description: 'the `iss` that a token must have',
  },
  IDENTITY_AUDIENCE: {
    ...optional(anyText),
    description: 'the `aud` that it must have',
  },
  IDENTITY_ALGORITHMS: {
    rarely: 'the issuer signs with other algorithms, or you allow fewer',
    ...optional(signatureAlgorithms, '`RS256 ES256 PS256 EdDSA`'),
    description: 'the signatures that are accepted',
  },
  IDENTITY_PROVIDER_CLAIM: {
    rarely: 'another claim names the provider',
    ...optional(anyText, '`iss`'),
    description: 'the claim that becomes `Auth-Provider-Name`',
  },
  IDENTITY_AUTH_ID_CLAIM: {
    rarely: 'another claim names the customer',
    ...optional(anyText, '`sub`'),
    description: 'the claim that becomes `Auth-ID`',
  },
  VIEWER_CUSTOMER_ID: {
    ...optional(viewerTemplate, 'none; `{auth-id}` with the sandbox'),
    description:
      'the id of the customer who is logged in, for `viewer`; `{auth-id}` and `{provider}` are replaced by the credentials, and with `IDENTITY=jwt` `{claim:name}` by a claim of the token',
  },
  VIEWER_ACCOUNT_ID: {
    ...optional(viewerTemplate, 'none; `{auth-id}-current` with the sandbox'),
    description: 'the id of the account that `viewer` shows first, in the same form',
  },
  RATE_LIMIT: {
    ...optional(rateLimit),
    description:
      'the limit of REST calls for each caller: calls per seconds, such as `300/60` ([how](hardening.md#rate-limits))',
  },
  RATE_LIMIT_PER_KEY: {
    rarely: 'callers of several apps share one subscription key',
    ...optional(rateLimit),
    description: 'the limit for all callers with one subscription key together',
  },
  RATE_LIMIT_URL: {
    isSecret: true,
    ...counterAddress,
    description:
      'where REST calls are counted: `memory:` (by this process, for all its workers), or `redis://…`, `rediss://…` or `postgres://…` to count them for several replicas together',
  },
  PERSISTED_DOCUMENTS: {
    ...optional(anyText),
    description:
      'a manifest of documents that clients may send by their ids ([how](hardening.md#persisted-documents))',
  },
  PERSISTED_ONLY: { ...flag(false), description: 'accept only documents of the manifest' },
} as const satisfies Record<string, Variable>;

/** Where payments are recorded, and what the bank's answers to them mean. */
export const paymentsVariables = {
  STATE_URL: {
    isSecret: true,
    ...optional(
      storeAddress,
      '`memory:` with the sandbox; `sqlite:.bankql/state.db` with a bank on loopback; else required',
    ),
    description:
      'where records of payments are kept: `sqlite:PATH`, `postgres://…` or `memory:` ([which](payment-stores.md))',
  },
  STATE_WITNESS: {
    ...optional(anyText),
    description:
      'a file on another disk that counts payments, so that bankql notices a store that lost some ([how](payment-stores.md#a-store-that-lost-records))',
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
      'words with which the bank says that it executed a payment, separated by commas, besides the [known ones](payment-operations.md#the-banks-words)',
  },
  BANK_PAYMENT_REJECTED_WORDS: {
    rarely: '`bankql doctor` or a payment of unknown outcome shows a word that bankql does not know',
    ...outcomeWords,
    description:
      'words with which the bank says that it did not execute a payment and will not, separated by commas, besides the [known ones](payment-operations.md#the-banks-words)',
  },
  BANK_PAYMENT_REJECTED_STATUSES: {
    rarely: 'the bank refuses payments with other statuses, or executes some of these',
    ...optional(refusalStatuses, '`400,401,402,403,404,405,413,415,422,429`'),
    description:
      'HTTP statuses with which the bank refuses a payment; after any other failure the outcome is unknown ([which](payment-operations.md#what-the-banks-answer-means))',
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

/** Behaviour while the bank is slow or unavailable. */
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
  PRIVATE_CACHE_MS: {
    rarely: 'apps read the same records again on their next screens',
    ...wholeNumber(0, 0, 60_000),
    description:
      "how long what a caller read is cached for that caller, transactions and their requests excepted; 0 for no cache. A caller's writes through the same worker end it; writes through another worker or replica show after this time",
  },
} as const satisfies Record<string, Variable>;

/** Limits of a request. */
export const limitsVariables = {
  MAX_REST_CALLS: {
    ...wholeNumber(50, 1, 100_000),
    description:
      'the maximum number of REST calls of one query, payments excluded; a query that needs more is refused',
  },
  LIMIT_TOKENS: {
    rarely: 'your documents are longer',
    ...count(2000),
    description: 'the maximum number of tokens in a query',
  },
  LIMIT_DEPTH: {
    rarely: 'your documents are deeper',
    ...count(15),
    description: 'the maximum depth of a query',
  },
  LIMIT_ALIASES: {
    rarely: 'your documents have more aliases',
    ...count(30),
    description:
      'the maximum number of aliases, each of at most 128 characters; fragments count at each spread, also for the next limits',
  },
  LIMIT_ROOT_FIELDS: {
    rarely: 'your documents have more fields at the root',
    ...count(20),
    description: 'the maximum number of fields at the root',
  },
  LIMIT_DIRECTIVES: {
    rarely: 'your documents have more directives',
    ...count(20),
    description: 'the maximum number of directives',
  },
  LIMIT_FIELDS: {
    rarely: 'your documents have more fields',
    ...count(500),
    description: 'the maximum number of fields',
  },
  LIMIT_ANSWER_VALUES: {
    rarely: 'answers are larger, or the heap is small',
    ...count(100_000),
    description:
      'the maximum number of values in an answer (fields and list entries), a tenth of it in incremental results; a larger answer ends the query',
  },
  LIMIT_ANSWER_BYTES: {
    rarely: 'answers are larger, or the heap is small',
    // JSON takes up to six characters for one, and V8 has no longer texts than 2^29.
    ...wholeNumber(16 * 1024 * 1024, 1000, 64 * 1024 * 1024),
    description: 'the maximum length of the JSON of an answer; a longer one ends the query',
  },
  LIMIT_BODY_BYTES: {
    rarely: 'documents or variables are longer',
    ...wholeNumber(100_000, 1, 100_000_000),
    description: 'the maximum length of a request body; a longer one is answered with 413',
  },
  LIMIT_UNREAD_BYTES: {
    rarely: 'many clients read slowly, or memory is scarce',
    ...wholeNumber(memoryBounds.unreadAnswers, 1, 2 ** 40),
    shownFallback: '268435456, or an eighth of the heap if that is less',
    description:
      'the maximum number of bytes of all answers that clients have not read yet; above it requests are answered with 503',
  },
  LIMIT_UNREAD_MS: {
    rarely: 'clients on slow networks need longer',
    ...wholeNumber(30_000, 100, 3_600_000),
    description: 'how long an answer waits for its client to read it; then the connection is closed',
  },
} as const satisfies Record<string, Variable>;

/** Where it listens, what it logs, how much it takes on. */
export const serverVariables = {
  HOST: { ...text('127.0.0.1'), description: 'the address to listen on' },
  PORT: { ...port(4000), description: 'the port to listen on; 0 for any' },
  WORKERS: {
    ...workerCount,
    description:
      'the number of processes that serve, `auto` for one per core ([how](deploy.md#all-cores)); they share `MAX_IN_FLIGHT`, `LIMIT_UNREAD_BYTES` and `BANK_CONNECTIONS`',
  },
  METRICS_PORT: {
    ...optional(anyPort),
    description: "the port for Prometheus' metrics; 0 for any, which the start prints",
  },
  METRICS_HOST: {
    rarely: 'Prometheus reaches bankql over another network than clients do',
    ...optional(anyText, '`HOST`'),
    description: 'the address on which the metrics are served',
  },
  METRICS_OPERATION_NAMES: {
    rarely: 'you want names of operations without a manifest, or none',
    ...oneOf(operationNameModes, 'persisted'),
    description:
      'whose names the label `operation` of the GraphQL metrics shows, 200 at most: those of the operations of `PERSISTED_DOCUMENTS`, of `all`, or of `none`; the rest is `other`',
  },
  CORS_ORIGINS: {
    ...origins,
    description: 'the origins that browsers may call from, separated by commas',
  },
  SCHEMA: {
    rarely: 'bankql serves an app for customers',
    ...oneOf(schemaNames, 'full'),
    description:
      'which schema is served: `full`, or `app`, which is without the mutations of the bank\'s staff (those with `@tag(name: "staff")`)',
  },
  FEDERATION: {
    rarely: 'bankql is a subgraph',
    ...flag(false),
    description:
      'whether it is a subgraph of Apollo Federation 2, with `_service` and `_entities` ([how](federation.md))',
  },
  CORS_HEADERS: {
    rarely: 'web apps send headers of their own',
    ...headerNames,
    description:
      'further request headers that browsers may send, separated by commas, such as `Apollographql-Client-Name`',
  },
  COMPRESSION: {
    rarely: 'nothing in front of bankql compresses private answers',
    ...oneOf(compressions, 'public'),
    description:
      'answers of 1 KB and more in brotli or gzip: `public`, those with public data only; `on`, all ([the risk](../SECURITY.md#compression)); `off`, none',
  },
  APQ: {
    rarely: 'clients use automatic persisted queries',
    ...flag(false),
    description:
      "automatic persisted queries, as Apollo's and urql's links do them: bankql keeps texts that come with their SHA-256, and later requests send only the hash; 10,000 texts in 16 MB, [less in a small heap](sizing.md#memory)",
  },
  MAX_IN_FLIGHT: {
    rarely: 'the heap is sized by hand',
    ...count(memoryBounds.requests),
    shownFallback: '1000, or one for each MB of the heap if that is less',
    description: 'the maximum number of concurrent requests; others are answered with 503',
  },
  MAX_IN_FLIGHT_PER_CALLER: {
    rarely: 'a caller is a backend with many users',
    ...count(100),
    description: 'the maximum number of concurrent requests of one caller',
  },
  MAX_EVENT_LOOP_LAG_MS: {
    rarely: 'the machine is shared and pauses are normal',
    ...milliseconds(500),
    description: 'the delay of the event loop above which requests are answered with 503',
  },
  READY_NEEDS_ROOM: {
    rarely: 'a load balancer should avoid a busy replica while others have room',
    ...flag(false),
    description: '`/ready` answers 503 while bankql is overloaded ([when](deploy.md#overload))',
  },
  DRAIN_DELAY_MS: {
    ...wholeNumber(0, 0, 600_000),
    description: 'how long `/ready` answers 503 after SIGTERM before the server stops listening',
  },
  LOG_LEVEL: {
    ...oneOf(logLevels, 'info'),
    description:
      'the log level (`fatal`, `error`, `warn`, `info`, `debug`, `trace`, `silent`); audit lines of payments are always written',
  },
  LOG_SAMPLE: {
    rarely: 'the log of successful operations is too long',
    ...share(1),
    description:
      'the share of successful, fast operations that are logged; errors, slow operations and payments always are',
  },
  LOG_TIME: {
    rarely: 'the log collector wants ISO 8601',
    ...oneOf(['epoch', 'iso'] as const, 'epoch'),
    description: "the form of a line's `time`: milliseconds since 1970, or ISO 8601",
  },
  LOG_LEVEL_FILE: {
    rarely: 'you change the level while it runs',
    ...optional(anyText),
    description: 'a file with a level that overrides `LOG_LEVEL`, read at the start and on SIGHUP',
  },
  NODE_ENV: {
    rarely: 'the image and the unit set it',
    ...optional(anyText),
    description: '`production`: the sandbox bank starts only with `SANDBOX=on`',
  },
} as const satisfies Record<string, Variable>;

/** Where traces go. The names are OpenTelemetry's. */
export const tracesVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    ...optional(collectorAddress, 'none: no traces'),
    description:
      "the collector's address; it accepts OTLP over HTTP in JSON at `/v1/traces` (usually port 4318)",
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    rarely: 'the collector wants a key',
    ...optional(collectorHeaders),
    isSecret: true,
    description: 'headers for the collector, such as `api-key=secret`, separated by commas',
  },
  OTEL_SERVICE_NAME: {
    rarely: 'several deployments send traces to one collector',
    ...text('bankql'),
    description: 'the service name in traces',
  },
  OTEL_TRACES_SAMPLER: {
    rarely: 'too many traces are recorded',
    ...oneOf(samplers, 'parentbased_always_on'),
    description:
      'which traces are recorded; `parentbased_…` follows the decision in the `traceparent` of the caller',
  },
  OTEL_TRACES_SAMPLER_ARG: {
    rarely: 'too many traces are recorded',
    ...share(1),
    description: 'the share of traces that `traceidratio` and `parentbased_traceidratio` record',
  },
  BANK_TRACEPARENT: {
    rarely: 'the bank reads traces',
    ...flag(false),
    description: 'send the header `traceparent` to the bank',
  },
} as const satisfies Record<string, Variable>;

/** For people who explore. */
export const exploringVariables = {
  GRAPHIQL: {
    rarely: 'developers explore a real bank',
    ...optional(anyFlag, 'on with the sandbox, else off'),
    description: 'GraphiQL for browsers',
  },
  EXPLAIN: {
    rarely: 'developers explain queries against a real bank',
    ...optional(anyFlag, 'on with the sandbox, else off'),
    description:
      'whether requests may ask for their cost in REST calls with the header `x-bankql-explain` ([how](explore.md))',
  },
  INTROSPECTION: {
    rarely: 'developers explore a real bank',
    ...optional(anyFlag, 'on with the sandbox, else off'),
    description: 'whether introspection queries are answered',
  },
} as const satisfies Record<string, Variable>;

/** The sandbox bank: options of `bankql sandbox`. The variables are their old names, which work until 1.0. */
export const sandboxVariables = {
  SANDBOX: {
    rarely: 'you want the sandbox bank although `NODE_ENV` is `production`',
    ...flag(false),
    description: 'start the sandbox bank although `NODE_ENV` is `production`',
  },
  SANDBOX_PORT: {
    option: '--port',
    ...port(4010),
    description: "the sandbox bank's port; 0 for any",
  },
  SANDBOX_DB: {
    option: '--db',
    ...text(':memory:'),
    description: "the sandbox bank's SQLite file",
  },
  SANDBOX_SCENARIO: {
    option: '--scenario',
    ...optional(anyText, '`standard`'),
    description:
      'the data of a new sandbox bank: `standard`, `empty`, `bad-day`, or a JSON file ([scenarios](sandbox.md#scenarios))',
  },
  SANDBOX_NOW: {
    option: '--now',
    ...optional(time, 'the time of the start'),
    description:
      'when it is in the sandbox bank, such as `2026-01-31T09:00Z`: its clock stands still there, and the dates of its records are relative to it',
  },
  SANDBOX_LATENCY_MS: {
    option: '--latency',
    ...wholeNumber(0, 0, 600_000),
    description: 'how long the sandbox bank waits before each answer',
  },
  SANDBOX_FAULTS: {
    option: '--faults',
    ...optional(anyText),
    description:
      'what goes wrong with the sandbox bank: `slow-day`, `flaky`, `down`, or faults such as `getCustomer:status=503:rate=0.2; *:latency=300` ([docs/sandbox.md](sandbox.md#a-bad-day))',
  },
} as const satisfies Record<string, Variable>;

/** The variables by what an operator sets them for: the documentation's sections, in its order. */
export const sections: Readonly<Record<string, Readonly<Record<string, Variable>>>> = {
  'The bank': bankVariables,
  'The way to the bank': networkVariables,
  'Who calls': callersVariables,
  Payments: paymentsVariables,
  'A bank that is slow or away': resilienceVariables,
  'Limits of a request': limitsVariables,
  'The server': serverVariables,
  Traces: tracesVariables,
  'For people who explore': exploringVariables,
  'The sandbox bank': sandboxVariables,
};

/** Every variable that the process reads. The documentation, `--help` and `.env.example` are made of it. */
export const variables = {
  ...bankVariables,
  ...networkVariables,
  ...callersVariables,
  ...paymentsVariables,
  ...resilienceVariables,
  ...limitsVariables,
  ...serverVariables,
  ...tracesVariables,
  ...exploringVariables,
  ...sandboxVariables,
} as const satisfies Record<string, Variable>;

export type VariableName = keyof typeof variables;

export const variableNames = Object.keys(variables) as VariableName[];

/** Variables that hold a secret; a file may hold it instead (environment.ts). */
export const secretVariables: readonly VariableName[] = variableNames.filter((name) => {
  const { isSecret = false }: Variable = variables[name];
  return isSecret;
});

/** What each variable says. */
export type Values = {
  readonly [Name in VariableName]: (typeof variables)[Name] extends Variable<infer T> ? T : never;
};
