import { logLevels } from '../telemetry/log.ts';
import {
  anyFlag,
  anyPort,
  anyText,
  bankAddress,
  collectorAddress,
  type Format,
  flag,
  hostName,
  id,
  identityClaims,
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
  storeAddress,
  subscriptionKey,
  verbatimText,
  viewerTemplate,
  wholeNumber,
  withDefault,
  workerCount,
} from './formats.ts';

export interface Variable<T = unknown> extends Format<T> {
  /** A value as it may be shown. */
  readonly show: (text: string) => string;
  /** Describes the variable for the documentation: Markdown in one line. */
  readonly description: string;
  /** It holds a secret: a file may hold it instead, and nothing shows it whole. */
  readonly isSecret?: boolean;
}

/** A secret may be in a file of its own: the variable with this ending names it. */
export const fileEnding = '_FILE';

const variable = <T>(
  format: Format<T>,
  description: string,
  more: Pick<Variable<T>, 'isSecret'> = {},
): Variable<T> => ({ show: (text) => text, ...format, description, ...more });

/** The variables by subject: the sections of the documentation, in its order. */
export const sections = {
  'The bank': {
    BANK_BASE_URL: variable(
      optional(bankAddress, 'none: the sandbox bank'),
      "the bank's address, without the `/v1/api` with which each path of the specification begins",
    ),
    BANK_ALLOW_HTTP: variable(
      flag(false),
      'accept plain http to a bank that is not on loopback, in a network that you trust',
    ),
    BANK_ID: variable(
      optional(id('BANK_ID'), 'none; `SNDBCY2N` with the sandbox'),
      'the bank of queries that do not name a bank',
    ),
    BANK_DEFAULT_VIEW: variable(
      optional(id('BANK_DEFAULT_VIEW'), '`owner`'),
      'the view of queries that do not name a view',
    ),
    BANK_ALL_PRODUCTS_ID: variable(
      optional(id('BANK_ALL_PRODUCTS_ID'), 'none; `SNDBCY2N` with the sandbox'),
      'the id for which postProducts returns all products of the bank; used by queries of `products` without `filter`',
    ),
    BANK_ACCOUNT_SCOPE: variable(
      optional(id('BANK_ACCOUNT_SCOPE'), '`views`'),
      'the last segment of the path of a single account, such as `account`',
    ),
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
      'the proxy to the bank, such as `http://user:password@proxy.example:3128`; also to an `IDENTITY_JWKS_URL` that is https and not on loopback. bankql does not use `HTTPS_PROXY`',
    ),
    BANK_KEEP_ALIVE: variable(
      flag(true),
      'keep connections for reads open and use them for the next read; `off` opens one for each call, for a bank that mixes up the answers on one connection ([why](../SECURITY.md#what-is-not-defended))',
    ),
    BANK_CONNECTIONS: variable(
      wholeNumber(64, 1, 10_000),
      'the maximum number of connections to the bank for reads, and the same number for writes; the workers share them',
    ),
    BANK_TIMEOUT_MS: variable(
      milliseconds(5000),
      'the deadline of a read or a write, including the connection, the body and a second attempt',
    ),
    BANK_TRANSFER_TIMEOUT_MS: variable(milliseconds(15_000), 'the deadline of a payment'),
    MAX_REST_CALLS: variable(
      wholeNumber(50, 1, 100_000),
      'the maximum number of REST calls of one query; payments do not count',
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
    IDENTITY_CLAIMS: variable(
      optional(identityClaims, '`iss sub`'),
      'the claims that become `Auth-Provider-Name` and `Auth-ID`',
    ),
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
      'accept a PostgreSQL server that may lose records, for tests: bankql may then send payments twice',
    ),
    IDEMPOTENCY_TTL_DAYS: variable(
      wholeNumber(30, 1, 3650),
      'how long bankql keeps the record of a finished payment; the same for [all processes of a store](operate.md#time-and-retention)',
    ),
    BANK_PAYMENT_STATUS: variable(
      optional(jsonPath),
      "the path of a payment's status in the bank's answer, such as `data.status`, or `.` for the whole answer. The value there then decides ([how](operate.md#teach-bankql-your-bank))",
    ),
    BANK_PAYMENT_RECEIPT: variable(
      optional(jsonPath),
      'the path of the id that the bank gives to an executed payment, such as `data.id` or `0.id`; the payment is DONE if it is there',
    ),
    BANK_PAYMENT_DONE: variable(
      outcomeWords,
      'words, codes or whole texts by which the bank says that it executed a payment, separated by commas, in addition to the [known words](operate.md#the-banks-words)',
    ),
    BANK_PAYMENT_REJECTED: variable(
      outcomeWords,
      'the same for a payment that the bank did not execute and will not execute',
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
      'the number of worker processes; `auto` means one per core ([how](operate.md#all-cores))',
    ),
    METRICS_PORT: variable(
      optional(anyPort),
      'the port for Prometheus metrics, at the address of `HOST`; 0 for any free port',
    ),
    CORS_ORIGINS: variable(
      origins,
      'the origins of web pages and apps that may send requests, separated by commas: `https://app.example`, `capacitor://localhost`; no patterns',
    ),
    DRAIN_DELAY_MS: variable(
      wholeNumber(0, 0, 600_000),
      'how long `/ready` answers 503 after SIGTERM before the server stops listening',
    ),
    LOG_LEVEL: variable(
      oneOf(logLevels, 'info'),
      'the log level (`fatal`, `error`, `warn`, `info`, `debug`, `trace`, `silent`); audit lines of payments are always written',
    ),
    OTEL_EXPORTER_OTLP_ENDPOINT: variable(
      optional(collectorAddress, 'none: no traces'),
      'the address of the collector, which must accept OTLP over HTTP in JSON at `/v1/traces` (usually on port 4318). OpenTelemetry reads the other `OTEL_…` itself ([which](observability.md#traces))',
    ),
    EXPLORE: variable(
      optional(anyFlag, 'on with the sandbox, else off'),
      'for people who explore: GraphiQL, introspection, and the REST calls of a query (`x-bankql-explain`) ([how](clients.md#see-the-rest-calls)). With `PERSISTED_ONLY` there is no GraphiQL',
    ),
    NODE_ENV: variable(
      optional(anyText),
      '`production`, as the image and the unit set it: the sandbox bank does not start',
    ),
    SANDBOX_PORT: variable(port(4010), "the sandbox bank's port; 0 for any free port"),
  },
} as const satisfies Record<string, Record<string, Variable>>;

/** Every variable that the process reads. The documentation, `--help` and `.env.example` are made of it. */
export const variables = {
  ...sections['The bank'],
  ...sections['Who calls'],
  ...sections.Payments,
  ...sections['The server'],
} as const;

export type VariableName = keyof typeof variables;

export const variableNames = Object.keys(variables) as VariableName[];

/** OpenTelemetry reads it; bankql lets a file hold it, because it may contain a key. */
const foreignSecrets = ['OTEL_EXPORTER_OTLP_HEADERS'];

/** Variables that hold a secret; a file may hold it instead (environment.ts). */
export const secretVariables: readonly string[] = [
  ...variableNames.filter((name) => {
    const { isSecret = false }: Variable = variables[name];
    return isSecret;
  }),
  ...foreignSecrets,
];

export type Values = {
  readonly [Name in VariableName]: (typeof variables)[Name] extends Variable<infer T> ? T : never;
};
