import type { BankOptions } from '../bank/client.ts';
import { type CapacityLimits, heapTotal, resources, uses } from '../capacity.ts';
import { bankWordsOf } from '../payments/payment-words.ts';
import { bankId as sandboxBankId } from '../sandbox/identity.ts';
import { claimsOf, type ViewerTemplates, validateViewerTemplate } from '../schema/viewer-template.ts';
import type { JwtOptions } from '../server/auth/jwt-options.ts';
import type { ServerOptions } from '../server/server.ts';
import type { TracingOptions } from '../telemetry/options.ts';
import { ConfigError } from './config-error.ts';
import { type Environment, misspelledVariables, readVariables } from './environment.ts';
import { memoryBounds } from './memory-bounds.ts';
import { bankProxyOf, jwksProxyOf } from './proxy.ts';
import { removedVariablesIn } from './removed-variables.ts';
import { contradictions, stateUrlOf } from './rules.ts';
import type { Values } from './variables.ts';

/** The configuration of a bankql process, read once from the environment. */
export type Config = ReturnType<typeof configOf>;

const day = 24 * 60 * 60 * 1000;

/**
 * Reads the environment. An empty variable counts as unset.
 * Errors: ConfigError, which names every value that cannot be used.
 */
export function readConfig(environment: Environment): Config {
  const { values, problems } = readVariables(environment);
  const isBad = new Set(problems.map(({ variable }) => variable));
  const all = [
    // Without traces, variables of OpenTelemetry are meant for other programs.
    ...problems.filter(({ variable }) => !variable.startsWith('OTEL_') || sendsTraces(values, isBad)),
    // A contradiction that follows from an unusable value is not a problem of its own.
    ...contradictions(values).filter(({ involved }) => !involved.some((name) => isBad.has(name))),
    ...misspelledVariables(environment),
    ...removedVariablesIn(environment),
  ];
  if (all.length > 0) throw new ConfigError(all);
  return configOf(values);
}

/** Also with an address that cannot be used: that is a problem, and no wish to send none. */
const sendsTraces = (
  { OTEL_SDK_DISABLED, OTEL_TRACES_EXPORTER, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }: Values,
  isBad: ReadonlySet<string> = new Set(),
): boolean =>
  !OTEL_SDK_DISABLED &&
  OTEL_TRACES_EXPORTER?.toLowerCase() !== 'none' &&
  (endpoint !== undefined || isBad.has('OTEL_EXPORTER_OTLP_ENDPOINT'));

function configOf(values: Values) {
  const bank = values.BANK_BASE_URL === undefined ? null : { baseUrl: values.BANK_BASE_URL };
  const persisted =
    values.PERSISTED_DOCUMENTS === undefined
      ? null
      : { file: values.PERSISTED_DOCUMENTS, only: values.PERSISTED_ONLY };
  const { WORKERS: workers } = values;
  const shareOf = (total: number) => Math.ceil(total / workers);
  return {
    /** How many processes serve. Limits of a process are its share of what all of them may take on. */
    workers,
    /** Null: the embedded sandbox bank. */
    bank,
    bankTls: bankTlsOf(values),
    bankLimits: {
      network: { proxyUrl: bankProxyOf(values) },
      timeoutMs: values.BANK_TIMEOUT_MS,
      paymentTimeoutMs: values.BANK_TRANSFER_TIMEOUT_MS,
      connections: shareOf(values.BANK_CONNECTIONS),
      keepAlive: values.BANK_KEEP_ALIVE,
      breakerThreshold: values.BANK_BREAKER_THRESHOLD,
      publicCacheTtlMs: values.PUBLIC_CACHE_TTL_MS,
      maxBodyBytes: values.BANK_MAX_BODY_BYTES,
      publicCacheBytes: memoryBounds.publicAnswers,
      arrivingBytes: memoryBounds.arrivingAnswers,
    } satisfies Partial<BankOptions>,
    /** How the server is to be started, as far as variables say it. */
    server: {
      host: values.HOST,
      port: values.PORT,
      http: {
        corsOrigins: values.CORS_ORIGINS,
        corsHeaders: values.CORS_HEADERS,
        onlyLocalNames: values.BANK_SUBSCRIPTION_KEY !== undefined && values.IDENTITY === undefined,
      },
      publicMaxAgeSeconds: Math.floor(values.PUBLIC_CACHE_TTL_MS / 1000),
      maxRequestBytes: values.LIMIT_BODY_BYTES,
      documentCacheBytes: memoryBounds.documents,
      documentLimits: {
        tokens: values.LIMIT_TOKENS,
        depth: values.LIMIT_DEPTH,
        aliases: values.LIMIT_ALIASES,
        rootFields: values.LIMIT_ROOT_FIELDS,
        directives: values.LIMIT_DIRECTIVES,
        fields: values.LIMIT_FIELDS,
      },
      answerLimits: { values: values.LIMIT_ANSWER_VALUES, bytes: values.LIMIT_ANSWER_BYTES },
      limits: { timeoutMs: values.OPERATION_TIMEOUT_MS, restCalls: values.MAX_REST_CALLS },
      capacity: {
        totals: totalsOf(values, shareOf),
        requestsPerCaller: values[uses.requests.cap],
      },
      writeDeadlineMs: values.LIMIT_UNREAD_MS,
      drainDelayMs: values.DRAIN_DELAY_MS,
      readyNeedsRoom: values.READY_NEEDS_ROOM,
      introspection: values.INTROSPECTION ?? bank === null,
      defaults: {
        bankId: values.BANK_ID ?? (bank === null ? sandboxBankId : null),
        viewId: values.BANK_DEFAULT_VIEW ?? 'owner',
        allProductsId: values.BANK_ALL_PRODUCTS_ID ?? (bank === null ? sandboxBankId : null),
        accountScope: values.BANK_ACCOUNT_SCOPE ?? 'views',
        viewer: viewerOf(values),
      },
    } satisfies Partial<ServerOptions>,
    /** The operator's subscription key, used for every caller; null if callers bring their own. */
    subscriptionKey: values.BANK_SUBSCRIPTION_KEY ?? null,
    areHeadersProven: values.IDENTITY === 'headers',
    /** What caches and logs may take of this process' memory. */
    memoryBounds,
    /** Null: no metrics are served. */
    metrics:
      values.METRICS_PORT === undefined
        ? null
        : {
            host: values.METRICS_HOST ?? values.HOST,
            port: values.METRICS_PORT,
            operationNames: values.METRICS_OPERATION_NAMES,
          },
    /** Null: no traces. */
    tracing: tracingOf(values),
    /** The issuer whose tokens identify callers; null if headers do. */
    identity: identityOf(values),
    rateLimits: rateLimitsOf(values),
    /** The manifest of documents that are asked for by their ids; null for none. */
    persisted,
    automaticPersistedQueries: values.APQ,
    // GraphiQL sends texts.
    graphiql: values.GRAPHIQL ?? (bank === null && !persisted?.only),
    /** Whether a request may ask what it costs. */
    explains: values.EXPLAIN ?? bank === null,
    logLevel: values.LOG_LEVEL,
    logSample: values.LOG_SAMPLE,
    logTime: values.LOG_TIME,
    /** A file with a level that overrides `logLevel`; null for none. See reload.ts. */
    logLevelFile: values.LOG_LEVEL_FILE ?? null,
    /** Whether /ready answers 503 while payments cannot be recorded. */
    readyNeedsState: values.READY_NEEDS_STATE,
    /** How the bank says what became of a payment. */
    paymentWords: bankWordsOf(values.BANK_PAYMENT_DONE, values.BANK_PAYMENT_REJECTED, {
      statusPath: values.BANK_PAYMENT_STATUS,
      receiptPath: values.BANK_PAYMENT_RECEIPT,
    }),
    state: {
      // If it is null, contradictions() has reported it.
      url: stateUrlOf(values) ?? 'memory:',
      retentionMs: values.IDEMPOTENCY_TTL_DAYS * day,
      allowVolatile: values.STATE_ALLOW_VOLATILE,
      /** A store that the operator names is made by `bankql payments init`, on purpose. */
      create: values.STATE_URL === undefined,
    },
    sandbox: {
      port: values.SANDBOX_PORT,
      now: values.SANDBOX_NOW,
    },
  };
}

/** The files of certificates for the bank; null if no certificates are configured. */
function bankTlsOf(values: Values) {
  const { BANK_TLS_CERT: cert, BANK_TLS_KEY: key, BANK_TLS_CA: ca } = values;
  if (cert === undefined && key === undefined && ca === undefined) return null;
  return { cert, key, ca };
}

/** The total of each resource in this process: its share of a variable's value, or a part of its own heap. */
const totalsOf = (values: Values, shareOf: (total: number) => number): CapacityLimits['totals'] =>
  Object.fromEntries(
    resources.map((resource) => {
      const { variable } = uses[resource];
      return [resource, variable === null ? heapTotal(resource) : shareOf(values[variable])];
    }),
  ) as CapacityLimits['totals'];

/** The sandbox's logins are the ids of its customers, who all have a current account. */
function viewerOf(values: Values): ViewerTemplates {
  const standard = (template: string) =>
    values.BANK_BASE_URL === undefined ? validateViewerTemplate(template) : null;
  return {
    customerId: values.VIEWER_CUSTOMER_ID ?? standard('{auth-id}'),
    accountId: values.VIEWER_ACCOUNT_ID ?? standard('{auth-id}-current'),
  };
}

function rateLimitsOf({ RATE_LIMIT, RATE_LIMIT_PER_KEY }: Values) {
  if (RATE_LIMIT === undefined && RATE_LIMIT_PER_KEY === undefined) return null;
  return { perCaller: RATE_LIMIT ?? null, perKey: RATE_LIMIT_PER_KEY ?? null };
}

function tracingOf(values: Values): TracingOptions | null {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers = {} } = values;
  if (endpoint === undefined || !sendsTraces(values)) return null;
  const { OTEL_RESOURCE_ATTRIBUTES: attributes, OTEL_SERVICE_NAME: serviceName } = values;
  return {
    endpoint,
    headers,
    attributes: {
      'service.name': 'bankql',
      ...attributes,
      ...(serviceName === undefined ? {} : { 'service.name': serviceName }),
    },
    sampler: values.OTEL_TRACES_SAMPLER,
    share: values.OTEL_TRACES_SAMPLER_ARG,
    toBank: values.BANK_TRACEPARENT,
  };
}

/** Null if tokens do not identify callers. contradictions() has reported what is missing. */
function identityOf(values: Values): JwtOptions | null {
  const { BANK_SUBSCRIPTION_KEY: subscriptionKey, IDENTITY_JWKS_URL: jwksUrl } = values;
  const { IDENTITY_ISSUER: issuer, IDENTITY_AUDIENCE: audience } = values;
  if (values.IDENTITY !== 'jwt' || !subscriptionKey || !jwksUrl || !issuer || !audience) return null;
  return {
    subscriptionKey,
    jwksUrl,
    jwksProxyUrl: jwksProxyOf(values, jwksUrl),
    issuer,
    audience,
    algorithms: values.IDENTITY_ALGORITHMS ?? ['RS256', 'ES256', 'PS256', 'EdDSA'],
    providerClaim: values.IDENTITY_PROVIDER_CLAIM ?? 'iss',
    authIdClaim: values.IDENTITY_AUTH_ID_CLAIM ?? 'sub',
    claims: Object.values(viewerOf(values)).flatMap((template) =>
      template === null ? [] : claimsOf(template),
    ),
  };
}
