import type { Logger } from 'pino';
import { OperationActivity, type OperationObserver } from '../server/operation-activity.ts';
import type { CallerHash } from './caller-hashes.ts';
import { logOperation } from './operation-log.ts';

export interface OperationObserverOptions {
  readonly logger: Logger;
  readonly callerHash: CallerHash;
}

/** Watches requests for whoever wants to know of them; where that is nobody, nothing is noted. */
export function createOperationObserver({ logger, callerHash }: OperationObserverOptions): OperationObserver {
  return {
    begin: (requestId) => (logger.isLevelEnabled('info') ? new OperationActivity(requestId) : null),
    end(activity) {
      activity.milliseconds = performance.now() - activity.startedAt;
      if (logger.isLevelEnabled('info')) logOperation(logger, activity, callerHash(activity.credentials));
    },
  };
}
