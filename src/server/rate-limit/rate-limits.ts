import type { RateLimiterRes } from 'rate-limiter-flexible';
import type { BankClient } from '../../bank/client.ts';
import { retryLaterError } from '../../engine/errors.ts';
import type { RateLimiter } from './rate-limiter.ts';

/** The parts of rate limits that do not need the library that counts: it is loaded only with RATE_LIMIT. */

/** A number of REST calls per number of seconds, counted from the first call. */
export interface RateLimit {
  readonly calls: number;
  readonly seconds: number;
}

export interface RateLimits {
  /** For each caller, as src/capacity.ts counts callers; null for no limit. */
  readonly perCaller: RateLimit | null;
  /** For all callers with one subscription key together; null for no limit. */
  readonly perKey: RateLimit | null;
}

/** Whose budget: each caller's, or that of all callers with one key. */
export const budgetNames = ['caller', 'key'] as const;
export type BudgetName = (typeof budgetNames)[number];

/**
 * Counts the calls of one budget, in this process (BoundedCounters) or in the primary (workers/primary-counters.ts):
 * takes one (`consume`), gives one back (`reward`), or only looks (`get`).
 * Shape:  the rest of the budget; null if the owner's window has not begun.
 * Errors: a RateLimiterRes if no call is left.
 */
export type Count = (method: CountMethod, owner: string) => Promise<RateLimiterRes | null>;
export type CountMethod = 'consume' | 'reward' | 'get';
/** The counters of a budget. */
export type CountersOf = (name: BudgetName, limit: RateLimit) => Count;

/** What is refused: a request that arrives with an empty budget, or a single REST call. */
export const refusedByRate = ['request', 'call'] as const;

export interface RateRefusal {
  readonly refused: (typeof refusedByRate)[number];
  readonly budget: BudgetName;
}

export const usedUp = 'Your REST calls are used up for now';

export const noCallLeft = (retryAfter: number) =>
  retryLaterError('RATE_LIMITED', `${usedUp}.`, 429, retryAfter);

/**
 * Wraps the bank client and takes each read and write from its caller's budget first. A request that is refused for
 * another reason before a call would be made costs nothing; a read counts even if it is answered by a shared call or
 * the cache, or stopped by the breaker, while a retry does not. The payment service counts its own.
 * Errors: as the bank's; RATE_LIMITED, when the call was not made.
 */
export function limitBank(bank: BankClient, limiter: RateLimiter | null): BankClient {
  if (limiter === null) return bank;
  return {
    ...bank,
    async read(operation, input, limits) {
      bank.prepare(operation, input);
      await limiter.take(input.credentials, operation.id);
      return bank.read(operation, input, limits);
    },
    async write(operation, input) {
      bank.prepare(operation, input);
      await limiter.take(input.credentials, operation.id);
      return bank.write(operation, input);
    },
  };
}
