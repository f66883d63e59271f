import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { CallReport } from '../bank/report.ts';

/**
 * One line of the log for each attempt of a REST call: at debug, and at warn where the bank failed. What a line holds is
 * what CallReport holds, and an id of the attempt, which is its Track-ID where it has one; the request that it belongs to
 * is added to every line (log.ts).
 */
export function logRestCall(logger: Logger, call: CallReport): void {
  const { status, failure, reason } = call;
  const isTrouble = failure !== null || (status ?? 0) >= 500;
  // Those of an open breaker come at the rate of requests; that it opened is one line.
  const isNews = isTrouble && reason !== 'cancelled' && reason !== 'paused';
  const level = isNews ? 'warn' : 'debug';
  if (logger.isLevelEnabled(level))
    logger[level]({ ...call, callId: call.callId ?? call.trackId ?? randomUUID() }, 'bank call');
}
