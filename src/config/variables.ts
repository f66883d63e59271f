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
  type Format,
  flag,
  headerNames,
  hostName,
  id,
  isDisabled,
  jsonPath,
  keysAddress,
  milliseconds,
  oneOf,
  optional,
  origins,
  outcomeWords,
  port,
  proxyAddress,
  rateLimit,
  resourceAttributes,
  share,
  signatureAlgorithms,
  storeAddress,
  subscriptionKey,
  textList,
  time,
  verbatimText,
  viewerTemplate,
  wholeNumber,
  withDefault,
  workerCount,
} from './formats.ts';
import { memoryBounds } from './memory-bounds.ts';

export interface Variable<T = unknown> extends Format<T> {
  /** A value as it may be shown. */
  readonly show: (text: string) => string;
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

/** Which parts of the schema are served. */
const schemaNames = ['full', 'app'] as const;

const variable = <T>(
  format: Format<T>,
  description: string,
  more: Partial<Omit<Variable<T>, 'description' | 'read'>> = {},
): Variable<T> => ({ show: (text) => text, ...format, description, ...more });

/** The variables by what an operator sets them for: the documentation's sections, in its order. */
export const sections = {
  'The bank': {
    BANK_BASE_URL: variable(
      optional(bankAddress, 'none: the sandbox bank'),
      "the bank's address, in front of every path of the specification; without `/v1/api`, with which each path begins",
    ),
    BANK_ALLOW_HTTP: variable(flag(false), 'accept plain http to a bank that is not on loopback', {
      rarely: 'the bank is reached over plain http, in a network that you trust',
    }),
    BANK_ID: variable(
      optional(id('BANK_ID'), 'none; `SNDBCY2N` with the sandbox'),
      'the bank of queries that do not name a bank',
    ),
    BANK_DEFAULT_VIEW: variable(
      optional(id('BANK_DEFAULT_VIEW'), '`owner`'),
      'the view of queries that do not name a view',
      { rarely: 'customers see their accounts through another view' },
    ),
    BANK_ALL_PRODUCTS_ID: variable(
      optional(id('BANK_ALL_PRODUCTS_ID'), 'none; `SNDBCY2N` with the sandbox'),
      'the id for which postProducts returns all products of the bank; used by queries of `products` without `filter`',
      { rarely: 'the bank has such an id' },
    ),
    BANK_ACCOUNT_SCOPE: variable(
      optional(id('BANK_ACCOUNT_SCOPE'), '`views`'),
      'the last segment of the path of a single account, such as `account`',
      { rarely: 'the bank uses another path for a single account' },
    ),
  },
  'The way to the bank': {
    BANK_TLS_CERT: variable(
      optional(anyText),
      'a PEM file with the client certificate for the bank and its chain. bankql reads this file and the next two at the start, on SIGHUP and when they change',
    ),
    BANK_TLS_KEY: variable(
      optional(anyText),
      'a PEM file with the private key of `BANK_TLS_CERT`, without a passphrase',
    ),
    BANK_TLS_CA: variable(
      optional(anyText, "none: Node's"),
      "a PEM file with the trusted authorities for the bank's certificate; it replaces Node's list",
    ),
    BANK_PROXY: variable(
      optional(proxyAddress),
      'the proxy to the bank, such as `http://user:password@proxy.example:3128`; bankql also uses it for `IDENTITY_JWKS_URL`, unless `NO_PROXY` names the host',
    ),
    HTTPS_PROXY: variable(
      optional(proxyAddress),
      'the proxy for https, unless `NO_PROXY` names the host; `https_proxy` is the same, and bankql ignores `HTTP_PROXY`',
      {
        rarely: 'your environment sets it for every program; otherwise use `BANK_PROXY`',
        alias: 'https_proxy',
      },
    ),
    NO_PROXY: variable(
      optional(textList),
      'hosts that are reached without a proxy: names (with their subdomains), addresses, networks (`10.0.0.0/8`), `*.name`, `name:port` or `*`, separated by commas; `no_proxy` is the same',
      { rarely: 'a host must be reached without the proxy', alias: 'no_proxy' },
    ),
  },
  'Who calls': {
    BANK_SUBSCRIPTION_KEY: variable(
      optional(subscriptionKey),
      "the operator's subscription key, used for every caller",
      { isSecret: true },
    ),
    IDENTITY: variable(
      optional(oneOf(['headers', 'jwt'], 'headers')),
      'how callers are identified: `jwt`, by a verified bearer token ([how](operate.md#identity)); `headers`, by a trusted proxy that sets the auth headers. Required with `BANK_SUBSCRIPTION_KEY` unless `HOST` is loopback',
    ),
    IDENTITY_JWKS_URL: variable(
      optional(keysAddress, 'none; required with `jwt`'),
      "the address of the issuer's public keys: https, or on loopback",
    ),
    IDENTITY_ISSUER: variable(
      optional(verbatimText, 'none; required with `jwt`'),
      'the `iss` that a token must have',
    ),
    IDENTITY_AUDIENCE: variable(
      optional(verbatimText, 'none; required with `jwt`'),
      'the `aud` that a token must have',
    ),
    IDENTITY_ALGORITHMS: variable(
      optional(signatureAlgorithms, '`RS256 ES256 PS256 EdDSA`'),
      'the accepted signature algorithms',
      { rarely: 'the issuer signs with other algorithms, or you allow fewer' },
    ),
    IDENTITY_PROVIDER_CLAIM: variable(
      optional(verbatimText, '`iss`'),
      'the claim that becomes `Auth-Provider-Name`',
      { rarely: 'another claim names the provider' },
    ),
    IDENTITY_AUTH_ID_CLAIM: variable(optional(verbatimText, '`sub`'), 'the claim that becomes `Auth-ID`', {
      rarely: 'another claim names the customer',
    }),
    VIEWER_CUSTOMER_ID: variable(
      optional(viewerTemplate, 'none; `{auth-id}` with the sandbox'),
      'the customer id of `viewer`. bankql replaces `{auth-id}` and `{provider}` with the credentials and, with `IDENTITY=jwt`, `{claim:name}` by a claim of the token ([how](operate.md#who-is-logged-in))',
    ),
    VIEWER_ACCOUNT_ID: variable(
      optional(viewerTemplate, 'none; `{auth-id}-current` with the sandbox'),
      'the id of the default account of `viewer`, in the form of `VIEWER_CUSTOMER_ID`',
    ),
    RATE_LIMIT: variable(
      optional(rateLimit),
      'the limit on REST calls for each caller in each replica: `300/60` is 300 calls in 60 seconds ([how](operate.md#rate-limits))',
    ),
    RATE_LIMIT_PER_KEY: variable(
      optional(rateLimit),
      'the same limit for all callers with one subscription key together',
      { rarely: 'callers of several apps share one subscription key' },
    ),
    PERSISTED_DOCUMENTS: variable(
      optional(anyText),
      'a manifest of documents that clients may send by their ids ([how](operate.md#persisted-documents))',
    ),
    PERSISTED_ONLY: variable(flag(false), 'accept only documents of the manifest'),
  },
  Payments: {
    STATE_URL: variable(
      optional(
        storeAddress,
        '`memory:` with the sandbox; `sqlite:.bankql/state.db` with a bank on loopback; else required',
      ),
      'the store of payment records: `sqlite:PATH`, `postgres://…` or `memory:` ([which](operate.md#payment-stores))',
      { isSecret: true },
    ),
    STATE_ALLOW_VOLATILE: variable(
      flag(false),
      'accept a PostgreSQL server that may lose records. bankql may then send payments twice',
      { rarely: 'you test with a PostgreSQL server without `fsync`' },
    ),
    BANK_PAYMENT_STATUS: variable(
      optional(jsonPath),
      "the path of a payment's status in the bank's answer, such as `data.status`, or `.` for the whole answer. The value there then decides ([how](operate.md#teach-bankql-your-bank))",
      { rarely: 'the log says that answers to payments are not known' },
    ),
    BANK_PAYMENT_RECEIPT: variable(
      optional(jsonPath),
      'the path of the id that the bank gives to an executed payment, such as `data.id` or `0.id`; the payment is DONE if it is there ([how](operate.md#teach-bankql-your-bank))',
      { rarely: 'the log says that answers to payments are not known' },
    ),
    BANK_PAYMENT_DONE: variable(
      outcomeWords,
      'words, codes or whole texts by which the bank says that it executed a payment, separated by commas, in addition to the [known words](operate.md#the-banks-words)',
      { rarely: 'the log says that answers to payments are not known' },
    ),
    BANK_PAYMENT_REJECTED: variable(
      outcomeWords,
      'words, codes or whole texts by which the bank says that it did not execute a payment and will not execute it, separated by commas, in addition to the [known words](operate.md#the-banks-words)',
      { rarely: 'the log says that answers to payments are not known' },
    ),
    READY_NEEDS_STATE: variable(
      flag(false),
      '`/ready` answers 503 while payments cannot be recorded ([how](operate.md#payment-stores))',
      { rarely: 'replicas that cannot send payments should get no requests at all' },
    ),
    IDEMPOTENCY_TTL_DAYS: variable(
      wholeNumber(30, 1, 3650),
      'how long bankql keeps the record of a finished payment; the same for [all processes of a store](operate.md#time-and-retention)',
      {
        rarely: 'the law or your apps need records for longer',
      },
    ),
  },
  'A bank that is slow or away': {
    BANK_TIMEOUT_MS: variable(
      milliseconds(5000),
      'the deadline of a read or a write, including the connection, the body and a second attempt',
    ),
    BANK_TRANSFER_TIMEOUT_MS: variable(milliseconds(15_000), 'the deadline of a payment', {
      rarely: 'the bank needs longer for a payment',
    }),
    BANK_CONNECTIONS: variable(
      wholeNumber(64, 1, 10_000),
      'the maximum number of connections to the bank for reads, and the same number for writes',
    ),
    BANK_KEEP_ALIVE: variable(
      flag(true),
      'keep connections for reads open and use them for the next read; `off` opens one for each call ([why](../SECURITY.md#what-is-not-defended))',
      { rarely: 'the bank, or a proxy in front of it, mixes up the answers on one connection' },
    ),
    BANK_MAX_BODY_BYTES: variable(
      wholeNumber(8 * 1024 * 1024, 1, 2 ** 30),
      'the maximum length of an answer of the bank',
      { rarely: "the bank's lists are longer" },
    ),
    BANK_BREAKER_THRESHOLD: variable(
      share(0.5),
      'the share of failed and slow calls at which the breaker of a bank operation opens; 0 for never',
      { rarely: 'breakers open too early or too late' },
    ),
    OPERATION_TIMEOUT_MS: variable(milliseconds(20_000), 'the deadline for all reads of one query', {
      rarely: 'your queries read long chains of records',
    }),
    PUBLIC_CACHE_TTL_MS: variable(
      wholeNumber(60_000, 0, 24 * 60 * 60 * 1000),
      'how long branches and products are cached; 0 for no cache',
      { rarely: 'branches and products change more often' },
    ),
  },
  'Limits of a request': {
    MAX_REST_CALLS: variable(
      wholeNumber(50, 1, 100_000),
      'the maximum number of REST calls of one query; payments do not count',
    ),
    LIMIT_TOKENS: variable(count(2000), 'the maximum number of tokens in a query', {
      rarely: 'your documents are longer',
    }),
    LIMIT_DEPTH: variable(count(15), 'the maximum depth of a query', { rarely: 'your documents are deeper' }),
    LIMIT_ALIASES: variable(
      count(30),
      'the maximum number of aliases. For this limit and the next three, a fragment counts each time it is spread',
      { rarely: 'your documents have more aliases' },
    ),
    LIMIT_ROOT_FIELDS: variable(count(20), 'the maximum number of fields at the root', {
      rarely: 'your documents have more fields at the root',
    }),
    LIMIT_DIRECTIVES: variable(count(20), 'the maximum number of directives', {
      rarely: 'your documents have more directives',
    }),
    LIMIT_FIELDS: variable(count(500), 'the maximum number of fields', {
      rarely: 'your documents have more fields',
    }),
    LIMIT_ANSWER_VALUES: variable(
      count(100_000),
      'the maximum number of fields and list entries in an answer; with `@defer` and `@stream`, a tenth of it. A larger answer is an error',
      { rarely: 'answers are larger, or the heap is small' },
    ),
    // JSON takes up to six characters for one, and V8 has no longer texts than 2^29.
    LIMIT_ANSWER_BYTES: variable(
      wholeNumber(16 * 1024 * 1024, 1000, 64 * 1024 * 1024),
      'the maximum length of the JSON of an answer. A longer answer is an error',
      { rarely: 'answers are larger, or the heap is small' },
    ),
    LIMIT_BODY_BYTES: variable(
      wholeNumber(100_000, 1, 100_000_000),
      'the maximum length of a request body. A longer one is refused with 413',
      { rarely: 'documents or variables are longer' },
    ),
    LIMIT_UNREAD_BYTES: variable(
      wholeNumber(memoryBounds.unreadAnswers, 1, 2 ** 40),
      'the maximum number of bytes of all answers that clients have not read yet. Above it, bankql refuses requests with 503',
      {
        rarely: 'many clients read slowly, or memory is scarce',
        shownFallback: '268435456, or an eighth of the heap if that is less',
      },
    ),
    LIMIT_UNREAD_MS: variable(
      wholeNumber(30_000, 100, 3_600_000),
      'how long an answer waits until its client reads it. Then bankql closes the connection',
      { rarely: 'clients on slow networks need longer' },
    ),
  },
  'The server': {
    HOST: variable(
      withDefault(hostName, '127.0.0.1', '`127.0.0.1`'),
      'the address to listen on, or the name of one',
    ),
    PORT: variable(port(4000), 'the port to listen on; 0 for any free port'),
    WORKERS: variable(
      workerCount,
      'the number of worker processes; `auto` means one per core ([how](operate.md#all-cores)). The workers share `MAX_IN_FLIGHT`, `LIMIT_UNREAD_BYTES` and `BANK_CONNECTIONS`',
    ),
    METRICS_PORT: variable(optional(anyPort), 'the port for Prometheus metrics; 0 for any free port'),
    METRICS_HOST: variable(optional(hostName, '`HOST`'), 'the address for `METRICS_PORT`', {
      rarely: 'Prometheus reaches bankql over another network than clients do',
    }),
    METRICS_OPERATION_NAMES: variable(
      oneOf(operationNameModes, 'persisted'),
      'which names of operations the GraphQL metrics show: `persisted` (names in `PERSISTED_DOCUMENTS`), `all` (200 at most) or `none`. Other operations count as `other`',
      { rarely: 'you want names without a manifest, or no names' },
    ),
    CORS_ORIGINS: variable(
      origins,
      'the origins of web pages and apps that may send requests, separated by commas: `https://app.example`, `capacitor://localhost`; no patterns',
    ),
    SCHEMA: variable(
      oneOf(schemaNames, 'full'),
      'the served schema: `full`, or `app` without the mutations for bank staff',
      { rarely: 'bankql serves an app for customers' },
    ),
    CORS_HEADERS: variable(
      headerNames,
      'additional request headers that browsers may send, separated by commas, such as `Apollographql-Client-Name`',
      { rarely: 'web apps send other headers' },
    ),

    APQ: variable(
      flag(false),
      'accept automatic persisted queries from Apollo and urql: a client sends a text with its SHA-256 once, and later only the hash ([how](operate.md#persisted-documents))',
      { rarely: 'clients use automatic persisted queries' },
    ),
    MAX_IN_FLIGHT: variable(
      count(memoryBounds.requests),
      'the maximum number of concurrent requests. Further requests are refused with 503',
      {
        rarely: 'you set the size of the heap yourself',
        shownFallback: '256, or one for each MB of the heap if that is less',
      },
    ),
    MAX_IN_FLIGHT_PER_CALLER: variable(count(64), 'the maximum number of concurrent requests of one caller', {
      rarely: 'a caller is a backend with many users',
    }),
    READY_NEEDS_ROOM: variable(
      flag(false),
      '`/ready` answers 503 while bankql is overloaded ([when](operate.md#what-callers-hold))',
      { rarely: 'a load balancer should avoid busy replicas' },
    ),
    DRAIN_DELAY_MS: variable(
      wholeNumber(0, 0, 600_000),
      'how long `/ready` answers 503 after SIGTERM before the server stops listening',
    ),
    LOG_LEVEL: variable(
      oneOf(logLevels, 'info'),
      'the log level (`fatal`, `error`, `warn`, `info`, `debug`, `trace`, `silent`); audit lines of payments are always written',
    ),
    LOG_SAMPLE: variable(
      share(1),
      'the share of successful, fast operations that are logged; errors, slow operations and payments are always logged',
      { rarely: 'the log of successful operations is too long' },
    ),
    LOG_TIME: variable(
      oneOf(['epoch', 'iso'] as const, 'epoch'),
      'the form of `time` in log lines: `epoch` (milliseconds since 1970) or `iso` (ISO 8601)',
      { rarely: 'the log collector wants ISO 8601' },
    ),
    LOG_LEVEL_FILE: variable(
      optional(anyText),
      'a file with a level that overrides `LOG_LEVEL` unless the file is empty, read at the start and on SIGHUP',
      { rarely: 'you change the level while bankql runs' },
    ),
    NODE_ENV: variable(optional(anyText), '`production`: the sandbox bank starts only with `SANDBOX=on`', {
      rarely: 'the image and the unit set it',
    }),
  },
  /** Where traces go. The names are OpenTelemetry's. */
  Traces: {
    OTEL_EXPORTER_OTLP_ENDPOINT: variable(
      optional(collectorAddress, 'none: no traces'),
      'the address of the collector, which must accept OTLP over HTTP in JSON at `/v1/traces` (usually on port 4318)',
    ),
    OTEL_EXPORTER_OTLP_HEADERS: variable(
      optional(collectorHeaders),
      'headers for the collector, such as `api-key=secret`, separated by commas',
      { rarely: 'the collector wants a key', isSecret: true },
    ),
    OTEL_SDK_DISABLED: variable(isDisabled, '`true`: no traces; any other value changes nothing', {
      rarely: 'your environment sets it for every program',
    }),
    OTEL_TRACES_EXPORTER: variable(
      optional(anyText, '`otlp`'),
      '`none`: no traces; any other value changes nothing',
      {
        rarely: 'your environment sets it for every program',
      },
    ),
    OTEL_SERVICE_NAME: variable(optional(anyText, '`bankql`'), 'the service name in traces', {
      rarely: 'several deployments send traces to one collector',
    }),
    OTEL_RESOURCE_ATTRIBUTES: variable(
      optional(resourceAttributes),
      'attributes of each trace, such as `deployment.environment.name=production`, separated by commas',
      { rarely: 'your environment sets it for every program' },
    ),
    OTEL_TRACES_SAMPLER: variable(
      oneOf(samplers, 'parentbased_always_on'),
      'which traces are recorded; with `parentbased_…`, the `traceparent` of the caller decides',
      { rarely: 'too many traces are recorded' },
    ),
    OTEL_TRACES_SAMPLER_ARG: variable(
      share(1),
      'the share of traces that `traceidratio` and `parentbased_traceidratio` record',
      { rarely: 'too many traces are recorded' },
    ),
    BANK_TRACEPARENT: variable(flag(false), 'send the header `traceparent` to the bank', {
      rarely: 'the bank reads traces',
    }),
  },
  'For people who explore': {
    GRAPHIQL: variable(
      optional(anyFlag, 'on with the sandbox, else off'),
      'GraphiQL for browsers ([how](clients.md#see-the-rest-calls)); with a real bank, it also needs `INTROSPECTION=on` for its documentation and `EXPLAIN=on` for its REST calls',
      { rarely: 'developers explore a real bank' },
    ),
    EXPLAIN: variable(
      optional(anyFlag, 'on with the sandbox, else off'),
      'whether requests may ask for their cost in REST calls with the header `x-bankql-explain` ([how](clients.md#see-the-rest-calls))',
      { rarely: 'developers explain queries against a real bank' },
    ),
    INTROSPECTION: variable(
      optional(anyFlag, 'on with the sandbox, else off'),
      'whether introspection queries are answered',
      { rarely: 'developers explore a real bank' },
    ),
  },
  /** The sandbox bank: options of `bankql sandbox`. The variables are their old names, which work until 1.0. */
  'The sandbox bank': {
    SANDBOX: variable(flag(false), 'start the sandbox bank although `NODE_ENV` is `production`', {
      rarely: 'you want the sandbox bank in production',
    }),
    SANDBOX_PORT: variable(port(4010), "the sandbox bank's port; 0 for any free port", { option: '--port' }),
    SANDBOX_NOW: variable(
      optional(time, 'the time of the start'),
      'the fixed time of the sandbox bank, such as `2026-01-31T09:00Z`; the dates of its records are relative to it',
      { option: '--now' },
    ),
  },
} as const satisfies Record<string, Record<string, Variable>>;

/** Every variable that the process reads. The documentation, `--help` and `.env.example` are made of it. */
export const variables = {
  ...sections['The bank'],
  ...sections['The way to the bank'],
  ...sections['Who calls'],
  ...sections.Payments,
  ...sections['A bank that is slow or away'],
  ...sections['Limits of a request'],
  ...sections['The server'],
  ...sections.Traces,
  ...sections['For people who explore'],
  ...sections['The sandbox bank'],
} as const;

export type VariableName = keyof typeof variables;

export const variableNames = Object.keys(variables) as VariableName[];

/** Variables that hold a secret; a file may hold it instead (environment.ts). */
export const secretVariables: readonly VariableName[] = variableNames.filter((name) => {
  const { isSecret = false }: Variable = variables[name];
  return isSecret;
});

export type Values = {
  readonly [Name in VariableName]: (typeof variables)[Name] extends Variable<infer T> ? T : never;
};
