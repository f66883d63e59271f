import type { GraphQLSchema } from 'graphql';
import { pino } from 'pino';
import type { Registry } from 'prom-client';
import { createBankClient } from '../bank/client.ts';
import { type CliContext, type Service, takeAll } from '../commands/command.ts';
import { type Config, readConfig } from '../config/config.ts';
import { stopStart } from '../errors.ts';
import { DocumentCacheStats } from '../graphql/documents.ts';
import { loadPersistedDocuments } from '../graphql/persisted-documents.ts';
import { authenticateByHeaders } from '../http/auth/header-credentials.ts';
import { currentRequestId } from '../http/request-scope.ts';
import { type RunningServer, type ServerCloseOptions, type ServerOptions, serve } from '../http/server.ts';
import { type Limits, limits } from '../load/limits.ts';
import { limitBank } from '../load/rate-limits.ts';
import { createPaymentService } from '../payments/service.ts';
import { observeStore } from '../payments/store/observed-store.ts';
import { openStore } from '../payments/store/open-store.ts';
import type { AttemptOutcome } from '../payments/store/store.ts';
import { parseStoreUrl, passwordsOf } from '../payments/store/store-address.ts';
import { schema } from '../schema/schema.ts';
import { logOptions } from '../telemetry/log.ts';
import { createTelemetry, watchPools } from '../telemetry/metrics.ts';
import { serveMetrics } from '../telemetry/metrics-server.ts';
import {
  createCallerHashes,
  createGraphQLMetrics,
  createOperationObserver,
} from '../telemetry/operation-observer.ts';
import { alice, bearer, createAnnouncements, describeState } from './announcements.ts';
import { daysLeft, readBankTls, warnOfExpiry, watchBankTls } from './bank-tls.ts';
import { openLogOutput } from './log-output.ts';
import { createReload } from './reload.ts';
import type { ServiceStart } from './workers/messages.ts';

/** Options of src/index.ts, which other programs use to start bankql. */
export interface Embedding extends Pick<ServerOptions, 'isMounted' | 'plugins'> {
  /** Limits that replace the fixed ones, for tests. */
  readonly limits?: Partial<Limits>;
}

export interface BankqlService extends Service, ServiceStart, Pick<RunningServer, 'fetch' | 'node'> {
  readonly registry: Registry;
  stop(options?: ServerCloseOptions): Promise<0 | 1>;
}

/** Options of a worker, which shares its port with others. */
interface WorkerOptions {
  /** Whether it is one. Its primary announces the workers, serves their metrics, and counts their REST calls. */
  readonly isWorker?: boolean;
  /** Gives up a start that does not listen yet. */
  readonly signal?: AbortSignal;
}

/**
 * `bankql`: serves GraphQL, over the configured bank or the embedded sandbox bank.
 * Errors: StartError; those of `listen`, such as EADDRINUSE; the signal's reason.
 */
export async function serveBankql(
  { environment, write, isTerminal, replica, onExit }: CliContext,
  { isWorker = false, signal, limits: ownLimits, ...embedding }: Embedding & WorkerOptions = {},
): Promise<BankqlService> {
  const config = readConfig(environment, { ...limits, ...ownLimits });
  const secrets = operatorsSecrets(config);
  const maxLength = config.limits.unwrittenLogBytes;
  let droppedLines = 0;
  const onDropped = () => void droppedLines++;
  const output = openLogOutput(1, false, { maxLength, onDropped });
  onExit(output.end);
  const logger = pino(logOptions(config.logLevel, secrets), output.stream);
  // The lines of payments are written at every log level, and synchronously: a line that waits in memory is lost if the process
  // is killed.
  const auditOutput = openLogOutput(1, true, { maxLength, onDropped });
  onExit(auditOutput.end);
  const lastingLogger = pino(logOptions('info', secrets), auditOutput.stream);
  const audit = lastingLogger.child({ audit: 'payment' });
  const isAnnounced = !isWorker && embedding.isMounted !== true;
  const announcements = isAnnounced
    ? createAnnouncements({ isTerminal, write, logger: lastingLogger })
    : null;
  const telemetry = createTelemetry(logger, audit, {
    areMetricsRead: config.metrics !== null,
    droppedLines: () => droppedLines,
  });
  const persisted = await readPersisted(config, schema);
  const sandbox =
    config.bank === null ? await (await import('../sandbox/server.ts')).startSandbox(config.sandbox) : null;
  const baseUrl = config.bank?.baseUrl ?? sandbox?.url ?? '';
  const { tracing: traced, rateLimit, bankTls, identity } = config;
  const tracing = traced && (await import('../telemetry/tracing.ts')).startTracing(traced, baseUrl, logger);
  const rateLimiter =
    rateLimit &&
    (await import('../load/rate-limiter.ts')).createRateLimiter(rateLimit, {
      isWorker,
      onRefusal: telemetry.onRateRefusal,
    });
  let tls = bankTls && (await readBankTls(bankTls));
  if (tls !== null) warnOfExpiry(tls, logger, Date.now());
  telemetry.watchCertificates(() =>
    Array.from(tls?.expiries ?? [], ([file, expiry]) => [file, daysLeft(expiry, Date.now())] as const),
  );
  const client = createBankClient({
    ...telemetry,
    ...config.bankLimits,
    network: { ...config.bankLimits.network, secureContext: tls?.secureContext },
    baseUrl,
    traceCall: tracing?.traceCall,
  });
  const bank = limitBank(client, rateLimiter);
  const isInMemory = parseStoreUrl(config.state.url).kind === 'memory';
  if (config.bank !== null && isInMemory)
    logger.warn(
      'STATE_URL=memory: forgets payments at a restart: one that is asked for again is then sent again',
    );
  const hasOtherProxy = Boolean(environment.HTTPS_PROXY || environment.https_proxy);
  if (hasOtherProxy && baseUrl.startsWith('https:') && !config.bankLimits.network?.proxyUrl)
    logger.warn('HTTPS_PROXY: bankql does not use it, and reaches the bank directly');
  const opened = await openStore(config.state.url, {
    ...config.state,
    onEvent: telemetry.onStoreEvent,
  }).catch(stopStart());
  let isStopping = false;
  const store = observeStore(opened, {
    ...telemetry,
    onStoreAway(reason) {
      // While the process stops, it closes the store itself.
      if (!isStopping) telemetry.onStoreAway(reason);
    },
  });
  const payments = createPaymentService({
    bank,
    store,
    admit: rateLimiter?.take,
    sendTimeoutMs: config.bankLimits.paymentTimeoutMs,
    audit(entry) {
      telemetry.onPayment(entry);
      auditOutput.check();
    },
    requestId: currentRequestId,
    replica,
    bankWords: config.paymentWords,
    onUnknownAnswer: telemetry.onUnknownAnswer,
    onFailure: telemetry.onPaymentFailure,
  });
  telemetry.watchStore(store);
  const stateLine = describeState(await store.recentCounts(), store.loss, Date.now(), isInMemory);
  const documentStats = new DocumentCacheStats();
  const metrics =
    config.metrics &&
    createGraphQLMetrics({
      registry: telemetry.registry,
      documents: documentStats,
      inFlight: () => server.held.requests,
    });
  watchPools(telemetry.registry, bank.poolUsage);
  const byToken =
    identity &&
    (await import('../http/auth/jwt.ts')).authenticateByToken(identity, logger, telemetry.onTokenRefusal);
  const headers = identity === null ? sandbox && alice : bearer;
  const metricsServer =
    isWorker || config.metrics === null ? null : await serveMetrics(telemetry.registry, config.metrics);
  signal?.throwIfAborted();
  // The last step that waits: as soon as the server listens, it has requests, and SIGTERM has to let them end.
  const server = await serve({
    ...telemetry,
    ...config.server,
    ...embedding,
    bank,
    payments,
    rateLimiter,
    persisted,
    authenticate: byToken ?? authenticateByHeaders(config.subscriptionKey, config.areHeadersProven),
    schema,
    explains: config.explains,
    graphiql: config.graphiql ? { headers, areTestHeaders: headers === alice } : undefined,
    logger,
    documentStats,
    observer: createOperationObserver({
      logger,
      metrics,
      tracing,
      callerHash: createCallerHashes(() => store.secret),
    }),
  });
  telemetry.watchHeld(
    (resource) => (resource === 'connections' ? bank.held() : server.held[resource]),
    config.server.capacity.totals,
  );
  const reloadTls =
    bankTls &&
    (async () => {
      tls = await readBankTls(bankTls);
      bank.useTls(tls.secureContext);
      warnOfExpiry(tls, logger, Date.now());
    });
  const unwatchTls = reloadTls && watchBankTls(bankTls, reloadTls, logger);
  announcements?.started({
    url: server.url,
    metricsUrl: metricsServer?.url ?? null,
    sandboxUrl: sandbox?.url ?? null,
    bankUrl: baseUrl,
    stateLine,
    config,
  });
  return {
    url: server.url,
    fetch: server.fetch,
    node: server.node,
    stateLine,
    registry: telemetry.registry,
    reload: createReload(logger, {
      'persisted documents':
        config.persisted && (async () => server.replaceDocuments(await readPersisted(config, schema))),
      'token keys':
        byToken &&
        (async () => {
          if (!(await byToken.reloadKeys())) throw new Error('the keys cannot be fetched');
        }),
      'bank certificates': reloadTls,
    }),
    async replaceWorkers() {
      logger.warn('SIGUSR2: nothing is replaced, because there are no workers');
    },
    async stop(options) {
      isStopping = true;
      announcements?.stopping();
      await takeAll([
        () => server.close(options),
        () => metricsServer?.close(),
        () => unwatchTls?.(),
        // A payment continues after its client has disconnected.
        () => payments.idle(),
        () => bank.close(),
        () => store.close(),
        // A write that was under way may have succeeded until then.
        () => {
          for (const lost of store.unconfirmed())
            lastingLogger.error(lostOutcome(lost), 'the payment store lacks an outcome');
        },
        () => sandbox?.close(),
        () => tracing?.shutdown(),
      ]);
      announcements?.stopped();
      return store.unconfirmed().length === 0 ? 0 : 1;
    },
  };
}

/** What a log line says of an outcome that only this process knew. NOT_SENT: the bank executed nothing. */
function lostOutcome({ id, trackId, outcome }: AttemptOutcome) {
  const { state = 'NOT_SENT', code, status } = outcome ?? {};
  return { payment: id, trackId, state, code, status };
}

/** The documents of the manifest; null if there is no manifest. Errors: StartError. */
export async function readPersisted(
  { persisted, server: { documentLimits, introspection } }: Config,
  served: GraphQLSchema,
) {
  if (persisted === null) return null;
  const rules = { schema: served, documentLimits, introspection };
  return { documents: await loadPersistedDocuments(persisted.file, rules), only: persisted.only };
}

/** The operator's secrets, which the text of an error may contain. */
function operatorsSecrets(config: Config): string[] {
  const { subscriptionKey, state, tracing, bankLimits, identity } = config;
  const passwords: (string | undefined)[] = [...passwordsOf(state.url)];
  for (const url of [bankLimits.network?.proxyUrl, identity?.jwksProxyUrl]) {
    const password = URL.parse(url ?? '')?.password;
    if (password) passwords.push(password, decodeURIComponent(password));
  }
  const headers = tracing?.openTelemetry.OTEL_EXPORTER_OTLP_HEADERS?.split(',') ?? [];
  const keys = headers.map((pair) => pair.slice(pair.indexOf('=') + 1).trim()).filter(Boolean);
  return [subscriptionKey, ...passwords, ...keys].filter((secret) => typeof secret === 'string');
}
