/**
 * The reason why a signal was aborted. In React Native, signals have no `reason` and there is no DOMException, so an AbortError
 * replaces it.
 */
const reasonOf = (signal: AbortSignal): unknown =>
  signal.reason ?? Object.assign(new Error('This operation was aborted.'), { name: 'AbortError' });

/** Errors: the signal's reason, or an AbortError, if the signal was aborted. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw reasonOf(signal);
}

/**
 * Waits for a promise. An abort ends the waiting, not the work.
 * Errors: those of the promise and of throwIfAborted.
 */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(reasonOf(signal));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
    const stop = () => signal.removeEventListener('abort', abort);
    promise.then(resolve, reject).then(stop, stop);
  });
}

export const wait = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));
