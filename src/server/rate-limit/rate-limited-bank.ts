import type { BankClient } from '../../bank/client.ts';
import type { RateLimiter } from './rate-limiter.ts';

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
    async read(operation, input, limits, reader) {
      try {
        bank.prepare(operation, input);
        await limiter.take(input.credentials, operation.id);
      } catch (error) {
        reader.onError(error);
        return;
      }
      bank.read(operation, input, limits, reader);
    },
    async write(operation, input) {
      bank.prepare(operation, input);
      await limiter.take(input.credentials, operation.id);
      return bank.write(operation, input);
    },
  };
}
