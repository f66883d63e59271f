/** Why a signal was aborted. React Native's signals have no `reason`, and it has no DOMException: an AbortError takes its place. */
const reasonOf = (signal: AbortSignal): unknown =>
  signal.reason ?? Object.assign(new Error('This operation was aborted.'), { name: 'AbortError' });

/** Errors: the signal's reason, or an AbortError, if it was aborted. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw reasonOf(signal);
}

/** Waits for a promise; an abort ends the waiting, not the work. Errors: as of the promise and of throwIfAborted. */
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

/** The longest wait that a server may ask for, in seconds: a wrong header or clock must not stop an app for hours. */
export const longestRetryAfter = 60;

/** The form of dates that servers send: every engine's Date parses it. */
const httpDate = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;

/** The form of C's asctime, which RFC 9110 still allows. A day of one digit has a space before it. */
const asctimeDate = /^([A-Z][a-z]{2}) ([A-Z][a-z]{2}) ([ \d]\d) (\S+) (\d{4})$/;

/**
 * The seconds to wait that a header `Retry-After` asks for, at most longestRetryAfter. It has digits or a date; a date in the past
 * means now. Undefined if the header is absent or has another form.
 */
export function parseRetryAfter(header: string | null, now: number): number | undefined {
  const text = (header ?? '').replace(asctimeDate, '$1, $3 $2 $5 $4 GMT').replace(',  ', ', 0');
  const date = httpDate.test(text) ? Date.parse(text) : Number.NaN;
  const seconds = /^\d+$/.test(text) ? Number(text) : (date - now) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), longestRetryAfter);
}
