import type { Logger } from 'pino';
import { OperationActivity, type OperationObserver } from '../server/operation-activity.ts';
import type { CallerHash } from './caller-hashes.ts';
import type { GraphQLMetrics } from './graphql-metrics.ts';
import { logOperation } from './operation-log.ts';

export interface OperationObserverOptions {
  readonly logger: Logger;
  readonly callerHash: CallerHash;
  /** Null where nobody can read them. */
  readonly metrics: GraphQLMetrics | null;
}

/** Watches requests for whoever wants to know of them; where that is nobody, nothing is noted. */
export function createOperationObserver({
  logger,
  callerHash,
  metrics,
}: OperationObserverOptions): OperationObserver {
  const isLogged = () => logger.isLevelEnabled('info');
  return {
    begin: (requestId) => (isLogged() || metrics !== null ? new OperationActivity(requestId) : null),
    end(activity) {
      activity.milliseconds = performance.now() - activity.startedAt;
      metrics?.observe(activity);
      if (isLogged()) logOperation(logger, activity, callerHash(activity.credentials));
    },
  };
}
