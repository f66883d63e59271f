import cluster from 'node:cluster';
import { RateLimiterRes } from 'rate-limiter-flexible';
import { BoundedCounters } from '../../server/rate-limit/rate-limiter.ts';
import type { RateLimits } from '../../server/rate-limit/rate-limits.ts';
import type { CountersOf } from '../../server/rate-limit/shared-counters.ts';
import { type CountedMessage, type CountMessage, isFromPrimary } from './messages.ts';

/** The primary counts the REST calls of all its workers in its memory. */
export function createPrimaryCounters({ perCaller, perKey }: RateLimits) {
  const counters = {
    caller: perCaller && new BoundedCounters(perCaller),
    key: perKey && new BoundedCounters(perKey),
  };
  return async ({ id, budget, method, owner }: CountMessage): Promise<CountedMessage> => {
    const counted = (state: RateLimiterRes | null | undefined, isRefused: boolean): CountedMessage => ({
      bankql: 'counted',
      id,
      isRefused,
      left: state ? { calls: state.remainingPoints, milliseconds: state.msBeforeNext } : null,
    });
    try {
      return counted(await counters[budget]?.count(method, owner), false);
    } catch (refused) {
      if (refused instanceof RateLimiterRes) return counted(refused, true);
      throw refused;
    }
  };
}

/** In a worker: asks the primary to count. The waiting code has to handle an answer that does not come. */
export function askPrimaryToCount(): CountersOf {
  const waiting = new Map<number, (message: CountedMessage) => void>();
  let lastId = 0;
  cluster.worker?.on('message', (message: unknown) => {
    if (!isFromPrimary(message) || message.bankql !== 'counted') return;
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  });
  return (budget) => (method, owner) =>
    new Promise((resolve, reject) => {
      const id = ++lastId;
      const message: CountMessage = { bankql: 'count', id, budget, method, owner };
      waiting.set(id, ({ isRefused, left }) => {
        const state = left && new RateLimiterRes(left.calls, left.milliseconds);
        if (isRefused) reject(state);
        else resolve(state);
      });
      cluster.worker?.send(message, (error) => {
        if (error === null) return;
        waiting.delete(id);
        reject(error);
      });
    });
}
