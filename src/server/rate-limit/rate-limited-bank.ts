import type { BankClient } from '../../bank/client.ts';
import type { PaymentService } from '../../payments/service.ts';
import type { RateLimiter } from './rate-limiter.ts';

/**
 * The bank, with each read and write taken of its caller's budget first. What is refused for another reason before a
 * call would be made costs nothing; a read that another's call or the cache answers counts, and so does one that the
 * breaker stops, while a second attempt does not. Payments are counted by `limitPayments`.
 * Errors: as the bank's; RATE_LIMITED, where this call was not made.
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

/**
 * Payments, each taken of its caller's budget before it begins: once begun, nothing holds it up. The answer to an
 * earlier one with the same key costs nothing.
 * Errors: as the payments'; RATE_LIMITED, where no payment with the key was known, and the key stays free.
 */
export function limitPayments(payments: PaymentService, limiter: RateLimiter | null): PaymentService {
  if (limiter === null) return payments;
  const starting = new Set<Promise<unknown>>();
  return {
    ...payments,
    pay(operation, intent) {
      const paid = (async () => {
        const isKnown = await payments.isKnown(operation, intent);
        if (!isKnown) await limiter.take(intent.input.credentials, operation.id);
        return payments.pay(operation, intent);
      })();
      const tracked = paid.finally(() => starting.delete(tracked));
      starting.add(tracked);
      return tracked;
    },
    async idle() {
      while (starting.size > 0) await Promise.allSettled(starting);
      await payments.idle();
    },
  };
}
