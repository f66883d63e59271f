import { retryAfterOf } from './errors.ts';
import { gatewayErrors, type HttpResult, TransportFailure } from './http-message.ts';
import { type PreparedCall, resend } from './request.ts';
import type { CallLimits, Send } from './transport.ts';

/** Sends a read, and once more if that may help. Shape: the last result, and the call that it is the result of. */
export type Sender = (
  call: PreparedCall,
  limits: CallLimits,
) => Promise<{ readonly result: HttpResult; readonly sent: PreparedCall }>;

/** The share of reads that may be sent again, so that a failing bank does not get twice the load, and the largest burst. */
const defaultShare = 0.1;
const maxBurst = 10;
/** The range of the delay before a retry, in milliseconds: random, so that retries are not synchronized. */
const minDelayMs = 20;
const maxDelayMs = 120;

/** Sends a read once more if it failed in a way that may be transient: never with a share of 0. */
export function retry({ retryShare = defaultShare }: { readonly retryShare?: number }, next: Send): Sender {
  let left = retryShare === 0 ? 0 : maxBurst;
  return async (call, limits) => {
    left = Math.min(maxBurst, left + retryShare);
    const result = await next(call, limits);
    if (left < 1 || !isTransient(result)) return { result, sent: call };
    const delayMs = minDelayMs + Math.random() * (maxDelayMs - minDelayMs);
    if (limits.deadline <= performance.now() + delayMs || limits.cancellation?.isCancelled)
      return { result, sent: call };
    left--;
    await delayed(delayMs, limits);
    if (limits.deadline <= performance.now() || limits.cancellation?.isCancelled)
      return { result, sent: call };
    const again = resend(call);
    return { result: await next(again, limits), sent: again };
  };
}

/** No connection, a broken connection, or a gateway error of a proxy may be transient; not one that names a time to wait. */
const isTransient = (result: HttpResult): boolean =>
  result instanceof TransportFailure
    ? result.reason === 'unavailable'
    : gatewayErrors.has(result.status) && !retryAfterOf(result);

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
