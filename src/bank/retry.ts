import { retryAfterOf } from './errors.ts';
import { gatewayErrors, type HttpResult, TransportFailure } from './http-message.ts';
import type { CallLimits } from './transport.ts';

/** The share of reads that may be sent again, so that a failing bank does not get twice the load, and the largest burst. */
const defaultShare = 0.1;
const maxBurst = 10;
/** The range of the delay before a retry, in milliseconds: random, so that retries are not synchronized. */
const minDelayMs = 20;
const maxDelayMs = 120;

/** Decides which reads are sent again; with a share of 0, none. */
export class Retries {
  readonly #share: number;
  #left: number;

  constructor(share = defaultShare) {
    this.#share = share;
    this.#left = share === 0 ? 0 : maxBurst;
  }

  /**
   * Counts a read after its first attempt. Returns whether a second one may help: no connection, a broken connection, or a gateway
   * error of a proxy may be transient, unless the answer names a time to wait.
   */
  mayHelp(result: HttpResult): boolean {
    this.#left = Math.min(maxBurst, this.#left + this.#share);
    const isTransient =
      result instanceof TransportFailure
        ? result.reason === 'unavailable'
        : gatewayErrors.has(result.status) && !retryAfterOf(result);
    return isTransient && this.#left >= 1;
  }

  /** Waits for a short while. Resolves to whether the read may then be sent again. */
  async wait(limits: CallLimits): Promise<boolean> {
    const delayMs = minDelayMs + Math.random() * (maxDelayMs - minDelayMs);
    if (!hasTime(limits, delayMs)) return false;
    this.#left--;
    await delayed(delayMs, limits);
    return hasTime(limits, 0);
  }
}

const hasTime = ({ deadline, cancellation }: CallLimits, delayMs: number): boolean =>
  performance.now() + delayMs < deadline && !cancellation?.isCancelled;

/** Resolves after this time, or when the call is cancelled. */
const delayed = (ms: number, { cancellation }: CallLimits): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      if (cancellation !== null) cancellation.pending = null;
      resolve();
    };
    const timer = setTimeout(end, ms).unref();
    if (cancellation !== null) cancellation.pending = { onCancel: end };
  });
