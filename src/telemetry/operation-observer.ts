import type { Logger } from 'pino';
import { OperationActivity, type OperationObserver } from '../server/request-scope.ts';
import type { CallerHash } from './caller-hashes.ts';
import type { GraphQLMetrics } from './graphql-metrics.ts';
import { logOperation } from './operation-log.ts';
import type { Tracing } from './tracing.ts';

export interface OperationObserverOptions {
  readonly logger: Logger;
  readonly callerHash: CallerHash;
  /** The share of successful, fast operations other than mutations that are logged; all if left out. */
  readonly sample?: number;
  /** Null where nobody can read them. */
  readonly metrics: GraphQLMetrics | null;
  /** Null where nothing is traced. */
  readonly tracing: Pick<Tracing, 'begin' | 'end'> | null;
}

/** Watches requests for whoever wants to know of them; where that is nobody, nothing is noted. */
export function createOperationObserver({
  logger,
  callerHash,
  sample = 1,
  metrics,
  tracing,
}: OperationObserverOptions): OperationObserver {
  const isLogged = () => logger.isLevelEnabled('info');
  return {
    begin(requestId, headers, method) {
      if (!isLogged() && metrics === null && tracing === null) return null;
      const activity = new OperationActivity(requestId);
      tracing?.begin(activity, headers, method);
      return activity;
    },
    end(activity) {
      activity.milliseconds = performance.now() - activity.startedAt;
      metrics?.observe(activity);
      tracing?.end(activity);
      if (isLogged() && (isNews(activity) || Math.random() < sample))
        logOperation(logger, activity, callerHash(activity.credentials));
    },
  };
}

/** From so many milliseconds on an operation is slow. */
const slowMs = 1000;

/** What LOG_SAMPLE never leaves out: errors, slow operations, and mutations, payments among them. */
const isNews = ({ outcome, codes, milliseconds, operation }: OperationActivity): boolean =>
  outcome !== 'ok' || codes.length > 0 || milliseconds >= slowMs || operation?.kind !== 'query';
