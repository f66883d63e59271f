import type { IncomingHttpHeaders } from 'node:http';
import type { GraphQLSchema } from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Credentials } from '../bank/credentials.ts';
import { errorCodes, type Fault, isErrorCode } from '../errors.ts';
import { getOrMake } from '../get-or-make.ts';
import type { DocumentCacheStats } from '../graphql/documents.ts';
import { type ObservedOperation, OperationActivity } from '../graphql/operation-activity.ts';
import type { OperationObserver } from '../http/request-scope.ts';
import { hashCaller } from '../payments/caller.ts';
import { metricsIn } from './metric-kinds.ts';
import type { Tracing } from './tracing.ts';

interface OperationObserverOptions {
  readonly logger: Logger;
  readonly callerHash: CallerHash;
  /** Null if nobody can read metrics. */
  readonly metrics: ReturnType<typeof createGraphQLMetrics> | null;
  /** Null if nothing is traced. */
  readonly tracing: Pick<Tracing, 'begin' | 'end'> | null;
  /** Whether the log names the documents that PERSISTED_ONLY=on would refuse (default: false). */
  readonly logsTexts?: boolean;
}

/** Reports each request for GraphQL to the log, the metrics and the traces. It does nothing if all three are off. */
export function createOperationObserver({
  logger,
  callerHash,
  metrics,
  tracing,
  logsTexts = false,
}: OperationObserverOptions): OperationObserver {
  const logText = logsTexts ? createTextLog(logger) : null;
  return {
    begin(requestId, request) {
      if (!logger.isLevelEnabled('info') && metrics === null && tracing === null && logText === null)
        return null;
      const activity = new OperationActivity(requestId, clientOf(request.headers));
      tracing?.begin(activity, request.headers, request.method);
      return activity;
    },
    end(activity) {
      activity.milliseconds = performance.now() - activity.startedAt;
      metrics?.observe(activity);
      tracing?.end(activity);
      logText?.(activity);
      if (logger.isLevelEnabled('info')) logOperation(logger, activity, callerHash(activity.credentials));
    },
  };
}

/** The maximum length of a client's name, in characters; longer names are cut. */
const maxClientLength = 100;

/** A client's name and version from the headers of Apollo's clients or of other vendors; null without a name. */
function clientOf(headers: IncomingHttpHeaders): string | null {
  const prefix = headers['graphql-client-name'] === undefined ? 'apollographql-client-' : 'graphql-client-';
  const [name, version] = [headers[`${prefix}name`], headers[`${prefix}version`]];
  return name ? (version ? `${name}-${version}` : String(name)).slice(0, maxClientLength) : null;
}

/** The number of documents that are remembered, in order to log each once. */
const maxLoggedDocuments = 1000;

/** Used with PERSISTED_ONLY=log: logs one line for each document that was sent as a text. The line does not contain the text. */
function createTextLog(logger: Logger) {
  const logged = new LRUCache<string, true>({ max: maxLoggedDocuments });
  return ({ operation, hasText, client, app }: OperationActivity): void => {
    if (!hasText || operation === null) return;
    const { documentHash: document, name } = operation;
    if (logged.get(document) === undefined)
      logger.warn(
        { document, operation: name ?? undefined, client: client ?? undefined, app },
        'a document is sent as text: PERSISTED_ONLY=on would refuse it',
      );
    logged.set(document, true);
  };
}

/**
 * Logs one line for each request for GraphQL, at info. It contains nothing of the document's text, the variables or the answer.
 * It has the operation's name, or the document's hash if there is no name, its outcome, and its costs.
 */
function logOperation(logger: Logger, activity: OperationActivity, caller: string | null): void {
  const { requestId, traceId, operation, app, outcome, codes, reason, status } = activity;
  const { restCalls, cached, joined, stale, bytes } = activity;
  logger.info(
    {
      requestId,
      // pino leaves out members that are undefined.
      traceId: traceId ?? undefined,
      ...(operation === null ? {} : { ...nameOf(operation), app }),
      outcome,
      codes: codes.length === 0 ? undefined : [...new Set(codes)],
      reason: reason ?? undefined,
      status: status ?? undefined,
      calls: restCalls,
      cached: cached + stale,
      shared: joined,
      ms: Math.round(activity.milliseconds * 10) / 10,
      bytes,
      caller: caller ?? undefined,
    },
    'operation',
  );
}

const nameOf = ({ kind, name, documentHash }: NonNullable<OperationActivity['operation']>) =>
  name === null ? { document: documentHash, kind } : { operation: name, kind };

/** The number of cached hashes, of about 300 bytes each. Computing one takes about as long as the rest of a log line. */
const maxCallers = 10_000;

/** The hash that identifies a caller in the log; null for a caller without Auth-Provider-Name and Auth-ID. */
type CallerHash = (credentials: Credentials | null) => string | null;

/**
 * Hashes callers as the records of payments do, so that an operator can match lines of the log with `payments list`. A store in
 * memory makes a new secret at each start, so the hashes differ from one process to the next.
 */
export function createCallerHashes(secret: () => string): CallerHash {
  const hashes = new LRUCache<string, string>({ max: maxCallers });
  return (credentials) => {
    const { authProviderName = null, authId = null } = credentials ?? {};
    if (authProviderName === null || authId === null) return null;
    const used = secret();
    // Line breaks separate the texts, because no credential contains one.
    const name = `${used}\n${authProviderName}\n${authId}`;
    return getOrMake<string, string>(hashes, name, () => hashCaller(used, authProviderName, authId));
  };
}

/** The label of names and codes that are not known in advance. */
const other = 'other';

/** Creates the metrics of operations. `schema`: the schema whose deprecated fields are counted. */
export function createGraphQLMetrics(
  registry: Registry,
  documents: DocumentCacheStats,
  schema: GraphQLSchema,
) {
  const { counter, histogram, readGauge, readCounter } = metricsIn(registry);
  const labelOf = createOperationLabel();
  const appLabel = createLabel();
  const requests = counter(
    'bankql_graphql_requests_total',
    'Requests for GraphQL by how they ended, and by who is at fault for their errors: client, bank, bankql, load, or none.',
    { operation: null, kind: null, outcome: null, fault: null },
  );
  const duration = histogram(
    'bankql_graphql_duration_seconds',
    'From the head of a request for GraphQL to its answer.',
    ['operation'],
  );
  const errors = counter(
    'bankql_graphql_errors_total',
    'Errors in answers by their code; one answer may hold several.',
    { code: [...Object.keys(errorCodes), other] },
  );
  const deprecated = counter(
    'bankql_deprecated_uses_total',
    'Operations that use something deprecated, by its coordinate in the schema and by the app that asks.',
    { coordinate: null, app: null },
  );
  readCounter(
    'bankql_document_cache_total',
    'Documents that were asked for: kept ones (hit), and those that had to be parsed and checked (miss).',
    () =>
      [
        [{ result: 'hit' }, documents.hits],
        [{ result: 'miss' }, documents.misses],
      ] as const,
    ['result'],
  );
  readGauge(
    'bankql_document_cache_bytes',
    'The approximate memory of cached documents.',
    () => documents.bytes,
  );

  return {
    observe({ operation, app, outcome, codes, milliseconds }: OperationActivity): void {
      const label = labelOf(operation);
      const kind = operation?.kind ?? 'unknown';
      requests.inc({ operation: label, kind, outcome, fault: faultOf(codes) });
      duration.observe({ operation: label }, milliseconds / 1000);
      for (const coordinate of operation?.deprecatedIn(schema) ?? [])
        deprecated.inc({ coordinate, app: appLabel(app) });
      for (const code of codes) errors.inc({ code: isErrorCode(code) ? code : other });
    },
  };
}

/** Faults in order of precedence: if a client and the bank are both at fault, the request counts as the bank's. */
const faults = ['bankql', 'bank', 'load', 'client'] as const satisfies readonly Fault[];

/**
 * A code that is not bankql's comes from a plugin that refuses the request on purpose, so the fault is the client's. If a
 * plugin fails, the code is INTERNAL.
 */
const faultOf = (codes: readonly string[]): Fault | 'none' => {
  if (codes.length === 0) return 'none';
  const found = new Set(codes.map((code) => (isErrorCode(code) ? errorCodes[code].fault : 'client')));
  return faults.find((fault) => found.has(fault)) ?? 'none';
};

/** The maximum number of names. Each name is a time series, which is kept as long as the process. */
const maxNames = 200;

/** Creates a label with a maximum number of names. */
function createLabel(): (name: string) => string {
  const names = new Set<string>();
  return (name) => {
    if (!names.has(name) && names.size >= maxNames) return other;
    names.add(name);
    return name;
  };
}

/** The label of an operation in metrics: its name if the document is persisted, otherwise `other`. */
export function createOperationLabel(): (
  operation: Pick<ObservedOperation, 'name' | 'apps'> | null,
) => string {
  const label = createLabel();
  return (operation) =>
    operation === null || operation.name === null || operation.apps.length === 0
      ? other
      : label(operation.name);
}
