import { retryAfterOf } from './errors.ts';
import { gatewayErrors, type HttpResult, TransportFailure } from './http-message.ts';

/** The share of reads that may be retried, and the largest burst. Without a limit, a failing bank would get twice the load. */
const defaultShare = 0.1;
const maxBurst = 10;
/** The range of the delay before a retry, in milliseconds: random, so that retries are not synchronized. */
const minDelayMs = 20;
const maxDelayMs = 120;

export const retryDelayMs = (): number => minDelayMs + Math.random() * (maxDelayMs - minDelayMs);

/** Whether a second attempt may help: there was no connection, it broke, or a proxy sent a gateway error without a time to wait. */
export const isTransient = (result: HttpResult): boolean =>
  result instanceof TransportFailure
    ? result.reason === 'unavailable'
    : gatewayErrors.has(result.status) && !retryAfterOf(result);

/** Limits the retries of reads to a share of all reads. A share of 0 turns retries off. */
export class RetryBudget {
  readonly #share: number;
  #left: number;

  constructor(share = defaultShare) {
    this.#share = share;
    this.#left = share === 0 ? 0 : maxBurst;
  }

  noteFirstAttempt(): void {
    this.#left = Math.min(maxBurst, this.#left + this.#share);
  }

  /** Takes a retry from the budget. Returns false if no retry is left. */
  take(): boolean {
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}
