import type { BankClient } from '../bank/client.ts';
import { retryLaterError } from '../graphql/errors.ts';
import type { RateLimiter } from './rate-limiter.ts';

/** The parts of rate limits that do not need the library that counts: it is loaded only with RATE_LIMIT. */

/** A number of REST calls of each caller per number of seconds, counted from the first call. Callers are those of src/load/capacity.ts. */
export interface RateLimit {
  readonly calls: number;
  readonly seconds: number;
}

/** A request is refused if it arrives with an empty budget, and a single REST call if the budget is used up by then. */
export const refusedByRate = ['request', 'call'] as const;

export type RateRefusal = (typeof refusedByRate)[number];

export interface RateLimitsOptions {
  /** Whether the primary process counts for all of its workers (default: false). */
  readonly isWorker?: boolean | undefined;
  /** Called at every refusal; it must not throw. */
  readonly onRefusal?: ((refused: RateRefusal) => void) | undefined;
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
    async readAnswer(operation, input, limits) {
      bank.prepare(operation, input);
      await limiter.take(input.credentials, operation.id);
      return bank.readAnswer(operation, input, limits);
    },
    async write(operation, input) {
      bank.prepare(operation, input);
      await limiter.take(input.credentials, operation.id);
      return bank.write(operation, input);
    },
  };
}
