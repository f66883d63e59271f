import { AsyncResource } from 'node:async_hooks';
import { TimerQueue } from './deadline.ts';
import { retryAfterOf } from './errors.ts';
import { contextOptions, type Send } from './exchange.ts';
import { gatewayErrors, TransportFailure } from './http-message.ts';
import { resend } from './request.ts';

/** The largest burst of retries. */
const maxBurst = 10;
/** The range of the delay before a retry, in milliseconds: random, so that retries are not synchronized. */
const minDelayMs = 20;
const maxDelayMs = 120;

export const retryDelayMs = () => minDelayMs + Math.random() * (maxDelayMs - minDelayMs);

/** Limits retries to a share of the calls, so that a failing bank does not get twice the load. */
export class RetryBudget {
  readonly #share: number;
  #left: number;

  constructor(share: number) {
    this.#share = share;
    this.#left = share === 0 ? 0 : maxBurst;
  }

  /** A call was made. */
  earn(): void {
    this.#left = Math.min(maxBurst, this.#left + this.#share);
  }

  /** Whether a retry may be made; if so, it is taken from the budget. */
  spend(): boolean {
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}

/** Sends a read once more if it failed in a way that may be transient: not at all with a share of 0. */
export function retry({ retryShare }: { readonly retryShare: number }, next: Send): Send {
  if (retryShare === 0) return next;
  const budget = new RetryBudget(retryShare);
  const delays = new TimerQueue();
  return (call, limits, onResult) => {
    budget.earn();
    next(call, limits, (result, sent) => {
      // No connection, a broken connection, or a gateway error of a proxy may be transient; not one that names a time to wait.
      const isTransient =
        result instanceof TransportFailure
          ? result.reason === 'unavailable'
          : gatewayErrors.has(result.status) && !retryAfterOf(result);
      if (!isTransient) return onResult(result, sent);
      const { deadline, cancellation } = limits;
      const now = performance.now();
      const at = now + retryDelayMs();
      if (deadline <= at || cancellation?.isCancelled || !budget.spend()) return onResult(result, sent);
      const context = new AsyncResource('BankCall', contextOptions);
      const onTimeout = () => {
        if (cancellation !== null) cancellation.pending = null;
        if (deadline <= performance.now()) onResult(result, sent);
        else context.runInAsyncScope(next, null, resend(call), limits, onResult);
      };
      const timer = delays.set(at, { onTimeout }, now);
      if (cancellation === null) return;
      cancellation.pending = {
        onCancel() {
          delays.clear(timer);
          onResult(result, sent);
        },
      };
    });
  };
}
