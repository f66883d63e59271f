import cluster from 'node:cluster';
import { RateLimiterRes } from 'rate-limiter-flexible';
import { BoundedCounters } from '../../server/rate-limit/rate-limiter.ts';
import type { CountersOf, RateLimits } from '../../server/rate-limit/rate-limits.ts';
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

/** How long a worker waits for the primary's count, in milliseconds. */
const usualTimeoutMs = 250;

/** In a worker: asks the primary to count. If the primary does not answer in time, the worker counts this call itself. */
export function askPrimaryToCount(timeoutMs = usualTimeoutMs): CountersOf {
  const waiting = new Map<number, (message: CountedMessage) => void>();
  let lastId = 0;
  cluster.worker?.on('message', (message: unknown) => {
    if (isFromPrimary(message) && message.bankql === 'counted') waiting.get(message.id)?.(message);
  });
  return (budget, limit) => {
    const own = new BoundedCounters(limit);
    return (method, owner) =>
      new Promise((resolve, reject) => {
        const id = ++lastId;
        const message: CountMessage = { bankql: 'count', id, budget, method, owner };
        const end = () => {
          clearTimeout(timer);
          return waiting.delete(id);
        };
        const countHere = () => void (end() && own.count(method, owner).then(resolve, reject));
        const timer = setTimeout(countHere, timeoutMs);
        waiting.set(id, ({ isRefused, left }) => {
          end();
          const state = left && new RateLimiterRes(left.calls, left.milliseconds);
          if (isRefused) reject(state);
          else resolve(state);
        });
        cluster.worker?.send(message, (error) => error !== null && countHere());
      });
  };
}
