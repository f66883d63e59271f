import type { BankOptions } from '../bank/client.ts';
import { GatewayAnswers } from '../bank/gateway-answers.ts';
import { type JwtOptions, jwtAlgorithms } from '../http/auth/jwt-options.ts';
import { isLoopback } from '../http/loopback.ts';
import type { ServerOptions } from '../http/server.ts';
import { limits as fixedLimits, type Limits } from '../load/fixed-limits.ts';
import { bankWordsOf } from '../payments/answer/payment-words.ts';
import { bankId as sandboxBankId } from '../sandbox/identity.ts';
import { claimsOf, type ViewerTemplates } from '../schema/viewer-template.ts';
import type { TracingOptions } from '../telemetry/tracing.ts';
import { contradictions, stateUrlOf } from './contradictions.ts';
import { ConfigError, type Environment, readVariables, unknownVariables } from './environment.ts';
import type { Values } from './variables.ts';

/** The configuration of a bankql process, read once from the environment. */
export type Config = ReturnType<typeof configOf>;

const day = 24 * 60 * 60 * 1000;

/**
 * Reads the environment. An empty variable counts as unset. `limits`: the fixed limits, or those of a test.
 * Errors: ConfigError, which names every invalid value.
 */
export function readConfig(environment: Environment, limits: Limits = fixedLimits): Config {
  const { values, problems } = readVariables(environment);
  const isBad = new Set(problems.map(({ variable }) => variable));
  const all = [
    ...problems,
    // Contradictions that follow from an unusable value are not reported.
    ...contradictions(environment, values).filter(
      ({ involved }) => !involved.some((name) => isBad.has(name)),
    ),
    ...unknownVariables(environment),
  ];
  if (all.length > 0) throw new ConfigError(all);
  return configOf(values, limits, environment);
}

function configOf(values: Values, limits: Limits, environment: Environment) {
  const bank = values.BANK_BASE_URL === undefined ? null : { baseUrl: values.BANK_BASE_URL };
  const persisted =
    values.PERSISTED_DOCUMENTS === undefined
      ? null
      : { path: values.PERSISTED_DOCUMENTS, only: values.PERSISTED_ONLY };
  const sandboxId = bank === null ? sandboxBankId : null;
  const { WORKERS: workers } = values;
  const shareOf = (total: number) => Math.ceil(total / workers);
  const explores = values.EXPLORE ?? bank === null;
  return {
    /** The number of processes that serve. They share the limits between them. */
    workers,
    /** Null means the embedded sandbox bank. */
    bank,
    bankTls: bankTlsOf(values),
    bankLimits: {
      gateways: new GatewayAnswers({
        notSent: values.BANK_PAYMENT_NOT_SENT,
        hasOperatorKey: values.BANK_SUBSCRIPTION_KEY !== undefined,
      }),
      network: { proxyUrl: bank === null ? null : (values.BANK_PROXY ?? null) },
      timeoutMs: values.BANK_TIMEOUT_MS,
      paymentTimeoutMs: values.BANK_TRANSFER_TIMEOUT_MS,
      connections: shareOf(values.BANK_CONNECTIONS),
      waitingCalls: limits.waitingCalls,
      keepAlive: values.BANK_KEEP_ALIVE,
      breakerThreshold: limits.breakerShare,
      publicCacheTtlMs: limits.publicCacheMs,
      maxBodyBytes: limits.bankAnswerBytes,
      publicCacheBytes: limits.publicCacheBytes,
      arrivingBytes: limits.arrivingBankBytes,
    } satisfies Partial<BankOptions>,
    /** The options of the server that come from variables. */
    server: {
      host: values.HOST,
      port: values.PORT,
      http: {
        corsOrigins: values.CORS_ORIGINS,
        onlyLocalNames: values.BANK_SUBSCRIPTION_KEY !== undefined && values.IDENTITY === undefined,
      },
      publicMaxAgeSeconds: Math.floor(limits.publicCacheMs / 1000),
      maxRequestBytes: limits.requestBytes,
      documentCacheBytes: limits.documentBytes,
      documentLimits: {
        tokens: limits.queryTokens,
        depth: limits.queryDepth,
        aliases: limits.queryAliases,
        rootFields: limits.queryRootFields,
        directives: limits.queryDirectives,
        fields: limits.queryFields,
      },
      answerLimits: { values: limits.answerValues, bytes: limits.answerBytes },
      limits: {
        timeoutMs: Math.max(limits.operationMs, values.BANK_TIMEOUT_MS, values.BANK_TRANSFER_TIMEOUT_MS),
        restCalls: values.MAX_REST_CALLS,
      },
      capacity: {
        totals: {
          requests: shareOf(limits.requests),
          arriving: limits.arrivingBytes,
          values: limits.builtValues,
          unread: shareOf(limits.unreadBytes),
          sockets: limits.sockets,
          connections: shareOf(values.BANK_CONNECTIONS),
        },
        requestsPerCaller: limits.requestsPerCaller,
      },
      writeDeadlineMs: limits.unreadMs,
      isBehindProxy: values.IDENTITY === 'headers',
      drainDelayMs: values.DRAIN_DELAY_MS,
      introspection: explores,
      defaults: {
        bankId: values.BANK_ID ?? sandboxId,
        viewId: values.BANK_DEFAULT_VIEW ?? 'owner',
        allProductsId: values.BANK_ALL_PRODUCTS_ID ?? sandboxId,
        accountScope: values.BANK_ACCOUNT_SCOPE ?? 'views',
        viewer: viewerOf(values),
      },
    } satisfies Partial<ServerOptions>,
    /** The operator's subscription key, used for every caller; null if callers bring their own. */
    subscriptionKey: values.BANK_SUBSCRIPTION_KEY ?? null,
    areHeadersProven: values.IDENTITY === 'headers',
    limits,
    /** Null means that no metrics are served. */
    metrics: values.METRICS_PORT === undefined ? null : { host: values.HOST, port: values.METRICS_PORT },
    /** Null: no traces. */
    tracing: tracingOf(values, environment),
    /** The issuer whose tokens identify callers; null if headers identify them. */
    identity: identityOf(values),
    /** The permitted number of REST calls of each caller; null for no limit. */
    rateLimit: values.RATE_LIMIT ?? null,
    /** The manifests of documents that requests name by id; null for none. */
    persisted,
    /** The folder of tools for agents; null for none. */
    tools:
      values.MCP_DOCUMENTS === undefined
        ? null
        : { folder: values.MCP_DOCUMENTS, url: values.MCP_URL ?? null },
    // There is no GraphiQL with `only`, because it sends documents as texts.
    graphiql: explores && persisted?.only !== true,
    /** Whether a request may ask for a list of its REST calls. */
    explains: explores,
    logLevel: values.LOG_LEVEL,
    /** The bank's words for the outcomes of payments. */
    paymentWords: bankWordsOf(values.BANK_PAYMENT_DONE, values.BANK_PAYMENT_REJECTED, {
      statusPath: values.BANK_PAYMENT_STATUS,
      receiptPath: values.BANK_PAYMENT_RECEIPT,
      neutralPaths: values.BANK_PAYMENT_NEUTRAL,
    }),
    state: {
      // The default is never used: if stateUrlOf returns null, contradictions() has reported it.
      url: stateUrlOf(values) ?? 'memory:',
      retentionMs: values.IDEMPOTENCY_TTL_DAYS * day,
      allowVolatile: values.STATE_ALLOW_VOLATILE,
      /**
       * Whether the start creates a missing store. It does not create one that STATE_URL names, because that
       * store may have been lost.
       */
      create: values.STATE_URL === undefined,
    },
    sandbox: { port: values.SANDBOX_PORT },
  };
}

/** The files of certificates for the bank; null if no certificates are configured. */
function bankTlsOf(values: Values) {
  const { BANK_TLS_CERT: cert, BANK_TLS_KEY: key, BANK_TLS_CA: ca } = values;
  if (cert === undefined && key === undefined && ca === undefined) return null;
  return { cert, key, ca };
}

/** The templates of `viewer`. In the sandbox, each login is the id of a customer, who has a current account. */
function viewerOf(values: Values): ViewerTemplates {
  const isSandbox = values.BANK_BASE_URL === undefined;
  return {
    customerId: values.VIEWER_CUSTOMER_ID ?? (isSandbox ? '{auth-id}' : null),
    accountId: values.VIEWER_ACCOUNT_ID ?? (isSandbox ? '{auth-id}-current' : null),
  };
}

/** The destination of traces; null if there is no collector, or if OpenTelemetry's own variables switch traces off. */
function tracingOf({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }: Values, environment: Environment) {
  const isOff =
    environment.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true' ||
    environment.OTEL_TRACES_EXPORTER?.trim().toLowerCase() === 'none';
  if (endpoint === undefined || isOff) return null;
  const others = Object.entries(environment).filter(([name]) => name.startsWith('OTEL_'));
  return { endpoint, openTelemetry: Object.fromEntries(others) } satisfies TracingOptions;
}

/** The issuer of tokens; null if tokens do not identify callers. contradictions() has reported missing variables. */
function identityOf(values: Values): JwtOptions | null {
  const { BANK_SUBSCRIPTION_KEY: subscriptionKey, IDENTITY_JWKS_URL: jwksUrl } = values;
  const { IDENTITY_ISSUER: issuer, IDENTITY_AUDIENCE: audience } = values;
  if (values.IDENTITY !== 'jwt' || !subscriptionKey || !jwksUrl || !issuer || !audience) return null;
  const isRemote = URL.parse(jwksUrl)?.protocol === 'https:' && !isLoopback(new URL(jwksUrl).hostname);
  const [providerClaim, authIdClaim] = values.IDENTITY_CLAIMS ?? ['iss', 'sub'];
  return {
    subscriptionKey,
    jwksUrl,
    jwksProxyUrl: isRemote ? (values.BANK_PROXY ?? null) : null,
    issuer,
    audience,
    algorithms: jwtAlgorithms,
    providerClaim,
    authIdClaim,
    refusedAudience: values.MCP_URL ?? null,
    paymentScope: values.IDENTITY_PAYMENT_SCOPE ?? null,
    claims: Object.values(viewerOf(values)).flatMap((template) =>
      template === null ? [] : claimsOf(template),
    ),
  };
}
