import type { GraphQLSchema } from 'graphql';
import { pino } from 'pino';
import type { Registry } from 'prom-client';
import { type BankOptions, createBankClient } from '../bank/client.ts';
import { type CliContext, type Service, takeAll } from '../commands/command.ts';
import { type Config, readConfig } from '../config/config.ts';
import { warningsOf } from '../config/warnings.ts';
import { stopStart } from '../errors.ts';
import { DocumentCacheStats } from '../graphql/documents.ts';
import { loadPersistedDocuments } from '../graphql/persisted-documents.ts';
import { authenticateByHeaders } from '../http/auth/header-credentials.ts';
import type { Keys } from '../http/auth/jwks.ts';
import { currentRequestId } from '../http/request-scope.ts';
import { type RunningServer, type ServerCloseOptions, type ServerOptions, serve } from '../http/server.ts';
import { Callers } from '../load/callers.ts';
import { type Limits, limits } from '../load/fixed-limits.ts';
import { createPaymentService } from '../payments/service.ts';
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
interface Embedding extends Pick<ServerOptions, 'isMounted' | 'path' | 'plugins'> {
  /** Limits that replace the fixed ones, for tests. */
  readonly limits?: Partial<Limits>;
}

export interface BankqlService extends Service, ServiceStart, Pick<RunningServer, 'fetch' | 'node'> {
  readonly registry: Registry;
  stop(options?: ServerCloseOptions): Promise<0 | 1>;
}

/** Options of a worker, which shares its port with others. */
interface WorkerOptions {
  /** Whether this process is a worker. The primary announces the workers, serves their metrics, and counts their REST calls. */
  readonly isWorker?: boolean;
  /** Aborts a start that does not listen yet. */
  readonly signal?: AbortSignal;
}

/**
 * Functions that close what the start opened, in the order of the start. They run in the opposite order: at the stop, and if the
 * start fails.
 */
type Closers = ((options?: ServerCloseOptions) => unknown)[];

const closeAll = (closers: Closers, options?: ServerCloseOptions) =>
  takeAll(closers.toReversed().map((close) => () => close(options)));

/**
 * `bankql`: serves GraphQL, over the configured bank or the embedded sandbox bank. A start that fails leaves nothing behind.
 * Errors: StartError; those of `listen`, such as EADDRINUSE; the signal's reason.
 */
export async function serveBankql(
  context: CliContext,
  options: Embedding & WorkerOptions = {},
): Promise<BankqlService> {
  const closers: Closers = [];
  try {
    return await start(context, options, closers);
  } catch (error) {
    // Errors of closing are dropped, because the error that made the start fail is the one to report.
    await closeAll(closers).catch(() => {});
    throw error;
  }
}

async function start(
  context: CliContext,
  { isWorker = false, signal, limits: ownLimits, ...embedding }: Embedding & WorkerOptions,
  closers: Closers,
): Promise<BankqlService> {
  const { environment, write, isTerminal, replica } = context;
  const config = readConfig(environment, { ...limits, ...ownLimits });
  const log = openLog(config, context, closers);
  const { logger, telemetry } = log;
  const isAnnounced = !isWorker && embedding.isMounted !== true;
  const announcements = isAnnounced
    ? createAnnouncements({ isTerminal, write, logger: log.lastingLogger })
    : null;
  const persisted = await readPersisted(config, schema);
  const { bank, baseUrl, sandboxUrl, callers, tracing, reloadTls } = await openBank(
    config,
    isWorker,
    log,
    closers,
  );
  for (const warning of warningsOf(config, environment)) logger.warn(warning);
  const { store, payments, stateLine } = await openPayments(config, { bank, replica }, log, closers);
  const { identity } = config;
  const byToken =
    identity &&
    (await import('../http/auth/jwt.ts')).authenticateByToken(identity, logger, telemetry.onTokenRefusal);
  const headers = identity !== null ? bearer : sandboxUrl === null ? null : alice;
  const observed = observing(config, tracing, () => store.secret, log);
  const metricsServer =
    isWorker || config.metrics === null ? null : await serveMetrics(telemetry.registry, config.metrics);
  closers.push(() => metricsServer?.close());
  const serving = {
    ...telemetry,
    ...config.server,
    ...embedding,
    bank,
    payments,
    callers,
    persisted,
    authenticate: byToken ?? authenticateByHeaders(config.subscriptionKey, config.areHeadersProven),
    schema,
    explains: config.explains,
    graphiql: config.graphiql ? { headers, areTestHeaders: headers === alice } : undefined,
    logger,
    ...observed,
  };
  const tools =
    config.tools &&
    (await (await import('./agents.ts')).openTools(config, { serving, store, byToken, ...log }));
  signal?.throwIfAborted();
  // Nothing after this step may wait: once the server listens, it has requests, and a stop has to let them end.
  const server = await serve({ ...serving, tools: tools?.endpoint });
  closers.push((options) => server.close(options));
  telemetry.watchHeld(
    (resource) => (resource === 'connections' ? bank.held() : server.held[resource]),
    config.server.capacity.totals,
  );
  announcements?.started({
    url: server.url,
    metricsUrl: metricsServer?.url ?? null,
    sandboxUrl,
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
      'tools for agents': tools?.reload ?? null,
      'token keys': byToken && (() => reloadKeys(byToken.keys)),
      'bank certificates': reloadTls,
    }),
    async replaceWorkers() {
      logger.warn('SIGUSR2: nothing is replaced, because there are no workers');
    },
    async stop(options) {
      announcements?.stopping();
      await closeAll(closers, options);
      announcements?.stopped();
      return store.unconfirmed().length === 0 ? 0 : 1;
    },
  };
}

/** Reloads the keys that verify tokens. Errors: an Error if they cannot be fetched. */
async function reloadKeys(keys: Pick<Keys, 'reload'>): Promise<void> {
  if (!(await keys.reload())) throw new Error('the keys cannot be fetched');
}

type Log = ReturnType<typeof openLog>;

/** Opens the log, the audit log, and the metrics. */
function openLog(config: Config, { onExit }: CliContext, closers: Closers) {
  const secrets = operatorsSecrets(config);
  const maxLength = config.limits.unwrittenLogBytes;
  let droppedLines = 0;
  const onDropped = () => void droppedLines++;
  const output = openLogOutput(1, false, { maxLength, onDropped });
  const logger = pino(logOptions(config.logLevel, secrets), output.stream);
  // The lines of payments are written at every log level, and synchronously: a line that waits in memory is lost if the process
  // is killed.
  const auditOutput = openLogOutput(1, true, { maxLength, onDropped });
  const lastingLogger = pino(logOptions('info', secrets), auditOutput.stream);
  for (const { end } of [output, auditOutput]) {
    onExit(end);
    closers.push(() => end());
  }
  const telemetry = createTelemetry(logger, lastingLogger.child({ audit: 'payment' }), {
    areMetricsRead: config.metrics !== null,
    droppedLines: () => droppedLines,
  });
  return { logger, lastingLogger, auditOutput, telemetry };
}

/**
 * Creates the client of the configured bank; without one, starts a sandbox bank. Also creates the tracing and
 * the rate limit of the bank's calls.
 */
async function openBank(config: Config, isWorker: boolean, log: Log, closers: Closers) {
  const { tracing: traced, rateLimit } = config;
  const sandbox =
    config.bank === null ? await (await import('../sandbox/server.ts')).startSandbox(config.sandbox) : null;
  closers.push(() => sandbox?.close());
  const sandboxUrl = sandbox?.url ?? null;
  const baseUrl = config.bank?.baseUrl ?? sandboxUrl ?? '';
  const tracing =
    traced && (await import('../telemetry/tracing.ts')).startTracing(traced, baseUrl, log.logger);
  closers.push(() => tracing?.shutdown());
  const rateLimiter =
    rateLimit &&
    (await import('../load/rate-limit.ts')).createRateLimiter(rateLimit, {
      isWorker,
      onRefusal: log.telemetry.onRateRefusal,
    });
  const callers = new Callers();
  const calls = { baseUrl, callers, rateLimiter, traceCall: tracing?.traceCall };
  return { ...(await openClient(config, calls, log, closers)), baseUrl, sandboxUrl, callers, tracing };
}

/**
 * Creates the client of the bank. `reloadTls` reads the configured certificates again; null if no
 * certificates are configured.
 */
async function openClient(
  { bankTls, bankLimits }: Config,
  options: Pick<BankOptions, 'baseUrl' | 'callers' | 'rateLimiter' | 'traceCall'>,
  { logger, telemetry }: Log,
  closers: Closers,
) {
  let tls = bankTls && (await readBankTls(bankTls));
  if (tls !== null) warnOfExpiry(tls, logger, Date.now());
  telemetry.watchCertificates(() =>
    Array.from(tls?.expiries ?? [], ([file, expiry]) => [file, daysLeft(expiry, Date.now())] as const),
  );
  const bank = createBankClient({
    ...telemetry,
    ...bankLimits,
    network: { ...bankLimits.network, secureContext: tls?.secureContext },
    ...options,
  });
  closers.push(() => bank.close());
  watchPools(telemetry.registry, bank.poolUsage);
  if (bankTls === null) return { bank, reloadTls: null };
  const reloadTls = async () => {
    tls = await readBankTls(bankTls);
    bank.useTls(tls.secureContext);
    warnOfExpiry(tls, logger, Date.now());
  };
  closers.push(watchBankTls(bankTls, reloadTls, logger));
  return { bank, reloadTls };
}

/**
 * Opens the payments and their store. A payment continues after its client has disconnected, so the store is closed after the
 * last payment.
 */
async function openPayments(
  { state, bankLimits, limits: { storeAwayMs }, paymentWords }: Config,
  { bank, replica }: Pick<ServerOptions, 'bank'> & { readonly replica: string },
  { telemetry, auditOutput, lastingLogger }: Log,
  closers: Closers,
) {
  const observing = { observer: telemetry, onEvent: telemetry.onStoreEvent };
  const store = await openStore(state.url, { ...state, ...observing }).catch(stopStart());
  closers.push(async () => {
    await store.close();
    // Checked only after the store is closed, because a write in progress may succeed until then.
    for (const lost of store.unconfirmed())
      lastingLogger.error(lostOutcome(lost), 'the payment store lacks an outcome');
  });
  const payments = createPaymentService({
    bank,
    store,
    sendTimeoutMs: bankLimits.paymentTimeoutMs,
    storeAwayMs,
    audit(entry) {
      telemetry.onPayment(entry);
      auditOutput.check();
    },
    requestId: currentRequestId,
    replica,
    bankWords: paymentWords,
    onUnknownAnswer: telemetry.onUnknownAnswer,
    onFailure: telemetry.onPaymentFailure,
  });
  closers.push(() => payments.idle());
  telemetry.watchStore(store);
  const count = await store.count().catch(() => null);
  const isInMemory = parseStoreUrl(state.url).kind === 'memory';
  const stateLine = describeState(count, store.loss, Date.now(), isInMemory);
  return { store, payments, stateLine };
}

/** Creates the observer of operations for the log, the metrics and the traces. `secret`: the payment store's. */
function observing(
  config: Config,
  tracing: Awaited<ReturnType<typeof openBank>>['tracing'],
  secret: () => string,
  { logger, telemetry }: Log,
) {
  const documentStats = new DocumentCacheStats();
  const metrics = config.metrics && createGraphQLMetrics(telemetry.registry, documentStats, schema);
  const logsTexts = config.persisted?.only === 'log';
  const callerHash = createCallerHashes(secret);
  return {
    documentStats,
    observer: createOperationObserver({ logger, metrics, tracing, callerHash, logsTexts }),
  };
}

/** The members of the log line about an outcome that only this process knew. NOT_SENT: the bank executed nothing. */
function lostOutcome({ id, trackId, outcome }: AttemptOutcome) {
  const { state = 'NOT_SENT', code, status } = outcome ?? {};
  return { payment: id, trackId, state, code, status };
}

/** The documents of the manifests; null if no manifest is configured. Errors: StartError. */
export async function readPersisted(
  { persisted, server: { documentLimits, introspection } }: Config,
  served: GraphQLSchema,
) {
  if (persisted === null) return null;
  const rules = { schema: served, documentLimits, introspection };
  return { documents: await loadPersistedDocuments(persisted.path, rules), only: persisted.only };
}

/** The operator's secrets, which the message of an error may contain. */
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
