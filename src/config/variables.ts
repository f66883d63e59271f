import { z } from 'zod';
import { logLevels } from '../telemetry/log.ts';
import {
  anyFlag,
  anyPort,
  anyText,
  bankAddress,
  collectorAddress,
  flag,
  flagOrLog,
  gatewayTexts,
  hostName,
  id,
  identityClaims,
  jsonPath,
  jsonPaths,
  keysAddress,
  line,
  milliseconds,
  nodeEnv,
  oneOf,
  origins,
  outcomeWords,
  port,
  proxyAddress,
  rateLimit,
  scopeWord,
  storeAddress,
  subscriptionKey,
  toolsAddress,
  viewerTemplate,
  wholeNumber,
  workerCount,
} from './formats.ts';

declare module 'zod' {
  interface GlobalMeta {
    /** The default of an optional variable in words, for the documentation (without it: `none`). */
    unset?: string;
  }
}

/**
 * The variables by subject: the sections of the documentation, in its order. A description is Markdown in one line.
 */
export const sections = {
  'The bank': {
    BANK_BASE_URL: bankAddress.meta({
      unset: 'none: the sandbox bank',
      description: "the bank's address, without the `/v1/api` of the specification's paths",
    }),
    BANK_ALLOW_HTTP: flag(false).describe(
      'accept plain http to a bank that is not on loopback, in a network that you trust',
    ),
    BANK_ID: id.meta({
      unset: 'none; `SNDBCY2N` with the sandbox',
      description: 'the default id of the bank in queries',
    }),
    BANK_DEFAULT_VIEW: id.meta({
      unset: '`owner`',
      description: 'the default view in queries',
    }),
    BANK_ALL_PRODUCTS_ID: id.meta({
      unset: 'none; `SNDBCY2N` with the sandbox',
      description:
        'the id for which postProducts returns all products of the bank; used by queries of `products` without `filter`',
    }),
    BANK_ACCOUNT_SCOPE: id.meta({
      unset: '`views`',
      description: 'the last segment of the path that reads a single account, such as `account`',
    }),
    BANK_TLS_CERT: anyText.describe(
      'a PEM file with the client certificate for the bank and its chain. bankql reads this file and the next two at the start, on SIGHUP and when they change',
    ),
    BANK_TLS_KEY: anyText.describe(
      'a PEM file with the private key of `BANK_TLS_CERT`, without a passphrase',
    ),
    BANK_TLS_CA: anyText.meta({
      unset: "none: Node's",
      description:
        "a PEM file with the trusted authorities for the bank's certificate; it replaces Node's list",
    }),
    BANK_PROXY: proxyAddress.describe(
      'the proxy to the bank, such as `http://user:password@proxy.example:3128`, and to an https `IDENTITY_JWKS_URL` outside of loopback. bankql does not use `HTTPS_PROXY`',
    ),
    BANK_KEEP_ALIVE: flag(true).describe(
      'use a connection for several reads; `off` opens a new one for each, for a bank that mixes up the answers on one connection ([why](../SECURITY.md#what-is-not-defended))',
    ),
    BANK_CONNECTIONS: wholeNumber(64, 1, 10_000).describe(
      'the maximum number of connections to the bank: this number for reads and this number for writes; the workers share them',
    ),
    BANK_TIMEOUT_MS: milliseconds(5000).describe(
      'the deadline of a read or a write, including the connection, the body and a second attempt',
    ),
    BANK_TRANSFER_TIMEOUT_MS: milliseconds(15_000).describe('the deadline of a payment'),
    MAX_REST_CALLS: wholeNumber(50, 1, 100_000).describe(
      'the maximum number of REST calls of one query; payments do not count',
    ),
  },
  'Who calls': {
    BANK_SUBSCRIPTION_KEY: subscriptionKey.describe("the operator's subscription key, used for every caller"),
    IDENTITY: oneOf(['headers', 'jwt'])
      .optional()
      .describe(
        'how callers are identified: `jwt`, by a verified bearer token ([how](operate.md#identity)); `headers`, by a trusted proxy that sets the auth headers. Required with `BANK_SUBSCRIPTION_KEY` unless `HOST` is loopback',
      ),
    IDENTITY_JWKS_URL: keysAddress.meta({
      unset: 'none; required with `jwt`',
      description: "the address of the issuer's public keys; it must be https unless it is on loopback",
    }),
    IDENTITY_ISSUER: line.meta({
      unset: 'none; required with `jwt`',
      description: 'the `iss` that a token must have',
    }),
    IDENTITY_AUDIENCE: line.meta({
      unset: 'none; required with `jwt`',
      description: 'the `aud` that a token must have',
    }),
    IDENTITY_CLAIMS: identityClaims.meta({
      unset: '`iss sub`',
      description: 'the claims that become `Auth-Provider-Name` and `Auth-ID`',
    }),
    IDENTITY_PAYMENT_SCOPE: scopeWord.meta({
      unset: 'none: each token may pay',
      description:
        "the word that a token's `scope` or `scp` must have for payments, such as `payments` ([how](operate.md#identity)); only with `jwt`",
    }),
    VIEWER_CUSTOMER_ID: viewerTemplate.meta({
      unset: 'none; `{auth-id}` with the sandbox',
      description:
        'the customer id of `viewer`. bankql replaces `{auth-id}` and `{provider}` with the credentials and, with `IDENTITY=jwt`, `{claim:name}` by a claim of the token ([how](operate.md#who-is-logged-in))',
    }),
    VIEWER_ACCOUNT_ID: viewerTemplate.meta({
      unset: 'none; `{auth-id}-current` with the sandbox',
      description: 'the id of the default account of `viewer`, in the form of `VIEWER_CUSTOMER_ID`',
    }),
    RATE_LIMIT: rateLimit.describe(
      'the limit on REST calls for each caller in each replica: `300/60` is 300 calls in 60 seconds ([how](operate.md#rate-limits))',
    ),
    PERSISTED_DOCUMENTS: anyText.describe(
      'a manifest of documents, which clients may send by their ids, or a folder with a manifest for each version of an app ([how](operate.md#persisted-documents))',
    ),
    PERSISTED_ONLY: flagOrLog.describe(
      'accept only documents of the manifests; `log` accepts others too, and names them in the log',
    ),
    MCP_DOCUMENTS: anyText.describe(
      'a folder with the tools for agents, in `.graphql` files ([how](agents.md))',
    ),
    MCP_URL: toolsAddress.describe("the public address of `/mcp`, and the `aud` of agents' tokens"),
  },
  Payments: {
    STATE_URL: storeAddress.meta({
      unset:
        '`memory:` with the sandbox; `sqlite:.bankql/state.db` with a bank on loopback, but not in production; else required',
      description:
        'the store of payment records: `sqlite:PATH`, `postgres://…` or `memory:` ([which](operate.md#payment-stores))',
    }),
    STATE_ALLOW_VOLATILE: flag(false).describe(
      'accept a PostgreSQL server that may lose records. Only for tests, because bankql may then send payments twice',
    ),
    IDEMPOTENCY_TTL_DAYS: wholeNumber(30, 1, 3650).describe(
      'how long bankql keeps the record of a finished payment; the same for [all processes of a store](operate.md#time-and-retention)',
    ),
    BANK_PAYMENT_STATUS: jsonPath.describe(
      "the path of a payment's status in the bank's answer, such as `data.status`, or `.` for the whole answer. The outcome of a payment then depends on the value at this path ([how](operate.md#teach-bankql-your-bank))",
    ),
    BANK_PAYMENT_RECEIPT: jsonPath.describe(
      'the path of the id that the bank gives to an executed payment, such as `data.id` or `0.id`; the payment is DONE if the answer contains this id, and bankql understands every other member',
    ),
    BANK_PAYMENT_NEUTRAL: jsonPaths.describe(
      'paths of members that say nothing about the outcome, separated by commas, such as `data.fee,meta`: bankql does not read these members and their contents',
    ),
    BANK_PAYMENT_DONE: outcomeWords.describe(
      'words, codes or whole texts by which the bank says that it executed a payment, separated by commas, in addition to the [known words](operate.md#the-banks-words)',
    ),
    BANK_PAYMENT_REJECTED: outcomeWords.describe(
      'words, codes or whole texts by which the bank says that it did not and will not execute a payment, separated by commas',
    ),
    BANK_PAYMENT_NOT_SENT: gatewayTexts.describe(
      'whole texts with which a gateway refuses a payment before it is read; vertical bars separate them, and `#` stands for digits. After a 401, 403 or 429 with such a text, the key is free again ([how](operate.md#gateways))',
    ),
  },
  'The server': {
    HOST: hostName.describe('the address to listen on, or a host name of this machine'),
    PORT: port(4000).describe('the port to listen on; 0 for any free port'),
    WORKERS: workerCount.describe(
      'the number of worker processes; `auto` means one per core ([how](operate.md#all-cores))',
    ),
    METRICS_PORT: anyPort
      .optional()
      .describe('the port for Prometheus metrics, at the address of `HOST`; 0 for any free port'),
    CORS_ORIGINS: origins.describe(
      'the origins of web pages and apps that may send requests, separated by commas: `https://app.example`, `capacitor://localhost`; no patterns',
    ),
    DRAIN_DELAY_MS: wholeNumber(0, 0, 600_000).describe(
      'how long `/ready` answers 503 after SIGTERM before the server stops listening',
    ),
    LOG_LEVEL: oneOf(logLevels)
      .default('info')
      .describe(
        'the log level (`fatal`, `error`, `warn`, `info`, `debug`, `trace`, `silent`); audit lines of payments are always written',
      ),
    OTEL_EXPORTER_OTLP_ENDPOINT: collectorAddress.meta({
      unset: 'none: no traces',
      description:
        'the address of the collector, which must accept OTLP over HTTP in JSON at `/v1/traces` (usually on port 4318). OpenTelemetry itself reads the other `OTEL_…` variables ([which](observability.md#traces))',
    }),
    EXPLORE: anyFlag.optional().meta({
      unset: 'on with the sandbox, else off',
      description:
        'serve GraphiQL and introspection, and list the REST calls of a query if a request asks for it (`x-bankql-explain`) ([how](clients.md#see-the-rest-calls)). With `PERSISTED_ONLY=on` there is no GraphiQL',
    }),
    NODE_ENV: nodeEnv.describe(
      'with `production`, bankql starts only with `BANK_BASE_URL` and `STATE_URL`; the image and the systemd unit set it',
    ),
    SANDBOX_PORT: port(4010).describe("the sandbox bank's port; 0 for any free port"),
  },
} as const satisfies Record<string, Record<string, z.ZodType>>;

/** Every variable that the process reads. The documentation, `--help` and `.env.example` are generated from this table. */
export const variables = {
  ...sections['The bank'],
  ...sections['Who calls'],
  ...sections.Payments,
  ...sections['The server'],
} as const;

export type VariableName = keyof typeof variables;

export const variableNames = Object.keys(variables) as VariableName[];

export const isVariable = (name: string): name is VariableName => Object.hasOwn(variables, name);

/**
 * Secrets. Each secret may be in a file; the variable with the ending `_FILE` names the file. The last one is a variable of
 * OpenTelemetry.
 */
export const secretVariables: readonly string[] = [
  'BANK_SUBSCRIPTION_KEY',
  'STATE_URL',
  'OTEL_EXPORTER_OTLP_HEADERS',
];
export const fileEnding = '_FILE';

/** Converts texts to typed values: each variable's format makes its value. */
export const valuesOf = z.object(variables);

export type Values = Readonly<z.infer<typeof valuesOf>>;
