import type { BankClient } from '../../bank/client.ts';
import type { PaymentService } from '../../payments/service.ts';
import type { RateLimiter } from './rate-limiter.ts';

/**
 * Wraps the bank client and takes each read and write from its caller's budget first. A request that is refused for
 * another reason before a call would be made costs nothing; a read counts even if it is answered by a shared call or
 * the cache, or stopped by the breaker, while a retry does not. Payments are counted by `limitPayments`.
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

/**
 * Wraps the payment service and takes each payment from its caller's budget before it begins: once begun, it is not
 * limited. Replaying an earlier payment with the same key costs nothing.
 * Errors: as the payments'; RATE_LIMITED if no payment with the key was known; the key stays free.
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
