import type { ClientError } from './answer.ts';

/** Rejects with the signal's reason where it was aborted. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw signal.reason;
}

/** Waits; an abort ends it with the signal's reason. */
export function wait(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    throwIfAborted(signal);
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener('abort', end);
  });
}

/**
 * How long to wait before an operation is tried again, in milliseconds: as long as the server says, otherwise twice as
 * long each time, and not all clients at once. Null where no error is worth another attempt.
 */
export function delayBefore(errors: readonly ClientError[], attempt: number): number | null {
  const retryable = errors.filter((error) => error.retryable);
  if (retryable.length === 0) return null;
  const said = Math.max(...retryable.map(({ retryAfter }) => retryAfter ?? 0)) * 1000;
  return said > 0 ? said : Math.min(250 * 2 ** attempt, 4000) * (0.5 + Math.random() / 2);
}
