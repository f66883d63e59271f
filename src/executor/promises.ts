/** How many entries of an iterator of unknown length are looked at. */
const maxDrained = 10_000;

export const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';

/**
 * Ignores rejections of promises that nobody awaits any more, also in
 * lists and behind other promises. Never throws.
 */
export function ignoreRejections(value: unknown): void {
  try {
    if (isPromise(value)) value.then(ignoreRejections, ignore);
    else if (Array.isArray(value) || value instanceof Set || value instanceof Map)
      for (const entry of value) ignoreRejections(entry);
    else if (holdsItsEntries(value)) for (const entry of value.take(maxDrained)) ignoreRejections(entry);
  } catch {
    // Reading the value failed; nobody needs it.
  }
}

const ignore = () => {};

/**
 * Whether this iterates over entries that exist already, like an iterator of an array or a Map. Other iterators can
 * be closed and create their entries on demand: none are created here.
 */
const holdsItsEntries = (value: unknown): value is IteratorObject<unknown> =>
  value instanceof Iterator && !('return' in value);
